"""Entries as files of a shared folder: one folder a peer, one file an entry.

An entry is written to a file of another name, synced, and then linked to its own name, which fails if that is taken.
So no reader ever sees part of an entry, and a writer that is killed leaves at most a `.part`, which nobody reads.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from headwater.exchange.logs.place import entry_name, entry_numbers, folder_name, peer_name
from headwater.store.durable import make_folder, sync_folder, write_new
from headwater.store.failure import failed


class FolderPlace:
    """A folder that all peers can reach: on this machine, or mounted."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def what(self) -> str:
        return str(self.path)

    def put(self, peer: str, number: int, data: bytes) -> bool:
        folder = self.path / folder_name(peer)
        part = folder / f".{number:012d}.{secrets.token_hex(4)}.part"
        try:
            make_folder(folder)
            try:
                write_new(part, data)
                try:
                    os.link(part, folder / entry_name(number))
                except FileExistsError:
                    return False
            finally:
                with contextlib.suppress(FileNotFoundError):
                    part.unlink()
            sync_folder(folder)
        except OSError as error:
            raise failed("cannot publish to", folder, error) from error
        return True

    def get(self, peer: str, number: int) -> bytes | None:
        path = self.path / folder_name(peer) / entry_name(number)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failed("cannot read", path, error) from error

    def numbers(self, peer: str) -> list[int]:
        return entry_numbers(self._names(self.path / folder_name(peer)))

    def peers(self) -> list[str]:
        folders = self._names(self.path)
        return sorted(peer_name(name) for name in folders if (self.path / name).is_dir())

    def _names(self, folder: Path) -> list[str]:
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise failed("cannot list", folder, error) from error
