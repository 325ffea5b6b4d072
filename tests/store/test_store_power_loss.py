"""Machines that stop: only what was synced is on the disk, or that and any part of the rest.

Every call that changes a file or a folder runs for real and is noted. After each, the disk is imagined as it
may be if the power failed right then: files as of their last sync or as they are now, names as of their
folder's last sync or as they are now. A store opened on such a disk must hold every acknowledged version.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import store_worker

from headwater.store import Store


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


@pytest.fixture
def after_each_call(monkeypatch: pytest.MonkeyPatch) -> Callable[[Disk, Callable[[], None]], None]:
    """Have something done after each call that changes the disk, and not while it is being done."""

    def install(disk: Disk, react: Callable[[], None]) -> None:
        reacting = False

        def noted(name: str) -> Callable[..., object]:
            real = getattr(os, name)

            def call(*args: object, **kwargs: object) -> object:
                nonlocal reacting
                result = real(*args, **kwargs)
                if not reacting:
                    reacting = True
                    if name in ("fsync", "fdatasync"):
                        disk.synced(args[0])  # type: ignore[arg-type]
                    react()
                    reacting = False
                return result

            return call

        for name in ("pwrite", "ftruncate", "replace", "unlink", "mkdir", "fsync", "fdatasync"):
            monkeypatch.setattr(os, name, noted(name))

    return install


def test_power_lost_after_each_call(tmp_path: Path, after_each_call, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "disk"
    root.mkdir()
    disk = Disk(root)
    acked = 0
    moments: list[int] = []  # what was acknowledged at each

    def imagine() -> None:
        disk.images(tmp_path / "images" / str(len(moments)))
        moments.append(acked)

    after_each_call(disk, imagine)
    for _ in range(2):  # the second time on what is there
        with Store.open(root / "state") as store:
            for _ in range(2):
                store.append(store_worker.record(store.version + 1))
                acked = store.version
                store_worker.write_checkpoint(store)
            store.append(store_worker.record(store.version + 1))
            acked = store.version
    monkeypatch.undo()
    imagine()
    assert len(moments) > 60
    for number, known in enumerate(moments):
        for path in (tmp_path / "images" / str(number)).iterdir():
            with Store.open(path / "state", sync=False) as store:
                assert known <= store_worker.check(store) <= known + 1, path
    assert known == acked == 6
