"""Machines that stop: only what was synced is on the disk, or that and any part of the rest.

Every call that changes a file or a folder runs for real and is noted. After each, the disk is imagined as it
may be if the power failed right then: files as of their last sync or as they are now, names as of their
folder's last sync or as they are now. A store opened on such a disk must hold every acknowledged version.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import store_worker

from headwater.errors import StoreError
from headwater.store import Record, Store


class Disk:
    """What is surely on the disk below a folder: the bytes of synced files, the names in synced folders."""

    def __init__(self, root: Path):
        self.root = root
        self.files: dict[int, bytes] = {}
        self.folders: dict[int, dict[str, int]] = {}
        self.kept: list[int] = []  # descriptors, so that no inode number is used twice

    def synced(self, fd: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        inode = os.fstat(fd).st_ino
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            self.folders[inode] = {entry.name: entry.inode() for entry in os.scandir(path)}
        else:
            self.files[inode] = Path(f"/proc/self/fd/{fd}").read_bytes()
            self.kept.append(os.dup(fd))

    def now(self) -> tuple[dict[int, bytes], dict[int, dict[str, int]]]:
        """The files and folders as a running system sees them."""
        files, folders = {}, {}
        for path in (self.root, *self.root.rglob("*")):
            if path.is_dir():
                folders[path.stat().st_ino] = {entry.name: entry.inode() for entry in os.scandir(path)}
            else:
                files[path.stat().st_ino] = path.read_bytes()
        return files, folders

    def images(self, target: Path) -> None:
        """Make folders that look like the disk after a failure right now, one for each imagined outcome."""
        files, folders = self.now()
        for number, (with_files, with_folders) in enumerate(itertools.product((False, True), repeat=2)):
            path = target / str(number)
            path.mkdir(parents=True)
            self._restore(
                path,
                self.root.stat().st_ino,
                {**self.files, **files} if with_files else self.files,
                {**self.folders, **folders} if with_folders else self.folders,
                set(folders) | set(self.folders),
            )

    def _restore(self, path: Path, inode: int, files: dict, folders: dict, are_folders: set[int]) -> None:
        for name, child in folders.get(inode, {}).items():
            if child in are_folders:
                (path / name).mkdir()
                self._restore(path / name, child, files, folders, are_folders)
            else:
                (path / name).write_bytes(files.get(child, b""))


class Lab:
    """A disk, what was acknowledged on it, and images of it after each call that changed it."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        root = tmp_path / "disk"
        root.mkdir()
        self.path = root / "new" / "state"
        self.acked = 0
        self.die_after: str | None = None
        self._images = tmp_path / "images"
        self._disk = Disk(root)
        self._moments: list[int] = []  # what was acknowledged at each
        self._imagining = False
        self._patch = monkeypatch
        for name in ("pwrite", "ftruncate", "replace", "unlink", "mkdir", "fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._noted(name, getattr(os, name)))

    def _noted(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            result = real(*args, **kwargs)
            if not self._imagining:
                if name in ("fsync", "fdatasync"):
                    self._disk.synced(args[0])  # type: ignore[arg-type]
                self._imagine()
                if name == self.die_after:
                    self.die_after = None
                    raise KeyboardInterrupt
            return result

        return call

    def _imagine(self) -> None:
        self._imagining = True
        self._disk.images(self._images / str(len(self._moments)))
        self._moments.append(self.acked)
        self._imagining = False

    def append(self, store: Store) -> None:
        store.append(store_worker.record(store.version + 1))
        self.acked = store.version

    def check(self) -> int:
        """Assert that no image lost anything acknowledged; return how many moments were looked at."""
        self._imagine()
        self._patch.undo()
        for number, acked in enumerate(self._moments):
            for path in (self._images / str(number)).iterdir():
                with Store.open(path / "new" / "state", sync=False) as store:
                    assert acked <= store_worker.check(store) <= acked + 1, path
        return len(self._moments)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


def test_power_lost_after_each_call(lab: Lab):
    for _ in range(2):  # the second time on what is there
        with Store.open(lab.path) as store:
            for _ in range(2):
                lab.append(store)
                store_worker.write_checkpoint(store)
            lab.append(store)
    assert lab.acked == 6
    assert lab.check() > 60


def test_power_lost_after_a_writer_died_between_rename_and_sync(lab: Lab):
    with Store.open(lab.path) as store:
        lab.append(store)
        lab.die_after = "replace"
        with pytest.raises(KeyboardInterrupt):
            store_worker.write_checkpoint(store)
        with pytest.raises(StoreError) as caught:
            lab.append(store)
        assert caught.value.code == "unsure", (
            "which log counts is known only after reading the manifest again"
        )
    with Store.open(lab.path) as store:
        lab.append(store)
    lab.check()


def test_power_lost_after_reading_what_was_not_synced(lab: Lab):
    """What a writer finds when it opens the store is safe from then on, whoever wrote it, however."""
    with Store.open(lab.path, sync=False) as store:
        store.append(store_worker.record(1))
    with Store.open(lab.path) as store:
        lab.acked = store.version
        assert lab.acked == 1
    lab.check()


def test_power_lost_after_an_append_was_undone(lab: Lab):
    with Store.open(lab.path) as store:
        lab.append(store)
        lab.die_after = "pwrite"
        with pytest.raises(KeyboardInterrupt):
            lab.append(store)
        assert store.version == 1
        lab.append(store)
    assert lab.acked == 2
    lab.check()


def test_power_lost_in_a_folder_that_somebody_just_made(lab: Lab):
    os.mkdir(lab.path.parent)
    fd = os.open(lab.path.parent.parent, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    os.mkdir(lab.path)
    with Store.open(lab.path) as store:
        lab.append(store)
    lab.check()


def test_power_lost_while_sectors_were_written_in_any_order(tmp_path: Path):
    """The file has its new length, and of the version that was being written only some sectors."""
    rng = random.Random(3)
    with Store.open(tmp_path / "state") as store:
        store.append(store_worker.record(1))
        start = store.stats().log_bytes
        store.append(Record(2, "apply", {}, {"t": pa.table({"x": [rng.random() for _ in range(700)]})}))
    (log,) = (tmp_path / "state" / "log").iterdir()
    whole = log.read_bytes()
    sectors = range(start // 512, (len(whole) - 1) // 512 + 1)
    assert len(sectors) > 8
    for number in range(60):
        missing = [sector for sector in sectors if rng.random() < (0.1, 0.5, 0.9)[number % 3]]
        if not missing:
            continue
        content = bytearray(whole)
        for sector in missing:
            first, last = max(start, sector * 512), min(len(whole), sector * 512 + 512)
            content[first:last] = bytes(last - first)
        length = rng.choice((len(whole), rng.randint(start + 1, len(whole))))
        path = Path(shutil.copytree(tmp_path / "state", tmp_path / str(number)))
        (path / "log" / log.name).write_bytes(content[:length])
        with Store.open(path, sync=False) as store:
            assert store_worker.check(store) == 1
            store.append(store_worker.record(2))
        with Store.open(path, mode="r") as store:
            assert store_worker.check(store) == 2
