"""A store: the newest checkpoint, and every version committed after it.

What holds, at whatever instant the process or the machine stops:
- a version is there whole or not at all, and every version whose `append` returned is there;
- a checkpoint is the old one or the new one, and either is followed by its own log;
- damage (a wrong checksum in a segment, in the manifest, in the middle of the log) is refused, never skipped;
- one writer at a time; readers need neither lock nor write access. A reader holds the version that it found
  when it was opened, also after the writer has moved on and removed the files.

What does not: with `sync=False` a version may be lost when the *machine* stops, though not when the process
does. And versions are all that is stored: what tables and metadata mean is the caller's business.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

import pyarrow as pa

from headwater.errors import StoreError
from headwater.store.attach import Attached, attach_to_read, attach_to_write
from headwater.store.durable import sync_folder
from headwater.store.failure import damaged, failed
from headwater.store.folder import Folder, Published
from headwater.store.lock import Lock
from headwater.store.log import Log
from headwater.store.manifest import MANIFEST, Manifest, log_name, segment_name
from headwater.store.record import PayloadError, Record, decode, encode
from headwater.store.segments import Segment, SegmentTables, write_segment


@dataclass(frozen=True)
class Checkpoint:
    """All state at one version: JSON-able metadata, and tables by name."""

    version: int
    meta: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class Stats:
    """Sizes to decide by when a checkpoint is due, and what opening had to cut off."""

    version: int
    checkpoint_version: int
    log_records: int
    log_bytes: int
    segments: int
    segment_rows: int
    segment_bytes: int
    torn_bytes: int  # of an interrupted append, found at the log's end when the store was opened


class Store:
    """An open store; made by `Store.open`, and closed by `close` or the end of a `with` block."""

    def __init__(
        self, folder: Folder, attached: Attached, lock: Lock | None, sync: bool, published: Published = None
    ):
        """Take over the files and the lock (`None` in a reader)."""
        self._folder = folder
        self._lock = lock
        self._sync = sync
        self._turn = threading.Lock()
        self._closed = False
        self._unsure = False  # whether the manifest on disk is the one we follow
        self._torn = attached.log.torn
        self._published = published
        self._follow(attached)

    def _follow(self, attached: Attached) -> None:
        self._manifest, tables, self._log = attached
        meta = self._manifest.meta
        self._checkpoint = None if meta is None else Checkpoint(self._manifest.version, meta, tables)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mode: Literal["w", "r"] = "w", sync: bool = True) -> Store:
        """Open the store in a folder.

        `"w"` takes the lock, makes the store if the folder is missing or empty, and cuts off what an
        interrupted append left. `"r"` changes nothing at all, and sees the last version committed by now.
        """
        if mode not in ("w", "r"):
            raise StoreError("mode", f"mode {mode!r} is neither 'w' nor 'r'", hint="use 'w' or 'r'")
        folder = Folder(Path(path).absolute())
        if mode == "r":
            published = folder.published()  # if it is another one by now, that is seen with the next look
            return cls(folder, attach_to_read(folder), None, False, published)
        folder.manifest()  # refuses what is not ours before a file is put beside it
        folder.make()
        lock = Lock.take(folder.lock)
        try:
            return cls(folder, attach_to_write(folder), lock, sync)
        except BaseException:
            lock.release()
            raise

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint, its tables read when looked up; `None` before the first."""
        return self._checkpoint

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._folder.path

    @property
    def version(self) -> int:
        """The last committed version; 0 in a new store."""
        return self._log.version

    def records(self) -> Iterator[Record]:
        """The versions committed after the checkpoint, in order, as of when the first is asked for."""
        if self._closed:
            raise self._refusal("closed", "is closed")
        yield from self._decoded(self._log.frames())

    def more(self, *, anew: bool = False) -> Iterator[Record]:
        """In a reader: what the writer has committed since `records` or this was last read to its end; with `anew`,
        all after the checkpoint.

        Where the writer has made checkpoints meanwhile, what came between may only be there as part of the last one:
        that is refused (`missed`), and the store must be opened again.
        """
        if anew:
            self._log.rewind()
        while True:
            published = self._folder.published()
            yield from self._decoded(self._log.more())
            if published == self._published:
                return
            attached = attach_to_read(self._folder)
            if attached.manifest == self._manifest:
                attached.log.close()
                self._published = published
                continue
            later = attached.manifest.generation > self._manifest.generation
            if not later or attached.manifest.version != self._log.version:
                attached.log.close()
                what = f"moved on from version {self._log.version} to {attached.manifest.version} in a checkpoint"
                raise self._refusal("missed", what)
            old, self._published = self._log, published
            self._follow(attached)
            self._log.rewind()
            old.close()

    def back(self) -> None:
        """Take the last record that `more` gave for one that is still to come; right after it was given."""
        self._log.back()

    def _decoded(self, frames: Iterable[tuple[int, int, bytes]]) -> Iterator[Record]:
        for offset, version, payload in frames:
            try:
                record = decode(version, payload)
            except PayloadError as error:
                what = f"version {version} cannot be decoded: {error}"
                raise damaged(self._log.path, offset, what) from error
            yield record

    def append(self, record: Record) -> None:
        """Commit the next version. On return it is safe; if this raises a `StoreError`, nothing has changed.

        Where an interrupt (Ctrl-C) cuts in, `version` tells on which side of the commit it did.
        """
        payload = encode(record)
        with self._turn:
            self._check_writable()
            if record.version != self._log.version + 1:
                message = f"version {record.version} cannot follow version {self._log.version}"
                raise StoreError("version", message, hint="versions are consecutive")
            self._log.append(record.version, payload, sync=self._sync)

    def next_segments(self) -> tuple[Path, int]:
        """Where other processes may write segments of the next checkpoint, and the generation for their names."""
        with self._turn:
            self._check_writable()
            return self._folder.segments, self._manifest.generation + 1

    def write_checkpoint(
        self, checkpoint: Checkpoint, *, reuse: Iterable[str] = (), written: Iterable[Segment] = ()
    ) -> None:
        """Replace the checkpoint by this one, start a new log, and remove the files no longer needed.

        Its version must be the last committed one (any version in a store that has none yet). Tables in
        `reuse` keep their present segment and are not looked up; of the others in the present checkpoint,
        those that are not in `checkpoint.tables` are dropped. Segments in `written` are there already, and synced
        (see `next_segments`). If this raises, the old checkpoint and its log
        still hold; except that after a failure in the very last step (code `unsure` from then on) only
        opening the store again tells which of the two does. Always synced.
        """
        with self._turn:
            self._check_writable()
            new = self._manifest.meta is None and self._log.version == 0
            if checkpoint.version != self._log.version and not (new and checkpoint.version > 0):
                message = f"a checkpoint of version {checkpoint.version} does not hold {self._log.version}"
                raise StoreError("version", message, hint="make the checkpoint of the last version")
            attached = self._prepare(checkpoint, set(reuse), tuple(written))
            self._publish(attached)
            old = self._log
            self._follow(attached)
            self._unsure = False
            old.close()
            self._folder.sweep(attached.manifest)

    def _prepare(self, checkpoint: Checkpoint, reuse: set[str], written: tuple[Segment, ...]) -> Attached:
        """Put all files of the next manifest beside those in use; where that fails, remove them again."""
        self._check_in_place()
        folder, generation = self._folder, self._manifest.generation + 1
        log: Log | None = None
        try:
            segments = (*self._segments(checkpoint, reuse, generation), *written)
            log = Log.create(folder.log / log_name(generation), checkpoint.version)
            sync_folder(folder.segments)
            sync_folder(folder.log)
            manifest = Manifest(
                generation=generation,
                version=checkpoint.version,
                meta=dict(checkpoint.meta),
                segments=segments,
                log=log.path.name,
                log_identity=log.identity.hex(),
            )
            tables = SegmentTables(folder.segments, segments)
            manifest.prepare(folder.path)
            self._check_in_place()
        except BaseException as error:
            if log is not None:
                log.close()
            if self._lock is not None and self._lock.in_place():
                folder.sweep(self._manifest)
            if isinstance(error, OSError):
                raise failed("cannot make a checkpoint in", folder.path, error) from error
            raise
        return Attached(manifest, tables, log)

    def _segments(self, checkpoint: Checkpoint, reuse: set[str], generation: int) -> Iterator[Segment]:
        present = {segment.table: segment for segment in self._manifest.segments}
        for index, name in enumerate(sorted(reuse.union(checkpoint.tables))):
            if name in reuse and name in present:
                yield present[name]
            elif name in checkpoint.tables:
                file = segment_name(generation, index)
                yield write_segment(self._folder.segments, file, name, checkpoint.tables[name])
            else:
                hint = "only tables of the present checkpoint can be reused"
                raise StoreError("table", f"there is no segment of table {name!r} to reuse", hint=hint)

    def _publish(self, attached: Attached) -> None:
        """Make the manifest the one that counts. Where it is not known whether it does, stop writing."""
        self._unsure = True  # until the caller follows the new manifest
        try:
            attached.manifest.publish(self._folder.path)
        except BaseException as error:
            attached.log.close()
            if isinstance(error, OSError):
                raise failed("cannot publish", self._folder.path / MANIFEST, error) from error
            raise

    def stats(self) -> Stats:
        """Sizes as of now."""
        log, segments = self._log, self._manifest.segments
        return Stats(
            version=log.version,
            checkpoint_version=self._manifest.version,
            log_records=log.version - log.base,
            log_bytes=log.length,
            segments=len(segments),
            segment_rows=sum(segment.rows for segment in segments),
            segment_bytes=sum(segment.bytes for segment in segments),
            torn_bytes=self._torn,
        )

    def _check_writable(self) -> None:
        if self._closed:
            raise self._refusal("closed", "is closed")
        if self._lock is None:
            raise self._refusal("read-only", "was opened with mode='r'")
        if not self._lock.ours:
            raise self._refusal("forked", "was opened by another process, of which this one is a fork")
        if self._unsure:
            raise self._refusal("unsure", "was interrupted in a checkpoint and must be read again")

    def _check_in_place(self) -> None:
        """Refuse to work by path where another store may have come into the place of this one."""
        if self._lock is None or not self._lock.in_place():
            raise self._refusal("gone", "was moved or removed while it was open")

    def _refusal(self, code: str, what: str) -> StoreError:
        return StoreError(code, f"the store {self._folder.path} {what}", hint="close it and connect again")

    def close(self) -> None:
        """Give back the lock and the files; a second time does nothing."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            self._log.close(undo=self._lock is not None and self._lock.ours)
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Store:
        """Use the store in a `with` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store at the end of the block."""
        self.close()
