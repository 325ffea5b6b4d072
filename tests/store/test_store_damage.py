"""Bytes that are not what was written: a torn tail is cut off, anything else is refused."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import store_worker
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import StoreError
from headwater.store import Checkpoint, Record, Store
from headwater.store.frame import HEADER_SIZE, seal_frame
from headwater.store.manifest import load_manifest

LAST = 5


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a checkpoint at version 2 and three versions in the log."""
    path = tmp_path_factory.mktemp("original") / "store"
    with Store.open(path) as store:
        for version in range(1, LAST + 1):
            store.append(store_worker.record(version))
            if version == 2:
                store.write_checkpoint(store_worker.checkpoint(2))
    return path


def log_of(path: Path) -> Path:
    (log,) = (path / "log").iterdir()
    return log


@pytest.fixture(scope="module")
def frames(original: Path) -> list[int]:
    """Where the frames of the log start, and where the last one ends."""
    data = log_of(original).read_bytes()
    starts = [i for i in range(len(data)) if data.startswith(b"HWf1", i)]
    assert len(starts) == 3
    return [*starts, len(data)]


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


def test_torn_tail_at_every_byte(copy: Path, frames: list[int], caplog: pytest.LogCaptureFixture):
    log = log_of(copy)
    whole = log.read_bytes()
    for length in range(frames[-2], frames[-1]):
        log.write_bytes(whole[:length])
        with Store.open(copy, mode="r") as store:
            assert store_worker.check(store) == LAST - 1
            assert store.stats().torn_bytes == length - frames[-2]
        assert log.stat().st_size == length, "a reader must not write"
    with caplog.at_level("WARNING"), Store.open(copy) as store:
        assert store.stats().torn_bytes > 0
        assert f"{log}: cut off {len(whole) - 1 - frames[-2]} bytes at byte {frames[-2]}" in caplog.text
        assert log.stat().st_size == frames[-2]
        store.append(store_worker.record(LAST))
        assert store_worker.check(store) == LAST
    assert len(log.read_bytes()) == len(whole)


def test_every_torn_tail_can_be_written_over(original: Path, tmp_path: Path, frames: list[int]):
    for length in range(frames[-2], frames[-1], 13):
        path = Path(shutil.copytree(original, tmp_path / str(length)))
        log = log_of(path)
        log.write_bytes(log.read_bytes()[:length])
        with Store.open(path, sync=False) as store:
            assert store_worker.check(store) == LAST - 1
            store.append(store_worker.record(LAST))
        with Store.open(path, mode="r") as store:
            assert store_worker.check(store) == LAST
            assert store.stats().torn_bytes == 0


def test_a_tail_of_nothing_is_torn(copy: Path, frames: list[int]):
    """The file got its new length, and none of its bytes."""
    log = log_of(copy)
    log.write_bytes(log.read_bytes()[: frames[-2]] + bytes(5000))
    with Store.open(copy) as store:
        assert store_worker.check(store) == LAST - 1
        assert store.stats().torn_bytes == 5000
    assert [path.name for path in log.parent.iterdir()] == [log.name], "there is nothing to keep"


def test_every_damaged_byte_of_the_last_frame_is_refused(copy: Path, frames: list[int]):
    log = log_of(copy)
    whole = log.read_bytes()
    assert frames[-2] // 512 == (frames[-1] - 1) // 512, "one sector: nothing in it is there in part"
    for position in range(frames[-2], frames[-1]):
        content = bytearray(whole)
        content[position] ^= 0x10
        log.write_bytes(content)
        with pytest.raises(StoreError) as caught:
            Store.open(copy, sync=False)
        assert caught.value.code == "damaged" and f"{log} at byte {frames[-2]}" in caught.value.message
        assert log.read_bytes() == content, "refusing must not write"


def test_a_doubtful_tail_is_kept_aside(copy: Path, caplog: pytest.LogCaptureFixture):
    """A version with sectors of zeros in it, one bit of which rots: it may as well be torn."""
    with Store.open(copy) as store:
        store.append(Record(LAST + 1, "apply", {}, {"t": pa.table({"x": [0] * 1000})}))
    log = log_of(copy)
    content = bytearray(log.read_bytes())
    start = content.rindex(b"HWf1")
    content[-1] ^= 1
    log.write_bytes(content)
    with Store.open(copy, mode="r") as store:
        assert (store.version, store.stats().torn_bytes) == (LAST, len(content) - start)
    with caplog.at_level("WARNING"), Store.open(copy) as store:
        assert store_worker.check(store) == LAST
    kept = log.with_name(f"{log.name}.{start}.torn")
    assert kept.read_bytes() == content[start:]
    assert f"that version was damaged since; they are in {kept}" in caplog.text
    with Store.open(copy) as store:
        store.write_checkpoint(store_worker.checkpoint(LAST))
    assert kept.exists(), "nobody but the user removes it"


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_flipped_bits_are_refused(original: Path, data: st.DataObject):
    names = sorted(p.relative_to(original) for p in original.rglob("*") if p.is_file() and p.name != "lock")
    name = data.draw(st.sampled_from(names))
    content = bytearray((original / name).read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copytree(original, Path(folder) / "store"))
        (path / name).write_bytes(content)
        for mode in ("r", "w"):
            try:
                with Store.open(path, mode=mode, sync=False) as store:
                    version = store_worker.check(store)
            except StoreError as error:
                assert error.code in ("damaged", "not-a-store", "newer-format"), error
                assert str(path / name) in error.message
                assert error.hint
            else:
                assert version == LAST, "lost without a word"


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("where", [1, 5, 10, 20, 25, 40, -1])
def test_a_bad_frame_before_a_good_one_is_refused(copy: Path, frames: list[int], victim: int, where: int):
    log = log_of(copy)
    content = bytearray(log.read_bytes())
    content[frames[victim] + where if where >= 0 else frames[victim + 1] - 1] ^= 0xFF
    log.write_bytes(content)
    for mode in ("r", "w"):
        with pytest.raises(StoreError) as caught:
            Store.open(copy, mode=mode)
        assert caught.value.code == "damaged"
        assert f"{log} at byte {frames[victim]}" in caught.value.message
        assert f"truncate -s {frames[victim]} {log}" in str(caught.value.hint)
    assert log.read_bytes() == content, "refusing must not write"
    log.write_bytes(content[: frames[victim]])
    with Store.open(copy) as store:
        assert store_worker.check(store) == 2 + victim


def test_a_bad_frame_before_a_torn_one_is_refused(copy: Path, frames: list[int]):
    log = log_of(copy)
    content = bytearray(log.read_bytes()[: frames[-2] + 3])
    content[frames[-2] - 1] ^= 1
    log.write_bytes(content)
    with pytest.raises(StoreError, match=f"at byte {frames[-3]}"):
        Store.open(copy)


def test_a_frame_that_is_left_out_is_refused(copy: Path, frames: list[int]):
    log = log_of(copy)
    content = log.read_bytes()
    log.write_bytes(content[: frames[0]] + content[frames[1] :])
    with pytest.raises(StoreError, match="version 4 follows version 2") as caught:
        Store.open(copy)
    assert caught.value.code == "damaged"


def test_frames_of_another_log_do_not_count(copy: Path, tmp_path: Path, frames: list[int]):
    """A torn version whose rows quote a whole log is a torn tail, not damage."""
    quoted = log_of(copy).read_bytes()
    with Store.open(tmp_path / "other") as store:
        store.append(store_worker.Record(1, "apply", {}, {"t": pa.table({"x": [quoted] * 3})}))
    log = log_of(tmp_path / "other")
    content = log.read_bytes()[:-1]
    start = content.index(b"HWf1")
    log.write_bytes(content[:start] + bytes(512 - start) + content[512:])  # its first sector was not written
    assert log.read_bytes().count(b"HWf1") >= 3 * len(frames) - 6
    with Store.open(tmp_path / "other") as store:
        assert store.version == 0


def test_a_log_of_another_store_is_refused(copy: Path, tmp_path: Path):
    with Store.open(tmp_path / "other") as store:
        store.write_checkpoint(store_worker.checkpoint(2))
    shutil.copy(log_of(tmp_path / "other"), log_of(copy))
    with pytest.raises(StoreError, match="not the log that belongs"):
        Store.open(copy)


def test_missing_files_are_refused_by_name(original: Path, tmp_path: Path):
    named = [p.relative_to(original) for p in [*original.glob("segments/*"), *original.glob("log/*")]]
    assert len(named) == 3
    for index, name in enumerate(named):
        path = Path(shutil.copytree(original, tmp_path / str(index)))
        (path / name).unlink()
        for mode in ("r", "w"):
            with pytest.raises(StoreError) as caught:
                Store.open(path, mode=mode)
            assert caught.value.code == "damaged" and name.name in caught.value.message


@pytest.mark.parametrize("length", [0, 1, 100])
def test_short_segments_are_refused(copy: Path, length: int):
    segment = min((copy / "segments").iterdir())
    segment.write_bytes(segment.read_bytes()[:length])
    for mode in ("r", "w"):
        with pytest.raises(StoreError) as caught:
            Store.open(copy, mode=mode)
        assert caught.value.code == "damaged" and str(segment) in caught.value.message


def test_a_removed_manifest_is_refused(copy: Path):
    (copy / "manifest.json").unlink()
    for mode in ("r", "w"):
        with pytest.raises(StoreError, match="the manifest is gone") as caught:
            Store.open(copy, mode=mode)
        assert caught.value.code == "damaged"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "damaged"),
        ('{"format": "headwater-st', "damaged"),
        ('{"format": "headwater-store", "format_version": 1}', "damaged"),
        ('{"format": "headwater-store", "format_version": "x"}', "damaged"),
        ('{"format": "headwater-store", "format_version": 0}', "damaged"),
        ('{"format": "headwater-store", "format_version": 2}', "newer-format"),
        ('{"name": "a web page", "icons": []}', "not-a-store"),
        ("[]", "not-a-store"),
        ("NaN", "not-a-store"),
    ],
)
def test_broken_manifests(copy: Path, text: str, code: str):
    (copy / "manifest.json").write_text(text)
    for mode in ("r", "w"):
        with pytest.raises(StoreError) as caught:
            Store.open(copy, mode=mode)
        assert caught.value.code == code and str(copy / "manifest.json") in caught.value.message


def test_a_newer_format_shows_both_versions(copy: Path):
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "format_version": 7}))
    with pytest.raises(StoreError, match="format version 7, .* up to version 1"):
        Store.open(copy)


def test_a_manifest_edited_by_hand_is_refused(copy: Path):
    text = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(text.replace('"version": 2', '"version": 1'))
    with pytest.raises(StoreError, match="checksum"):
        Store.open(copy)


LYING = struct.pack("<3i", 0, 7, 14), struct.pack("<3i", 0, 1 << 30, 14)  # offsets of two strings


def test_a_segment_with_a_right_checksum_is_not_believed_either(tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        store.write_checkpoint(Checkpoint(1, {}, {"t": pa.table({"x": ["aaaaaaa", "bbbbbbb"]})}))
    (segment,) = (tmp_path / "store" / "segments").iterdir()
    data = segment.read_bytes()
    assert data.count(LYING[0]) == 1
    segment.write_bytes(data.replace(*LYING))
    manifest = load_manifest(tmp_path / "store")
    (known,) = manifest.segments
    known = replace(known, crc32=zlib.crc32(segment.read_bytes()))
    (tmp_path / "store" / "manifest.json").write_text(replace(manifest, segments=(known,)).text())
    with Store.open(tmp_path / "store", mode="r") as store, pytest.raises(StoreError) as caught:
        assert store.checkpoint is not None and store.checkpoint.tables["t"]
    assert caught.value.code == "damaged" and str(segment) in caught.value.message


def test_a_frame_with_a_right_checksum_is_not_believed_either(tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        store.append(Record(1, "apply", {}, {"t": pa.table({"x": ["aaaaaaa", "bbbbbbb"]})}))
    log = log_of(tmp_path / "store")
    data = log.read_bytes()
    assert data.count(LYING[0]) == 1
    start = data.index(b"HWf1")
    payload = data[start + HEADER_SIZE :].replace(*LYING)
    seed = zlib.crc32(bytes.fromhex(load_manifest(tmp_path / "store").log_identity))
    log.write_bytes(data[:start] + seal_frame(1, [payload], seed) + payload)
    with Store.open(tmp_path / "store", mode="r") as store, pytest.raises(StoreError) as caught:
        list(store.records())
    assert caught.value.code == "damaged" and "version 1 cannot be decoded" in caught.value.message


def test_a_log_changed_behind_the_writer_is_noticed(copy: Path):
    with Store.open(copy) as store:
        with log_of(copy).open("ab") as log:
            log.write(b"more")
        with pytest.raises(StoreError, match="something else wrote to it"):
            store.append(store_worker.record(LAST + 1))
    with Store.open(copy) as store:
        assert store_worker.check(store) == LAST


def test_a_removed_folder_is_noticed(copy: Path):
    with Store.open(copy) as store:
        shutil.rmtree(copy)
        with pytest.raises(StoreError) as caught:
            store.append(store_worker.record(LAST + 1))
        assert caught.value.code == "gone"
        with pytest.raises(StoreError):
            store.write_checkpoint(store_worker.checkpoint(LAST))
    assert not copy.exists()


def test_a_folder_replaced_behind_the_writer_is_left_alone(copy: Path):
    with Store.open(copy) as store:
        copy.rename(copy.with_name("moved"))
        with Store.open(copy) as other:
            other.append(store_worker.record(1))
            with pytest.raises(StoreError, match="moved or removed"):
                store.write_checkpoint(store_worker.checkpoint(LAST))
            assert store_worker.check(other) == 1
    with Store.open(copy, mode="r") as other:
        assert store_worker.check(other) == 1
