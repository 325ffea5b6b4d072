"""What can be opened as a store, by whom, and what is refused instead of overwritten."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import store_worker

from headwater.errors import StoreError
from headwater.store import Checkpoint, Store


def refused(path: Path, mode: str = "w") -> StoreError:
    with pytest.raises(StoreError) as caught:
        Store.open(path, mode=mode)  # type: ignore[arg-type]
    assert caught.value.hint
    return caught.value


def test_missing_folders_are_made(tmp_path: Path):
    with Store.open(tmp_path / "a" / "b") as store:
        assert (store.version, store.checkpoint, list(store.records())) == (0, None, [])
    store_worker.check_folder(tmp_path / "a" / "b")


def test_a_relative_path_survives_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with Store.open("state") as store:
        monkeypatch.chdir("/")
        store.write_checkpoint(Checkpoint(0))
    store_worker.check_folder(tmp_path / "state")


def test_an_empty_folder_becomes_a_store(tmp_path: Path):
    Store.open(tmp_path).close()
    store_worker.check_folder(tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "segments/x", "log/other.log", "log/00000001.log"])
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, name: str):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("precious")
    assert refused(tmp_path).code in ("not-a-store", "damaged")
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()] == [name]


def test_a_manifest_of_something_else_is_left_alone(tmp_path: Path):
    (tmp_path / "manifest.json").write_text('{"name": "a browser extension"}')
    assert refused(tmp_path).code == "not-a-store"
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_a_file_is_not_a_folder(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        for mode in ("r", "w"):
            error = refused(path, mode)
            assert error.code == "not-a-directory" and str(tmp_path / "file") in error.message


def test_a_reader_makes_nothing(tmp_path: Path):
    for path in (tmp_path, tmp_path / "none"):
        error = refused(path, "r")
        assert error.code == "missing" and str(path) in error.message
    assert os.listdir(tmp_path) == []


def test_an_unknown_mode_is_refused(tmp_path: Path):
    assert refused(tmp_path, "a").code == "mode"


def test_a_stranger_among_our_files_survives(tmp_path: Path):
    with Store.open(tmp_path) as store:
        (tmp_path / "segments" / "notes.txt").write_text("mine")
        (tmp_path / "segments" / "00000099-0000.arrow").write_text("left by a crash")
        store.write_checkpoint(Checkpoint(0))
    assert os.listdir(tmp_path / "segments") == ["notes.txt"]


def test_a_reader_cannot_write(tmp_path: Path):
    Store.open(tmp_path).close()
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    with Store.open(tmp_path, mode="r") as store:
        for write in (
            lambda: store.append(store_worker.record(1)),
            lambda: store.write_checkpoint(Checkpoint(0)),
        ):
            with pytest.raises(StoreError) as caught:
                write()
            assert caught.value.code == "read-only"
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


def test_a_closed_store_refuses(tmp_path: Path):
    store = Store.open(tmp_path)
    store.close()
    store.close()
    for use in (lambda: store.append(store_worker.record(1)), lambda: list(store.records())):
        with pytest.raises(StoreError) as caught:
            use()
        assert caught.value.code == "closed"


def test_permission_denied(run: Callable[..., str]):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # for others to get at what is below
        state = Path(folder) / "state"
        with Store.open(state) as store:
            store.append(store_worker.record(1))
            store.write_checkpoint(store_worker.checkpoint(1))
        for part in (state, *state.rglob("*")):
            part.chmod(0o555 if part.is_dir() else 0o444)
        assert run("as_nobody", state, "w") == "permission"
        assert run("as_nobody", state, "r") == "fine 1"
        assert run("as_nobody", state / "new", "w") == "permission"
        state.chmod(0)
        assert run("as_nobody", state, "r") == "permission"
        assert run("as_nobody", state, "w") == "permission"
        for part in (state, state / "segments", state / "log"):
            part.chmod(0o755)


def test_a_second_writer_is_told_who_holds_the_lock(
    tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
):
    child = start("hold", tmp_path)
    error = refused(tmp_path)
    assert error.code == "locked"
    assert f"process {child.pid} on {os.uname().nodename} since 20" in error.message
    Store.open(tmp_path, mode="r").close()
    child.communicate(b"")
    Store.open(tmp_path).close()


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]):
    child = start("hold", tmp_path)
    child.send_signal(signal.SIGKILL)
    child.wait()
    Store.open(tmp_path).close()


def test_one_process_opens_a_store_for_writing_once(tmp_path: Path):
    with Store.open(tmp_path):
        error = refused(tmp_path)
        assert error.code == "locked" and f"process {os.getpid()}" in error.message
    Store.open(tmp_path).close()


def test_a_store_forgotten_is_a_store_unlocked(tmp_path: Path):
    with pytest.warns(ResourceWarning):
        Store.open(tmp_path)
    Store.open(tmp_path).close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_neither_writes_nor_unlocks(tmp_path: Path):
    with Store.open(tmp_path) as store:
        child = os.fork()
        if child == 0:
            try:
                store.append(store_worker.record(1))
                os._exit(1)
            except StoreError as error:
                store.close()
                os._exit(0 if error.code == "forked" else 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert refused(tmp_path).code == "locked"
        store.append(store_worker.record(1))
        assert store_worker.check(store) == 1


def test_an_unreadable_lock_text_still_locks(tmp_path: Path):
    with Store.open(tmp_path):
        (tmp_path / "lock").write_text("{")
        assert "held by another process" in refused(tmp_path).message


@pytest.mark.parametrize("part", ["segments", "log"])
def test_files_behind_a_link_are_left_alone(tmp_path: Path, part: str):
    with Store.open(tmp_path / "other") as store:
        store.append(store_worker.record(1))
        store.write_checkpoint(store_worker.checkpoint(1))
        store.append(store_worker.record(2))
    before = {path: path.read_bytes() for path in (tmp_path / "other").rglob("*") if path.is_file()}
    Store.open(tmp_path / "state").close()
    moved = tmp_path / "state" / part
    moved.rename(tmp_path / "moved")
    moved.symlink_to(tmp_path / "other" / part)
    assert refused(tmp_path / "state").code in ("linked", "damaged")
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    "name", ["lock", "manifest.json.new", "segments/00000001-0000.arrow", "log/00000001.log"]
)
def test_what_a_planted_link_points_to_is_left_alone(tmp_path: Path, name: str):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    Store.open(tmp_path / "state").close()
    planted = tmp_path / "state" / name
    planted.unlink(missing_ok=True)
    planted.symlink_to(precious)
    try:
        with Store.open(tmp_path / "state") as store:
            store.append(store_worker.record(1))
            planted.unlink(missing_ok=True)
            planted.symlink_to(precious)
            store.write_checkpoint(store_worker.checkpoint(1))
    except StoreError as error:
        assert error.code in ("linked", "gone")
    assert precious.read_text() == "precious"


def test_a_store_is_its_owners(tmp_path: Path):
    """Whoever wants others to read it makes the folder, or changes its mode; files follow the folder."""
    before = os.umask(0o022)
    try:
        for made, folders, files in ((None, 0o700, 0o600), (0o750, 0o750, 0o640), (0o755, 0o755, 0o644)):
            path = tmp_path / str(made) / "state"
            if made is not None:
                path.mkdir(parents=True)
                path.chmod(made)
            with Store.open(path) as store:
                store.append(store_worker.record(1))
                store.write_checkpoint(store_worker.checkpoint(1))
                store.append(store_worker.record(2))
            found = [path, *path.rglob("*")]
            assert len(found) > 6
            for one in found:
                expected = folders if one.is_dir() else files
                assert one.stat().st_mode & 0o777 == expected, one
            assert path.parent.stat().st_mode & 0o777 == 0o755, "only the store itself is private"
    finally:
        os.umask(before)
