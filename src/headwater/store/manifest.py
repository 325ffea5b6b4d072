"""The manifest: the one file that says which other files are the store.

It is replaced as a whole, so at any moment it is either the old or the new one, and everything it names was
synced before it. Its body is protected by a checksum over the JSON text that the body has without spaces;
people may read the file, and an edit by hand is noticed.

The format's name and version are looked at first. A newer version is refused before anything else is, since
all the rest may mean something else there.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headwater.errors import StoreError
from headwater.store.durable import sync_folder, write_new
from headwater.store.failure import damaged, failed
from headwater.store.record import json_text
from headwater.store.segments import Segment

FORMAT = "headwater-store"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
UNFINISHED = "manifest.json.new"
SEGMENT_FILE = re.compile(r"\d{8,}-\d{4,}\.arrow")
LOG_FILE = re.compile(r"\d{8,}\.log")


def segment_name(generation: int, index: int) -> str:
    """The file of the `index`-th table written by a generation."""
    return f"{generation:08d}-{index:04d}.arrow"


def log_name(generation: int) -> str:
    """The file of the log that follows a generation's checkpoint."""
    return f"{generation:08d}.log"


@dataclass(frozen=True)
class Manifest:
    """A checkpoint (`meta` is `None` where there is none yet) and the log that follows it."""

    generation: int  # grows with each manifest, so that file names are never used twice
    version: int
    meta: Mapping[str, object] | None
    segments: tuple[Segment, ...]
    log: str
    log_identity: str

    def text(self) -> str:
        """The manifest file's content."""
        body = json.loads(json_text(asdict(self)))
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, "crc32": _checksum(body), "body": body}
        return json.dumps(head, indent=1) + "\n"

    def prepare(self, folder: Path) -> None:
        """Write and sync this manifest beside the present one, which still holds."""
        path = folder / UNFINISHED
        try:
            write_new(path, self.text().encode("ascii"))
        except OSError as error:
            raise failed("cannot write the manifest", path, error) from error

    def publish(self, folder: Path) -> None:
        """Put the prepared manifest in place of the present one, and sync that."""
        os.replace(folder / UNFINISHED, folder / MANIFEST)
        sync_folder(folder)


def load_manifest(folder: Path) -> Manifest:
    """The manifest of a store; raises `FileNotFoundError` as such where there is none."""
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise failed("cannot read", path, error) from error
    return parse_manifest(data, path)


def parse_manifest(data: bytes, path: Path) -> Manifest:
    """The manifest in a file's bytes; refuses other files, newer formats and damage.

    >>> parse_manifest(b'{"format": "headwater-store", "format_version": 9}', Path("manifest.json"))
    Traceback (most recent call last):
        ...
    headwater.errors.StoreError: error[newer-format]: manifest.json has format version 9, ...
    """
    try:
        head = json.loads(data)
    except json.JSONDecodeError as error:
        raise damaged(path, error.pos, f"not JSON: {error.msg}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise damaged(path, getattr(error, "start", 0), f"not JSON: {error}") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        hint = "choose an empty or a new folder; if this was a store, restore the file from a copy"
        raise StoreError("not-a-store", f"{path} is not the manifest of a Headwater store", hint=hint)
    found = head.get("format_version")
    if isinstance(found, int) and found > FORMAT_VERSION:
        message = f"{path} has format version {found}, this Headwater reads up to version {FORMAT_VERSION}"
        raise StoreError("newer-format", message, hint="upgrade Headwater: pip install -U headwater")
    body: Any = head.get("body")
    if found != FORMAT_VERSION or head.get("crc32") != _checksum(body):
        raise damaged(path, 0, f"the checksum of these {len(data)} bytes is wrong")
    try:
        return _manifest(body)
    except (TypeError, ValueError, KeyError) as error:
        raise damaged(path, 0, f"a field is missing or of a wrong kind: {error}") from error


def _checksum(body: object) -> str:
    return f"{zlib.crc32(json.dumps(body, separators=(',', ':')).encode('ascii')):08x}"


def _manifest(body: dict[str, Any]) -> Manifest:
    segments = tuple(Segment(**segment) for segment in body["segments"])
    manifest = Manifest(**{**body, "segments": segments})
    for file, pattern in [(manifest.log, LOG_FILE), *((s.file, SEGMENT_FILE) for s in segments)]:
        if pattern.fullmatch(file) is None:  # a name, never a path to somewhere else
            raise ValueError(f"file name {file!r}")
    bytes.fromhex(manifest.log_identity)
    return manifest
