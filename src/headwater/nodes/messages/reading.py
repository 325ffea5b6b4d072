"""Rows that nodes hold, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.local.explain import RelationFacts, ViewFacts
from headwater.nodes.messages.message import Command, PackedRows, Reply


@dataclass(frozen=True)
class FetchRows(Command["FetchedRows"]):
    """Tell the rows of a relation that the node holds: all, or those that have one of the combinations of values in
    some columns."""

    relation: str
    columns: tuple[int, ...] = ()
    values: PackedRows | None = None


@dataclass(frozen=True)
class FetchedRows(Reply):
    """`None` if another node tells them."""

    rows: PackedRows | None


@dataclass(frozen=True)
class Count(Command["Counted"]):
    """Count the rows of a relation."""

    relation: str


@dataclass(frozen=True)
class Counted(Reply):
    """Those that no other node counts."""

    rows: int


@dataclass(frozen=True)
class Find(Command["Found"]):
    """Look for a row of a relation."""

    relation: str
    row: PackedRows


@dataclass(frozen=True)
class Found(Reply):
    """Whether it is there."""

    found: bool


@dataclass(frozen=True)
class Describe(Command["Description"]):
    """Tell sizes and join orders."""


@dataclass(frozen=True)
class Description(Reply):
    """Of the node's own parts, and its own orders."""

    relations: dict[str, RelationFacts]
    views: list[ViewFacts]


@dataclass(frozen=True)
class Export(Command["Exported"]):
    """Write the rows of a relation as a Parquet file into a folder, for Spark to read."""

    relation: str
    folder: str
    labels: bool = False


@dataclass(frozen=True)
class Exported(Reply):
    """The file; `None` if another node has written them."""

    file: str | None
