"""Files as snapshots: a file or a folder of CSV, Parquet, JSON lines or ORC.

They are not read at all if none of them has changed. What is wrong with one is said by row: a record that is none,
bytes that are no UTF-8 (which Spark would silently take for another character), an option that Spark would ignore.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.errors import PipelineError
from headwater.pipeline.fields import check_fields
from headwater.pipeline.incomplete import malformed_row
from headwater.pipeline.projection import Projection
from headwater.pipeline.refusals import refusals
from headwater.pipeline.snapshot import compare
from headwater.pipeline.source import Batch, Choice, described, known, located

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from headwater.database import Database

FORMATS = ("csv", "parquet", "json", "orc")
_TICK = 0.05  # seconds: a file this young may be written again without its time of change being another one
_COARSE = 2.0  # the same where file systems keep whole seconds
_CSV_OPTIONS = (
    "sep", "delimiter", "encoding", "charset", "quote", "escape", "comment", "header", "inferSchema",
    "preferDate", "enforceSchema", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "nullValue", "nanValue",
    "positiveInf", "negativeInf", "dateFormat", "timestampFormat", "timestampNTZFormat", "maxColumns",
    "maxCharsPerColumn", "mode", "columnNameOfCorruptRecord", "multiLine", "charToEscapeQuoteEscaping",
    "samplingRatio", "emptyValue", "locale", "lineSep", "unescapedQuoteHandling", "compression", "pathGlobFilter",
    "recursiveFileLookup", "modifiedBefore", "modifiedAfter",
)  # fmt: skip
"""What Spark knows for CSV; it ignores all others, in silence."""


@public_class
@dataclass(frozen=True)
class Files(Choice):
    """A file or a folder of files: CSV (with a header, unless options say otherwise), Parquet, JSON lines, ORC."""

    relation: str
    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None
    whole = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.format not in FORMATS:
            raise PipelineError(
                "unknown-format", f"no format {self.format!r}", hint=f"one of {', '.join(FORMATS)}"
            )
        if self.header is not None and self.format != "csv":
            raise PipelineError(
                "bad-source", f"{self.relation}: only CSV files have a header", hint="leave header out"
            )
        self._check_options()
        object.__setattr__(self, "name", described(self.format, self.path, self.name or None))

    def _check_options(self) -> None:
        """Refuse an option that is nearly one of Spark's, which would ignore it."""
        known = {option.lower(): option for option in _CSV_OPTIONS}
        for option in self.options if self.format == "csv" else ():
            near = get_close_matches(option.lower(), known, n=1, cutoff=0.8)
            if near and option.lower() not in known:
                raise PipelineError(
                    "unknown-option",
                    f"{self.relation}: Spark has no option {option} for CSV",
                    hint=f"did you mean {known[near[0]]}?",
                )

    @cached_property
    def _options(self) -> dict[str, str]:
        header = {"header": "true", "mode": "FAILFAST"} if self.format == "csv" else {}
        if self.header is not None:
            header["header"] = str(self.header).lower()
        lines = {"mode": "FAILFAST"} if self.format == "json" else {}
        return {**header, **lines, **self.options}

    def behind(self, mark: Any) -> str:
        """Whether the files are others than those that were read."""
        files = digest(fingerprint(self.path))
        return "changed files" if files is not None and files != known(mark).get("files") else ""

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What differs between the files and the relation; nothing if the files are the same as before."""
        before = known(mark)
        files = digest(settled(self.path))
        if files is not None and files == before.get("files"):
            return None
        reader = session.read.format(self.format).options(**self._options)
        with refusals(self.name):
            frame = reader.load(located(self.path))
        projection = Projection.of(self, text=self.format == "csv")
        more = {} if files is None else {"files": files}
        try:
            batch = compare(session, database, self.relation, frame, projection, self.name, before, more)
        except PipelineError as error:
            if error.code == "bad-row":
                raise malformed_row(reader, frame.schema, located(self.path), error, self.name) from None
            raise
        if batch is not None and batch.insert is not None and self.format in ("csv", "json"):
            self._check_characters(batch.insert)
        return batch

    def _check_characters(self, table: pa.Table) -> None:
        """Refuse files that are no UTF-8, once a row has the character that Spark reads for such bytes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if {option.lower() for option in self.options} & {"encoding", "charset"}:
            return
        texts = [column for column in table.columns if pa.types.is_string(column.type)]
        if not any(pc.any(pc.match_substring(column, "\ufffd")).as_py() for column in texts):
            return
        place = Path(self.path.removeprefix("file://"))
        for name, *_ in fingerprint(self.path) or ():
            file = place / name if name else place
            try:
                file.read_bytes().decode()
            except UnicodeDecodeError as error:
                raise PipelineError(
                    "not-utf8",
                    f"{self.name}: byte {error.start + 1} of {file} is not UTF-8",
                    hint='say what it is: options = { encoding = "ISO-8859-1" }',
                ) from None
            except OSError:
                continue  # gone, or to be read by Spark alone


def digest(files: list[list[Any]] | None) -> str | None:
    """A fingerprint in one word."""
    return None if files is None else hashlib.sha256(repr(files).encode()).hexdigest()


def settled(path: str) -> list[list[Any]] | None:
    """The fingerprint, taken when no file in it can change any more without changing it; `None` if some can."""
    files = fingerprint(path)
    age = time.time() - max((changed for *_, changed in files or ()), default=0) / 1e9
    if files is None or age < _COARSE and all(changed % 10**9 == 0 for *_, changed in files):
        return None
    if age < _TICK:
        time.sleep(_TICK - max(0.0, age))
        return settled(path)
    return files


def fingerprint(path: str) -> list[list[Any]] | None:
    """Name, size and time of change of all files that Spark would read; `None` where we cannot look.

    Spark leaves out what begins with `_` or `.`; so do we, or its own bookkeeping would count as a change.
    """
    place = Path(path.removeprefix("file://"))
    if "://" in path and not path.startswith("file://") or any(mark in path for mark in "*?[{"):
        return None
    if place.is_file():
        state = place.stat()
        return [["", state.st_size, state.st_mtime_ns]]
    if not place.is_dir():
        return None
    found = []
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not _hidden(name)]
        for name in names:
            if not _hidden(name):
                file = Path(folder) / name
                state = file.stat()
                found.append([file.relative_to(place).as_posix(), state.st_size, state.st_mtime_ns])
    return sorted(found)


def _hidden(name: str) -> bool:
    return name.startswith(".") or name.startswith("_") and "=" not in name
