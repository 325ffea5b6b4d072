"""Readers at their own version, whatever the writer does."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import store_worker

from headwater.errors import StoreError
from headwater.store import Store


def test_a_reader_stays_at_its_version(tmp_path: Path):
    with Store.open(tmp_path) as writer:
        writer.append(store_worker.record(1))
        writer.write_checkpoint(store_worker.checkpoint(1))
        writer.append(store_worker.record(2))
        with Store.open(tmp_path, mode="r") as reader:
            for version in range(3, 7):
                writer.append(store_worker.record(version))
                writer.write_checkpoint(store_worker.checkpoint(version))
            assert store_worker.check(reader) == 2
            with Store.open(tmp_path, mode="r") as another:
                assert store_worker.check(another) == 6


def test_a_reader_beside_an_append_that_is_under_way(tmp_path: Path):
    """Half a frame at the end is no version yet, and no damage."""
    with Store.open(tmp_path) as writer:
        writer.append(store_worker.record(1))
        log = tmp_path / "log" / "00000000.log"
        committed = log.read_bytes()
        writer.append(store_worker.record(2))
        whole = log.read_bytes()
        log.write_bytes(whole[: (len(committed) + len(whole)) // 2])
        with Store.open(tmp_path, mode="r") as reader:
            assert store_worker.check(reader) == 1
        log.write_bytes(whole)


def test_readers_beside_a_writer_that_never_rests(
    tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
):
    """Checkpoints pass by; every reader finds one whole version, and never an older one."""
    child = start("busy_writer", tmp_path)
    versions = [0]
    end = time.monotonic() + 30
    while len(set(versions)) < 60 and time.monotonic() < end:
        with Store.open(tmp_path, mode="r") as reader:
            versions.append(store_worker.check(reader))
    assert child.poll() is None
    assert versions == sorted(versions)
    assert len(set(versions)) > 10
    child.communicate(b"")
    assert child.returncode == 0
    with Store.open(tmp_path) as store:
        assert store_worker.check(store) >= versions[-1]
    store_worker.check_folder(tmp_path)


def test_readers_of_a_store_that_is_being_made(tmp_path: Path):
    """At first there is no store, then there is one; never anything in between."""
    for number in range(40):
        path = tmp_path / str(number)
        writer = threading.Thread(target=make, args=(path,))
        writer.start()
        found = None
        while found is None:
            try:
                with Store.open(path, mode="r") as reader:
                    found = store_worker.check(reader)
            except StoreError as error:
                assert error.code == "missing", error
        writer.join()


def make(path: Path) -> None:
    with Store.open(path, sync=False) as store:
        store.append(store_worker.record(1))
        store.write_checkpoint(store_worker.checkpoint(1))
