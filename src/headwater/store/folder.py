"""The folder of a store: which files it has, whether it is one, and which files can go.

    manifest.json        what is the store; all else hangs on it
    segments/            immutable tables
    log/                 one log file, two for a moment while a checkpoint is made
    lock                 who writes

Files that no manifest names are leftovers of an interrupted checkpoint or of an old one. They are removed
only if their names are of the kind we give, so that a stranger's file survives; and `segments` and `log` are
folders of this very store, not links to others, whose files have names of that kind, too.

The folder is made for its owner alone (mode 0700). One that was there keeps its mode, and the files in it follow it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from headwater.errors import StoreError
from headwater.store.durable import make_folder, mode_below, sync_folder, sync_parent
from headwater.store.failure import damaged, failed, linked
from headwater.store.log import FILE_HEADER_SIZE, Log
from headwater.store.manifest import (
    LOG_FILE,
    MANIFEST,
    SEGMENT_FILE,
    UNFINISHED,
    Manifest,
    load_manifest,
    log_name,
)

Published = tuple[int, int, int] | None
"""Which manifest is there, without reading it."""


class Folder:
    """The paths of a store's files; having one says nothing about their being there."""

    def __init__(self, path: Path):
        """Name the files; touch none."""
        self.path = path
        self.lock = path / "lock"
        self.segments = path / "segments"
        self.log = path / "log"

    def manifest(self) -> Manifest | None:
        """The manifest, or `None` if a store can be made here; refuses a folder of something else."""
        try:
            return load_manifest(self.path)
        except FileNotFoundError:
            pass
        try:
            self._refuse_strangers()
        except StoreError:
            if (self.path / MANIFEST).exists():  # another writer was just making a store
                return load_manifest(self.path)
            raise
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failed("cannot look into", self.path, error) from error
        return None

    def published(self) -> Published:
        """What tells the manifest of now from any other; `None` if there is none."""
        try:
            found = os.stat(self.path / MANIFEST)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _refuse_strangers(self) -> None:
        """Raise unless the folder is empty or holds only what an interrupted creation leaves."""
        parts = {self.segments.name, self.log.name}
        names = set(os.listdir(self.path))
        others = names - parts - {self.lock.name, UNFINISHED}
        if others:
            message = f"{self.path} is not empty and has no {MANIFEST}: it holds {min(others)!r}"
            raise StoreError("not-a-store", message, hint="choose an empty or a new folder")
        files = [self.path / part / name for part in parts & names for name in os.listdir(self.path / part)]
        for file in files:
            if file != self.log / log_name(0) or file.stat().st_size > FILE_HEADER_SIZE:
                what = f"the manifest is gone, though {file} is there"
                raise damaged(self.path / MANIFEST, 0, what, hint="restore the manifest from a copy")

    def make(self) -> None:
        """Create the folder itself, if it is not there."""
        try:
            make_folder(self.path, 0o700)
        except OSError as error:
            raise failed("cannot create", self.path, error) from error

    def make_store(self) -> Manifest:
        """Make an empty store at version 0; to be called under the lock, where `manifest` found none."""
        try:
            sync_parent(self.path)  # whoever made the folder may have died before syncing it
            make_folder(self.segments, mode_below(self.path))
            make_folder(self.log, mode_below(self.path))
            log = Log.create(self.log / log_name(0), 0)
            log.close()
            sync_folder(self.log)
            manifest = Manifest(0, 0, None, (), log.path.name, log.identity.hex())
            manifest.prepare(self.path)
            manifest.publish(self.path)
        except OSError as error:
            raise failed("cannot create a store in", self.path, error) from error
        return manifest

    def refuse_links(self) -> None:
        """Raise if a part of the store is a link: a writer removes files there."""
        for part in (self.segments, self.log):
            if part.is_symlink():
                raise linked(part)

    def settle(self) -> None:
        """Sync the names: the manifest we see may have been put there by a writer that died before that."""
        try:
            sync_folder(self.path)
        except OSError as error:
            raise failed("cannot sync", self.path, error) from error

    def sweep(self, manifest: Manifest) -> None:
        """Remove the files of ours that the manifest, which must be the published one, does not name.

        What cannot be removed now is left for the next time.
        """
        kept = {manifest.log, *(segment.file for segment in manifest.segments)}
        for part, pattern in ((self.segments, SEGMENT_FILE), (self.log, LOG_FILE)):
            with contextlib.suppress(OSError):
                for name in os.listdir(part):
                    if name not in kept and pattern.fullmatch(name):
                        with contextlib.suppress(OSError):
                            os.unlink(part / name)
        with contextlib.suppress(OSError):
            os.unlink(self.path / UNFINISHED)
