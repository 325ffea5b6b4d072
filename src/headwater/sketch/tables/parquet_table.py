"""Directories of Parquet files as tables with versions, though Parquet has none.

The record of a table is a folder of ours: for each version a small file that says which files the directory had
then, and the rows that came and went. A version is there once its file is (a rename). What somebody else appends
is found by the names of files, and its rows are read from them; where somebody else removed or rewrote files,
what changed is not known. A table of which all files were removed has no rows (`parquet_source`).

A change by `update` is prepared as hidden files, written down as an *intention*, carried out and recorded, in
this order; an intention that is found when the table is opened is carried out to its end. So a change is there
as a whole or not at all after a crash. Readers of a directory while it is changed may see a part: only Delta
tables have no such moment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import SketchError, StoreError
from headwater.sketch.checked_files import damaged, read_checked, write_checked
from headwater.sketch.sketch import SketchPart
from headwater.sketch.tables.bags import Numbers, netted, without
from headwater.sketch.tables.directory_files import FileMark, files_read, partition_values
from headwater.sketch.tables.layout import TableLayout, files_needed, parquet_blocks
from headwater.sketch.tables.parquet_frames import ParquetFrames, can_be_left_out
from headwater.sketch.tables.parquet_source import DirectorySource, ParquetSource, fitted, read_files
from headwater.store.durable import make_folder, put, sync_folder
from headwater.store.failure import failed
from headwater.store.lock import Lock
from headwater.store.patience import PATIENCE, patiently

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_LAYOUTS = 64
"""So many descriptions of a version's files are kept, one for each attribute."""
MOST_VERSIONS = 1000
"""So many versions of a table are remembered."""
_GONE = (-1, -1)
"""The mark of a file that is not there."""


@dataclass(frozen=True)
class FileVersion:
    """What a directory had at a version: sizes and times of its files; whether its rows that changed are kept."""

    version: int
    files: dict[str, tuple[int, int]]
    kept: bool = False


@dataclass(frozen=True)
class Intention:
    """A change that is to be carried out: hidden files that get names, and files that go, of those that were there
    `before`. Somebody else may have changed the directory since."""

    version: int
    names: dict[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    before: dict[str, tuple[int, int]] | None = None
    """Unknown in what earlier releases wrote."""


class ParquetTable:
    """A directory of Parquet files; `record` is the folder in which its versions are remembered. `source`: what its
    files are, if it is not a directory by itself."""

    def __init__(self, path: str | Path, record: Path, source: ParquetSource | None = None):
        self.path, self.record = Path(path), record
        self.source: ParquetSource = source or DirectorySource(self.path, record)
        self.source.marks()  # refused where there is no such directory
        self._layouts: dict[tuple[str, int], tuple[TableLayout, tuple[str, ...]]] = {}
        self.frames = ParquetFrames(self.path, lambda session: self.source.frame(session, self._files()))
        make_folder(record)
        if self._intention_file().exists():
            with self._locked():
                pass  # which does what is left to be done

    @cached_property
    def _own(self) -> str:
        """What no other record has."""
        own = self.record / "own"
        try:
            if not own.exists():
                put(own, uuid.uuid4().hex.encode())
            return own.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise failed("cannot keep", own, error) from error

    @cached_property
    def _staged(self) -> str:
        """How names of files begin that are not the table's yet. Others who write to it have names of their own, also
        on a machine on which their record has the same path as ours here, or in a copy of our record."""
        said = f"{self.record.resolve()} {self._own}"
        return f".headwater-{hashlib.blake2b(said.encode(), digest_size=6).hexdigest()}-"

    @property
    def what(self) -> str:
        return f"parquet:{self.path}"

    identity = ""

    def schema(self, version: int | None = None) -> pa.Schema:
        return self.source.columns(self._files())

    def version(self) -> int:
        """The newest; files that have come or gone since make another one."""
        newest, files = self._newest(), self._files()
        if newest is not None and newest.files == files:
            return newest.version
        with self._locked():
            newest, files = self._newest(), self._files()
            if newest is None or newest.files != files:
                newest = self._commit(FileVersion(0 if newest is None else newest.version + 1, files))
            return newest.version

    def mark(self, version: int) -> int | None:
        """The record's own, which gives no number twice: one that was removed begins anew."""
        return int.from_bytes(hashlib.blake2b(self._own.encode(), digest_size=7).digest(), "big")

    def frame(self, session: SparkSession, version: int, parts: Sequence[SketchPart]) -> DataFrame:
        marks = self._marks()
        self.check(version)
        whole = self.frames.whole(session, marks)
        wanted = self._wanted(version, parts)
        if wanted is None or not can_be_left_out(whole, parts):
            return whole
        return self.frames.some(whole, marks, wanted)

    def _wanted(self, version: int, parts: Sequence[SketchPart]) -> set[str] | None:
        """The files that may have rows of all parts; `None` for all files."""
        return files_needed(lambda attribute: self._described(attribute, version), parts)

    def check(self, version: int) -> None:
        """Refuse a version that is not the newest."""
        now = self.version()
        if version != now:
            raise SketchError(
                "no-such-version",
                f"{self.path} has version {now}, not {version}",
                hint="a directory keeps its newest version only; a Delta table keeps all",
            )

    def gives_again(self, frame: DataFrame) -> bool:
        return self.frames.gives_again(frame)

    def rows_read(self, version: int, parts: Sequence[SketchPart]) -> int | None:
        import pyarrow as pa

        schema = self.schema()
        attributes = [part.ranges.attribute for part in parts] or schema.names[:1]
        layout, names = self._described(attributes[0], version)
        numbers = all(
            name in schema.names and pa.types.is_integer(schema.field(name).type) for name in attributes
        )
        wanted = self._wanted(version, parts) if numbers else None
        pairs = zip(names, layout.blocks, strict=True)
        return sum(block.rows for name, block in pairs if wanted is None or name in wanted)

    def changes(self, after: int, upto: int) -> tuple[pa.Table, Numbers]:
        import pyarrow as pa

        tables, signs = [self.schema().empty_table()], [np.zeros(0, dtype=np.int64)]
        for version in range(after + 1, upto + 1):
            rows, sign = self._changes_of(version)
            tables.append(self._in_columns_of(tables[0].schema, rows, version))
            signs.append(sign)
        return netted(pa.concat_tables(tables), np.concatenate(signs))

    def _in_columns_of(self, schema: pa.Schema, rows: pa.Table, version: int) -> pa.Table:
        """Rows of a version, in the columns that the table has."""
        import pyarrow as pa

        try:
            return fitted(rows, schema, fills=self.source.fills)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise SketchError(
                "no-changes",
                f"what came to {self.path} at version {version} has other columns: {error}",
                hint="Spark decides what such files have; the sketch is captured again",
            ) from error

    def _changes_of(self, version: int) -> tuple[pa.Table, Numbers]:
        import pyarrow.feather as feather

        this, before = self._read(version), self._read(version - 1)
        if this is not None and this.kept:
            stored = feather.read_table(self._rows_file(version))
            return stored.drop_columns(["_sign"]), np.asarray(stored.column("_sign"), dtype=np.int64)
        if (
            this is None
            or before is None
            or any(this.files.get(name) != at for name, at in before.files.items())
        ):
            raise SketchError(
                "no-changes",
                f"what changed in {self.path} at version {version} is not known: its files were rewritten or removed",
                hint="change it by sketches.update, or make it a Delta table",
            )
        come = [name for name in this.files if name not in before.files]
        if any(name.startswith("/") for name in come):
            raise SketchError(
                "no-changes",
                f"at version {version}, {self.path} got rows that lie elsewhere",
                hint="the sketch is captured again",
            )
        try:
            rows = self._read_files(come)
        except FileNotFoundError as error:
            raise SketchError(
                "no-changes",
                f"what came to {self.path} at version {version} is gone again: {error.filename or error}",
                hint="the sketch is captured again",
            ) from error
        return rows, np.ones(rows.num_rows, dtype=np.int64)

    def rows(self) -> pa.Table:
        """All rows that are there now."""
        files = self._files()
        return self._read_files(files) if files else self.schema().empty_table()

    def own_changes(self, version: int) -> tuple[pa.Table, Numbers] | None:
        """What a version changed, if it was made by `update`."""
        this = self._read(version)
        return self._changes_of(version) if this is not None and this.kept else None

    def layout(self, attribute: str, version: int) -> TableLayout | None:
        return self._described(attribute, version)[0]

    def _described(self, attribute: str, version: int) -> tuple[TableLayout, tuple[str, ...]]:
        """The row groups of a version, and the file that each is in."""
        known = self._layouts.get((attribute, version))
        if known is None:
            files = self._files()
            said = self.source.partitions(files)
            found = [
                (block, name)
                for name in files
                for block in parquet_blocks(self.path / name, attribute, partition_values(name, said))
            ]
            layout = TableLayout(attribute, tuple(block for block, _ in found))
            known = self._layouts[(attribute, version)] = layout, tuple(name for _, name in found)
            while len(self._layouts) > MOST_LAYOUTS:
                self._layouts.pop(next(iter(self._layouts)), None)
        return known

    def update(self, rows: pa.Table, signs: Numbers) -> int:
        with self._locked():
            files = self._files()
            newest = self._newest()
            if newest is None or newest.files != files:
                newest = self._commit(FileVersion(0 if newest is None else newest.version + 1, files))
            if not rows.num_rows:
                return newest.version
            self._check_flat(files)
            version = newest.version + 1
            make_folder(self.path)  # of a table of the catalog that nobody has written to yet
            intention = self._prepared(version, rows, signs, files)
            if self._is_overtaken(intention):
                for hidden in intention.names:
                    (self.path / hidden).unlink(missing_ok=True)
                raise self._changed_meanwhile("rows were deleted from it")
            self._keep_rows(version, rows, signs)
            write_checked(self._intention_file(), asdict(intention))
            return self._carried_out(intention).version

    def cluster(self, session: SparkSession, attribute: str, files: int) -> int:
        """Lay the rows out anew, sorted by an attribute, in so many files; the version that has no other rows."""
        from pyspark.sql import functions as F

        with self._locked():
            before = self._files()
            self._check_flat(before)
            newest = self._newest()
            version = 0 if newest is None else newest.version
            if newest is None or newest.files != before:
                version = self._commit(FileVersion(version + (newest is not None), before)).version
            if not before:
                return version
            made = self.path / f"{self._staged}{uuid.uuid4().hex[:12]}"
            frame = session.read.parquet(str(self.path)).repartitionByRange(files, F.col(attribute))
            frame.sortWithinPartitions(attribute).write.parquet(str(made))
            if self._files() != before:  # of which Spark may have read some
                shutil.rmtree(made, ignore_errors=True)
                raise self._changed_meanwhile("its rows were laid out anew")
            names = {
                f"{made.name}/{path.name}": f"part-headwater-{version + 1:08d}-{number:05d}.parquet"
                for number, path in enumerate(sorted(made.glob("*.parquet")))
            }
            self._keep_rows(version + 1, self.schema().empty_table(), np.zeros(0, dtype=np.int64))
            intention = Intention(version + 1, names, tuple(before), before)
            write_checked(self._intention_file(), asdict(intention))
            done = self._carried_out(intention).version
            shutil.rmtree(made, ignore_errors=True)
            return done

    # -------------------------------------------------------------- changing

    def _changed_meanwhile(self, what: str) -> SketchError:
        return SketchError(
            "table-changed", f"{self.path} was changed while {what}", hint="nothing was done; try again"
        )

    def _check_flat(self, files: Collection[str]) -> None:
        if self.source.is_partitioned(files):
            raise SketchError(
                "partitioned", f"{self.path} has partition directories", hint="make it a Delta table"
            )

    def _prepared(
        self, version: int, rows: pa.Table, signs: Numbers, files: dict[str, tuple[int, int]]
    ) -> Intention:
        """Hidden files with what is to be there."""
        names: dict[str, str] = {}
        gone: list[str] = []
        come = rows.take(np.repeat(np.flatnonzero(signs > 0), signs[signs > 0]))
        left = rows.take(np.repeat(np.flatnonzero(signs < 0), -signs[signs < 0]))
        for name in sorted(files):
            if not left.num_rows:
                break
            stored = fitted(self._read_files([name]), rows.schema, fills=self.source.fills)
            kept, missing = without(stored, left)
            if not kept.all():
                gone.append(name)
                left = left.filter(missing)
                if kept.any():
                    self._stage(names, version, stored.filter(kept))
        if left.num_rows:
            for hidden in names:
                (self.path / hidden).unlink(missing_ok=True)
            raise SketchError(
                "row-not-there",
                f"{left.num_rows} rows to delete are not in {self.path}, one of them {left.to_pylist()[0]}",
                hint="nothing was changed",
            )
        if come.num_rows or (
            not names and len(gone) == len(files)
        ):  # a file of no rows says what columns there are
            self._stage(names, version, come)
        return Intention(version, names, tuple(gone), files)

    def _stage(self, names: dict[str, str], version: int, rows: pa.Table) -> None:
        import pyarrow.parquet as pq

        final = f"part-headwater-{version:08d}-{uuid.uuid4().hex[:12]}.parquet"
        try:
            pq.write_table(rows, self.path / f"{self._staged}{final}")
        except OSError as error:
            raise failed("cannot write", self.path / final, error) from error
        names[f"{self._staged}{final}"] = final

    def _keep_rows(self, version: int, rows: pa.Table, signs: Numbers) -> None:
        import pyarrow as pa
        import pyarrow.feather as feather

        counted = rows.append_column("_sign", pa.array(signs))
        try:
            feather.write_feather(counted, str(self._rows_file(version)))
        except OSError as error:
            raise failed("cannot write", self._rows_file(version), error) from error

    def _carried_out(self, intention: Intention) -> FileVersion:
        """Do what is left to be done of a change; doing it twice does no harm. What others did meanwhile stays,
        and is no part of this version: the next one has it."""
        for hidden, name in intention.names.items():
            if (self.path / hidden).exists():
                os.replace(self.path / hidden, self.path / name)
        now = self._files()
        before = now if intention.before is None else intention.before
        if all(name in now for name in intention.names.values()):  # else rows would be lost
            for name in intention.gone:
                if now.get(name, _GONE) == before.get(name, _GONE):
                    (self.path / name).unlink(missing_ok=True)
        if self.path.is_dir():
            sync_folder(self.path)
        files = {name: mark for name, mark in before.items() if name not in intention.gone}
        files |= {name: now.get(name, _GONE) for name in intention.names.values()}
        done = self._commit(FileVersion(intention.version, files, kept=True))
        self._intention_file().unlink(missing_ok=True)
        return done

    def _recover(self) -> None:
        """Do what a writer who ended in the middle has left to be done, and remove what was not to be yet."""
        found = self._load(self._intention_file(), ("version", "names", "gone"))
        if found is not None:
            before = found.get("before")
            intention = Intention(
                found["version"],
                found["names"],
                tuple(found["gone"]),
                None if before is None else {name: (size, at) for name, (size, at) in before.items()},
            )
            if self._is_overtaken(intention):
                self._intention_file().unlink(missing_ok=True)
            else:
                self._carried_out(intention)
        for path in self.path.glob(f"{self._staged}*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _is_overtaken(self, intention: Intention) -> bool:
        """Whether somebody else changed files that a change was to replace, before anything of it was done."""
        if intention.before is None or not all((self.path / hidden).exists() for hidden in intention.names):
            return False
        now = self._files()
        unlike = [name for name in intention.gone if now.get(name) != intention.before[name]]
        return any(name in now or intention.names for name in unlike)

    # -------------------------------------------------------------- the record

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The record is ours alone, and nothing is half done; others are waited for, a while."""
        lock = patiently(lambda: Lock.take(self.record / "lock"), _is_locked, PATIENCE)
        try:
            self._recover()
            yield
        finally:
            lock.release()

    def _files(self) -> dict[str, tuple[int, int]]:
        """The data files there are: their sizes and times of change, by their names below the directory."""
        marks = {name: mark for name, mark in self._marks().items() if mark[0]}
        return {name: marks[name][:2] for name in files_read(marks)}

    def _marks(self) -> dict[str, FileMark]:
        return self.source.marks()

    def _read_files(self, names: Collection[str]) -> pa.Table:
        return read_files(self.path, names, self.source.partitions(names))

    def _newest(self) -> FileVersion | None:
        numbers = sorted(int(path.stem) for path in self.record.glob("[0-9]*.json"))
        return self._read(numbers[-1]) if numbers else None

    def _read(self, version: int) -> FileVersion | None:
        path = self.record / f"{version:08d}.json"
        found = self._load(path, ("version", "files", "kept"))
        if found is None:
            return None
        try:
            files = {name: (size, at) for name, (size, at) in found["files"].items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise damaged(path, f"{type(error).__name__} {error}", self._hint) from error
        return FileVersion(found["version"], files, found["kept"])

    @property
    def _hint(self) -> str:
        return f"remove {self.record}: sketches of the table are captured again"

    def _load(self, path: Path, keys: Sequence[str]) -> dict[str, Any] | None:
        return read_checked(path, keys, self._hint)

    def _commit(self, version: FileVersion) -> FileVersion:
        write_checked(self.record / f"{version.version:08d}.json", asdict(version))
        old = version.version - MOST_VERSIONS
        for path in (self.record / f"{old:08d}.json", self._rows_file(old)):
            path.unlink(missing_ok=True)
        return version

    def _rows_file(self, version: int) -> Path:
        return self.record / f"{version:08d}.arrow"

    def _intention_file(self) -> Path:
        return self.record / "intention.json"


def _is_locked(error: Exception) -> bool:
    return isinstance(error, StoreError) and error.code == "locked"
