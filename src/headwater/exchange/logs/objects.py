"""Entries as objects of a store that fsspec reaches: S3, GCS, Azure, and `memory://`.

Object stores put an object as a whole, and (asked for `mode="create"`) only where there is none. A file system that
writes in pieces is not one: local folders are `folder`'s.
"""

from __future__ import annotations

from typing import Any

from headwater.errors import MissingExtra, StoreError
from headwater.exchange.logs.place import entry_name, entry_numbers, folder_name, peer_name


class ObjectPlace:
    """A prefix in an object store."""

    def __init__(self, url: str):
        fsspec = _require()
        self.what = url
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError, OSError) as error:
            raise StoreError(
                "unreachable", f"{url}: {error}", hint="install fsspec's driver for it: s3fs, gcsfs, adlfs"
            ) from error

    def put(self, peer: str, number: int, data: bytes) -> bool:
        path = self._path(peer, number)
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        except Exception as error:  # each store has errors of its own
            raise self._failed("cannot publish to", error) from error
        self._files.invalidate_cache(path)
        return True

    def get(self, peer: str, number: int) -> bytes | None:
        try:
            return bytes(self._files.cat_file(self._path(peer, number)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._failed("cannot read", error) from error

    def numbers(self, peer: str) -> list[int]:
        return entry_numbers(self._names(f"{self._root}/{folder_name(peer)}"))

    def peers(self) -> list[str]:
        return sorted(peer_name(name) for name in self._names(self._root))

    def _path(self, peer: str, number: int) -> str:
        return f"{self._root}/{folder_name(peer)}/{entry_name(number)}"

    def _names(self, folder: str) -> list[str]:
        try:
            self._files.invalidate_cache(folder)
            return [path.rstrip("/").rpartition("/")[2] for path in self._files.ls(folder, detail=False)]
        except FileNotFoundError:
            return []
        except Exception as error:
            raise self._failed("cannot list", error) from error

    def _failed(self, doing: str, error: Exception) -> StoreError:
        said = (str(error) or type(error).__name__).splitlines()[0]
        return StoreError(
            "unreachable", f"{doing} {self.what}: {said}", hint="nothing was changed; try again"
        )


def _require() -> Any:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtra(
            "missing-extra", "fsspec is not installed", hint="pip install 'headwater[objects]'"
        ) from error
    return fsspec
