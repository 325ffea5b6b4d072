"""Delta tables: their own versions, their log's statistics, and files that Spark reads by itself.

Without Delta's jar, Spark reads the Parquet files that the log names at a version: those that a sketch cannot
need are left out by their minima and maxima before Spark sees them. Tables with deletion vectors or mapped
columns, and those in the names of whose directories Spark would read other values than the log says, go through
the wheel instead (`pipeline/delta`), as a whole.

Changes between two versions are the rows of files that came and went, netted: no change data feed is needed, and
an append costs what was appended. `update` is one commit, also where rows come and go, and rows that are there
several times lose as many copies as are deleted. A commit of somebody else in between is met by trying again.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import PipelineError, SketchError
from headwater.pipeline.delta import Wheel, plain, require_wheel
from headwater.sketch.sketch import SketchPart
from headwater.sketch.tables.backend import other_table
from headwater.sketch.tables.bags import Numbers, netted, row_numbers
from headwater.sketch.tables.delta_snapshot import DeltaSnapshot
from headwater.sketch.tables.file_frames import FileFrames
from headwater.sketch.tables.gathered_files import GatheredFiles, can_be_gathered
from headwater.sketch.tables.layout import TableLayout, files_needed
from headwater.sketch.tables.remembered import remembered

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_LAYOUTS = 64
"""So many descriptions of a version's files are kept, one for each attribute."""
ATTEMPTS = 10
"""So often a commit is tried while others commit."""


class DeltaFiles:
    """A Delta table at a path."""

    def __init__(self, path: str):
        # Spark is somewhere else than this process
        self.path = path if "://" in path else os.path.abspath(path.removeprefix("file:"))
        self._wheel = Wheel(self.path)
        self._layouts: dict[tuple[str, int], tuple[TableLayout, tuple[str, ...]]] = {}
        self._past: dict[int, DeltaSnapshot] = {}
        self._checks: dict[tuple[int, tuple[int, int]], int] = {}
        """Checksums of versions' entries of the log."""
        self._frames: dict[tuple[str, tuple[str, ...]], DataFrame] = {}
        self._files = FileFrames()
        self._gathered = GatheredFiles(self._rows_now)
        self._newest = self._open()
        self.identity = str(self._newest.metadata().id)
        """What a table made anew at this path does not have."""
        self._mark = self._mark_of(int(self._newest.version()))
        self._lock = threading.Lock()

    @property
    def what(self) -> str:
        return f"delta:{self.path}"

    def _open(self, version: int | None = None) -> Any:
        deltalake = require_wheel()
        try:
            return self._wheel._open(version)
        except (deltalake.exceptions.DeltaError, PipelineError) as error:
            if isinstance(error, PipelineError):
                if version is None:
                    raise SketchError("missing-source", error.message, hint=error.hint) from error
                self._open()  # the wheel says the same of a version that was cleaned up as of a table that is gone
            raise SketchError(
                "no-such-version",
                f"{self.path} has no version {version}",
                hint="was it cleaned up (vacuum), or is it to come?",
            ) from error

    def _at(self, version: int) -> DeltaSnapshot:
        """What the log says of a version; that of the newest is known, another one is looked up there."""

        def made() -> DeltaSnapshot:
            with self._lock:
                if int(self._newest.version()) == version:
                    return DeltaSnapshot.of(self._newest, self.path)
            return DeltaSnapshot.of(self._open(version), self.path)

        return remembered(self._past, version, made)

    def schema(self, version: int | None = None) -> pa.Schema:
        if version is not None:
            return self._at(version).schema
        return DeltaSnapshot.of(self._open(), self.path).schema

    def version(self) -> int:
        """The newest version: of the log only what came since the last look is read.

        Refused with the code `table-replaced` where another table is at the path now.
        """
        deltalake = require_wheel()
        with self._lock:
            known = int(self._newest.version())
            if self._mark is None or self._mark != self._mark_of(known):
                self._open_again()
            elif "://" in self.path or self._mark_of(known + 1) is not None:
                try:
                    self._newest.update_incremental()
                except (deltalake.exceptions.DeltaError, OSError):
                    self._open_again()
            version = int(self._newest.version())
            self._mark = self._mark_of(version)
            return version

    def _open_again(self) -> None:
        found = self._open()
        if str(found.metadata().id) != self.identity:
            raise other_table(str(self.path), "is another table than it was")
        self._newest = found
        self._past.clear()  # it may have gone back to an older version, and to others from there
        self._layouts.clear()

    def _mark_of(self, version: int) -> tuple[int, int] | None:
        """What tells a version's entry of the log from that of another table; `None` if there is no such file
        here."""
        if "://" in self.path:
            return (0, 0)  # of tables elsewhere nothing is known without reading their log
        try:
            found = self._entry(version).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def mark(self, version: int) -> int | None:
        """A checksum of a version's entry of the log; `None` if that is not here."""
        at = None if "://" in self.path else self._mark_of(version)
        if at is None:
            return None

        def made() -> int:
            return int.from_bytes(
                hashlib.blake2b(self._entry(version).read_bytes(), digest_size=7).digest(), "big"
            )

        try:
            return remembered(self._checks, (version, at), made)
        except OSError:  # it has just been cleaned up
            return None

    def _entry(self, version: int) -> Path:
        """Where the log says what a version has changed."""
        return Path(self.path) / "_delta_log" / f"{version:020}.json"

    def frame(self, session: SparkSession, version: int, parts: Sequence[SketchPart]) -> DataFrame:
        snapshot = self._at(version)
        if not snapshot.has_plain_files:
            return self._wheel.rows(session, version)
        wanted = self._wanted(version, parts)
        files = snapshot.files if wanted is None else tuple(sorted(wanted))
        root = self.path if snapshot.is_partitioned else None
        if root is None and can_be_gathered(session, self.path, snapshot.schema):
            layout, every = self._described(snapshot.schema.names[0], version)
            rows = {file: block.rows for file, block in zip(every, layout.blocks, strict=True) if block.rows}
            elsewhere = self._gathered.standing_for(rows)
            files = tuple(sorted({elsewhere.get(file, file) for file in files}))
        key = (snapshot.schema_text, files)  # a column that is added changes no file
        return remembered(self._frames, key, lambda: self._files.frame(session, snapshot.schema, files, root))

    def gives_again(self, frame: DataFrame) -> bool:
        return any(frame is kept for kept in list(self._frames.values()))

    def rows_read(self, version: int, parts: Sequence[SketchPart]) -> int | None:
        attribute = parts[0].ranges.attribute if parts else self._at(version).schema.names[0]
        wanted = self._wanted(version, parts)
        layout, files = self._described(attribute, version)
        read = [
            block
            for file, block in zip(files, layout.blocks, strict=True)
            if wanted is None or file in wanted
        ]
        is_told = all(block.rows or not block.size for block in read)
        return sum(block.rows for block in read) if is_told else None

    def _wanted(self, version: int, parts: Sequence[SketchPart]) -> set[str] | None:
        """The files that may have rows of all parts; `None` for all files."""
        return files_needed(lambda attribute: self._described(attribute, version), parts)

    def layout(self, attribute: str, version: int) -> TableLayout | None:
        try:
            return self._described(attribute, version)[0]
        except SketchError as error:
            if error.code != "no-such-version":  # the log says nothing of it any more
                raise
            return None

    def _described(self, attribute: str, version: int) -> tuple[TableLayout, tuple[str, ...]]:
        """The files of a version with what the log says of them."""
        known = self._layouts.get((attribute, version))
        if known is None:
            known = self._at(version).described(attribute, self.path)
            self._layouts[(attribute, version)] = known
            while len(self._layouts) > MOST_LAYOUTS:
                self._layouts.pop(next(iter(self._layouts)), None)
        return known

    def changes(self, after: int, upto: int) -> tuple[pa.Table, Numbers]:
        import pyarrow as pa

        if upto < after:
            raise SketchError("no-changes", f"{self.path} went back from version {after} to {upto}")
        old, new = self._before(after), self._at(upto)
        if not (old.has_plain_files and new.has_plain_files):
            return self._whole_difference(self._open(after), self._open(upto))
        before, now = set(old.files), set(new.files)
        gone, come = (
            self._rows_of(old, new.schema, before - now),
            self._rows_of(new, new.schema, now - before),
        )
        signs = np.concatenate([np.full(gone.num_rows, -1), np.full(come.num_rows, 1)]).astype(np.int64)
        return netted(pa.concat_tables([gone, come]), signs)

    def _before(self, version: int) -> DeltaSnapshot:
        """What the log says of a version since which something changed."""
        try:
            return self._at(version)
        except SketchError as error:
            if error.code != "no-such-version":
                raise
            raise SketchError("no-changes", error.message, hint="the sketch is captured again") from error

    def _rows_of(self, snapshot: DeltaSnapshot, schema: pa.Schema, files: set[str]) -> pa.Table:
        """The rows of some files of a version, with the columns of another."""
        import pyarrow as pa

        if not files:
            return schema.empty_table()
        try:
            whole = snapshot.is_partitioned or "://" in self.path
            found = self._fragments_of(snapshot, files) if whole else _read(sorted(files), snapshot.schema)
        except OSError as error:
            raise SketchError(
                "no-changes",
                f"{self.path} has lost files of old versions: {error}",
                hint="vacuum keeps them longer",
            ) from error
        return pa.concat_tables([each.select(schema.names).cast(schema) for each in found])

    def _rows_now(self, files: Sequence[str]) -> pa.Table:
        """The rows of some files, with the columns that the table has now."""
        import pyarrow as pa

        return pa.concat_tables(_read(files, self._at(int(self._newest.version())).schema))

    def _fragments_of(self, snapshot: DeltaSnapshot, files: set[str]) -> list[pa.Table]:
        """The rows of files that the wheel reads: they are elsewhere, or their directories have some values."""
        dataset = self._open(snapshot.version).to_pyarrow_dataset()
        return [
            plain(fragment.to_table(schema=dataset.schema))
            for fragment in dataset.get_fragments()
            if any(str(file).endswith(fragment.path) for file in files)
        ]

    def _whole_difference(self, old: Any, new: Any) -> tuple[pa.Table, Numbers]:
        import pyarrow as pa

        before, now = plain(old.to_pyarrow_table()), plain(new.to_pyarrow_table())
        signs = np.concatenate([np.full(before.num_rows, -1), np.full(now.num_rows, 1)]).astype(np.int64)
        return netted(pa.concat_tables([before, now.cast(before.schema)]), signs)

    def update(self, rows: pa.Table, signs: Numbers) -> int:
        deltalake = require_wheel()
        if not rows.num_rows:
            return self.version()
        for attempt in range(ATTEMPTS):
            try:
                if (signs > 0).all():
                    come = rows.take(np.repeat(np.arange(len(signs)), signs))
                    deltalake.write_deltalake(self.path, come, mode="append")
                    return self.version()
                return self._merged(rows, signs)
            except deltalake.exceptions.CommitFailedError as error:
                if attempt == ATTEMPTS - 1:
                    raise SketchError("commit-conflict", f"{self.path}: {error}", hint="try again") from error
                time.sleep(0.05 * (attempt + 1))
        raise AssertionError("unreachable")

    def cluster(self, session: SparkSession, attribute: str, files: int) -> int:
        """Sort the rows by an attribute, into about so many files; the version that has no other rows."""
        table = self._open()
        if attribute in table.metadata().partition_columns:
            raise SketchError(
                "not-clustered",
                f"{self.path} is partitioned by {attribute}",
                hint="its files are apart by it already: cluster it by another column",
            )
        stored = sum(block.size for block in self._described(attribute, int(table.version()))[0].blocks)
        fragments = table.to_pyarrow_dataset().get_fragments()
        encoded = sum(group.total_byte_size for fragment in fragments for group in fragment.row_groups)
        # The wheel counts encoded bytes before they are compressed; how many they are once sorted, nobody knows.
        table.optimize.z_order([attribute], target_size=max(1, math.isqrt(stored * encoded) // max(1, files)))
        return int(table.version())

    def _merged(self, rows: pa.Table, signs: Numbers) -> int:
        """Rows come and go in one commit: of a row that goes all copies are deleted, and those that stay inserted."""
        import pyarrow as pa

        table = self._open()
        there = self._copies(table, rows.filter(pa.array(signs < 0)))
        wanted = signs.copy()
        gone = np.flatnonzero(signs < 0)
        left = there + signs[gone]
        if (left < 0).any():
            missing = rows.take(gone[left < 0])
            raise SketchError(
                "row-not-there",
                f"{int(-left[left < 0].sum())} rows to delete are not in {self.path}, one of them"
                f" {missing.slice(0, 1).to_pylist()[0]}",
                hint="nothing was changed",
            )
        wanted[gone] = left
        come = rows.take(np.repeat(np.arange(len(wanted)), np.maximum(wanted, 0)))
        marked = pa.concat_tables([
            rows.take(gone).append_column("_goes", pa.array(np.ones(len(gone), bool))),
            come.append_column("_goes", pa.array(np.zeros(come.num_rows, bool))),
        ])  # fmt: skip
        same = " AND ".join(
            f'(t."{name}" {"=" if not column.null_count else "IS NOT DISTINCT FROM"} s."{name}")'
            for name, column in zip(rows.column_names, rows.take(gone).columns, strict=True)
        )
        values = {f'"{name}"': f's."{name}"' for name in rows.column_names}
        merge = table.merge(marked, f"s._goes AND {same}", source_alias="s", target_alias="t")
        merge = merge.when_matched_delete().when_not_matched_insert(values, predicate="NOT s._goes")
        merge.execute()
        return int(table.version())

    def _copies(self, table: Any, rows: pa.Table) -> Numbers:
        """How often each row (no two are alike) is in the table."""
        import pyarrow as pa

        dataset = table.to_pyarrow_dataset()
        try:
            found = dataset.to_table(filter=_around(rows, rows.column_names))
        except pa.ArrowNotImplementedError:
            # it cannot compare the strings of files that the wheel rewrote
            found = dataset.to_table(filter=_around(rows, _without_strings(rows.schema)))
        near = plain(found).select(rows.column_names).cast(rows.schema)
        numbers = row_numbers(pa.concat_tables([rows, near]))
        return np.bincount(numbers[rows.num_rows :], minlength=int(numbers.max(initial=-1)) + 1)[
            numbers[: rows.num_rows]
        ].astype(np.int64)


def _around(rows: pa.Table, names: Sequence[str]) -> Any:
    """A condition on these columns that all rows fulfil; `None` for no condition."""
    import pyarrow as pa
    import pyarrow.compute as pc

    condition = None
    for name in names:
        column = rows.column(name)
        if column.null_count or pa.types.is_nested(column.type) or pa.types.is_floating(column.type):
            continue
        found = pc.min_max(column).as_py()
        here = (pc.field(name) >= found["min"]) & (pc.field(name) <= found["max"])
        condition = here if condition is None else condition & here
    return condition


def _without_strings(schema: pa.Schema) -> list[str]:
    import pyarrow as pa

    return [
        each.name for each in schema if not (pa.types.is_string(each.type) or pa.types.is_binary(each.type))
    ]


def _read(files: Sequence[str], schema: pa.Schema) -> list[pa.Table]:
    """The rows of Parquet files on this machine, with the columns that their table had."""
    import pyarrow.dataset as ds

    form = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))
    return [plain(ds.dataset(list(files), schema=schema, format=form).to_table())]
