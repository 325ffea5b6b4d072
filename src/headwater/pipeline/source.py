"""What a source is: something that is asked, time and again, what has changed since it was last asked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from headwater.files.missing import RefusedRow
from headwater.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from headwater.database import Database


@dataclass(frozen=True)
class Batch:
    """Changes of one relation, and how far the source is read once they are applied."""

    insert: pa.Table | None
    delete: pa.Table | None
    mark: Any
    read: int = 0
    notes: tuple[str, ...] = field(default=())  # costs that do not follow the change
    refused: tuple[RefusedRow, ...] = ()  # rows that were left out
    quarantine: str | None = None  # where they are to be written

    @property
    def changes(self) -> int:
        """How many rows come and go."""
        return sum(table.num_rows for table in (self.insert, self.delete) if table is not None)


class Source(Protocol):
    """A source that is asked. Streams, which call us, are in `stream`."""

    @property
    def relation(self) -> str:
        """The base relation that it fills."""
        ...

    @property
    def name(self) -> str:
        """The name of its mark: the same as long as it is the same source."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the relation holds what this source holds and nothing else."""
        ...

    def behind(self, mark: Any) -> str:
        """What is there and not read yet, in words; nothing if nothing is, or nobody can tell without Spark."""
        ...

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What has changed since the mark (`None`: never read); `None` if nothing has."""
        ...


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What every source may say: its name, and which rows it takes, and how."""

    name: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    on_null: str = "fail"
    nan: str = "value"


class Unseen:
    """A source that cannot tell what is new without reading it."""

    def behind(self, mark: Any) -> str:
        return ""


def commits_behind(commits: int) -> str:
    """How far a reader is behind, if it is."""
    return counted(commits, "commit") if commits > 0 else ""


def described(kind: str, what: str, name: str | None) -> str:
    """A source's name: the one given, or one from what it reads."""
    return name if name is not None else f"{kind}:{what}"


def located(path: str) -> str:
    """A path as it is meant here: Spark would take a relative one from where its Java was started.

    >>> located("s3://bucket/links"), located("/data/links")
    ('s3://bucket/links', '/data/links')
    """
    return path if re.match(r"[A-Za-z][\w+.-]*:", path) else os.path.abspath(path)


def known(mark: Any) -> Mapping[str, Any]:
    """A mark as a mapping; empty if there is none."""
    return mark if isinstance(mark, Mapping) else {}
