"""Holding on to what a manifest names, so that it stays readable when a later checkpoint removes it.

A reader takes no lock, so the files can go between reading the manifest and opening them. It then starts
again from the manifest, which by then is another. Damage is believed only if it is found again under the
same manifest: a frame that the writer is just taking back can look like damage for an instant.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from headwater.errors import StoreError
from headwater.store.failure import damaged
from headwater.store.folder import Folder
from headwater.store.log import Log
from headwater.store.manifest import Manifest
from headwater.store.segments import SegmentTables

_ATTEMPTS = 100
_UNDER_ONE_MANIFEST = 3  # attempts that fail alike: then it is not the writer's doing
_PAUSE = 0.001  # seconds


class Attached(NamedTuple):
    """A manifest with its segments pinned and its log open."""

    manifest: Manifest
    tables: SegmentTables
    log: Log


def attach_to_write(folder: Folder) -> Attached:
    """What is stored in the folder, or an empty store made there; to be called under the lock."""
    folder.refuse_links()
    manifest = folder.manifest() or folder.make_store()
    folder.settle()
    try:
        attached = _attach(folder, manifest, write=True)
    except FileNotFoundError as error:
        raise _gone(error, folder) from error
    folder.sweep(manifest)
    return attached


def attach_to_read(folder: Folder) -> Attached:
    """What is stored in the folder just now, whatever a writer does meanwhile."""
    last: Manifest | None = None
    same = 0
    for _ in range(_ATTEMPTS):
        manifest = folder.manifest()
        if manifest is None:
            hint = "check the path; open it with mode='w' to make a store"
            raise StoreError("missing", f"there is no store in {folder.path}", hint=hint)
        same = same + 1 if manifest == last else 1
        last = manifest
        try:
            return _attach(folder, manifest, write=False)
        except FileNotFoundError as error:
            if same >= _UNDER_ONE_MANIFEST:
                raise _gone(error, folder) from error
        except StoreError as error:
            if error.code != "damaged" or same >= _UNDER_ONE_MANIFEST:
                raise
        time.sleep(_PAUSE)
    hint = "try again; if this goes on, let the writer make checkpoints less often"
    raise StoreError("busy", f"{folder.path} was replaced {_ATTEMPTS} times while it was read", hint=hint)


def _attach(folder: Folder, manifest: Manifest, *, write: bool) -> Attached:
    tables = SegmentTables(folder.segments, manifest.segments)
    identity = bytes.fromhex(manifest.log_identity)
    log = Log.open(folder.log / manifest.log, identity=identity, base=manifest.version, write=write)
    return Attached(manifest, tables, log)


def _gone(error: FileNotFoundError, folder: Folder) -> StoreError:
    path = Path(error.filename) if error.filename else folder.path
    return damaged(path, 0, f"a file that the manifest names is gone ({error})")
