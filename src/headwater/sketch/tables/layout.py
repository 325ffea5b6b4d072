"""How the rows of a table lie in blocks that a reader can skip: row groups of Parquet, files of Delta, partitions.

A block says between which values of an attribute its rows are, and whether it has NULLs. What a sketch lets a
reader skip is known beforehand from that: a block is read if one of its fragments is in the sketch. Where rows of
every fragment are in every block, nothing is skipped however small the sketch is: sketches pay on tables that are
clustered.

>>> from headwater.sketch.ranges import Ranges
>>> ranges = Ranges("x", (10, 20, 30))
>>> sorted_rows = TableLayout("x", (Block(5, 100, 0, 9), Block(5, 100, 10, 19), Block(5, 100, 20, 45)))
>>> sorted_rows.share_read(ranges, {1}), sorted_rows.share_read(ranges, {0, 3})
(0.3333333333333333, 0.6666666666666666)
>>> TableLayout("x", (Block(5, 100, 0, 44), Block(10, 200, 2, 41))).share_read(ranges, {1})
1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import SketchPart


@dataclass(frozen=True)
class Block:
    """Rows that are read or skipped together. `known` is false where nothing tells which values it has."""

    rows: int
    size: int
    lower: object = None
    upper: object = None
    nulls: bool = False
    known: bool = True

    def fragments(self, ranges: Ranges) -> set[int] | None:
        """The fragments that its rows can be in; `None` for any."""
        if not self.known:
            return None
        found = set(ranges.overlapping(self.lower, self.upper)) if self.lower is not None else set()
        if isinstance(self.lower, float):
            found.add(ranges.fragment(math.nan))  # statistics say nothing of NaN
        return found | {ranges.null_fragment} if self.nulls else found


@dataclass(frozen=True)
class TableLayout:
    """The blocks of a table, as an attribute sees them."""

    attribute: str
    blocks: tuple[Block, ...]

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    def read(self, ranges: Ranges, fragments: Collection[int]) -> tuple[Block, ...]:
        """The blocks that a reader of these fragments cannot skip."""
        wanted = set(fragments)
        found = ((block, block.fragments(ranges)) for block in self.blocks)
        return tuple(block for block, own in found if own is None or own & wanted)

    def share_read(self, ranges: Ranges, fragments: Collection[int]) -> float:
        """Which share of the rows lies in blocks that must be read."""
        return sum(block.rows for block in self.read(ranges, fragments)) / max(1, self.rows)

    def depth(self, ranges: Ranges) -> float:
        """In which share of the blocks a fragment is found, on average: near 0 if clustered, 1 if not at all."""
        counted = [0] * ranges.count
        for block in self.blocks:
            own = block.fragments(ranges)
            for number in range(ranges.count) if own is None else own:
                counted[number] += 1
        there = [count for count in counted if count]
        return sum(there) / len(there) / len(self.blocks) if there else 1.0


def files_needed(
    described: Callable[[str], tuple[TableLayout, tuple[str, ...]]], parts: Sequence[SketchPart]
) -> set[str] | None:
    """The files that may have rows of all parts of a sketch; `None` for all files. `described` gives the blocks of a
    table as an attribute sees them, and the file that each is in."""
    wanted: set[str] | None = None
    for part in parts:
        layout, files = described(part.ranges.attribute)
        read = set(map(id, layout.read(part.ranges, part.fragments)))
        mine = {file for file, block in zip(files, layout.blocks, strict=True) if id(block) in read}
        wanted = mine if wanted is None else wanted & mine
    return wanted


def parquet_blocks(path: Path | str, attribute: str, partition: Mapping[str, object]) -> list[Block]:
    """The row groups of one Parquet file; `partition` has the values that its directory says."""
    import pyarrow.parquet as pq

    described = pq.read_metadata(path)
    column = next(
        (
            number
            for number in range(described.num_columns)
            if described.schema.column(number).path == attribute
        ),
        None,
    )
    groups = (described.row_group(number) for number in range(described.num_row_groups))
    if attribute in partition:
        value = partition[attribute]
        return [
            Block(group.num_rows, group.total_byte_size, value, value, nulls=value is None)
            for group in groups
        ]
    return [_block(group, column) for group in groups]


def _block(group: Any, column: int | None) -> Block:
    told = None if column is None else group.column(column).statistics
    if told is None or (not told.has_min_max and told.null_count != group.num_rows):
        return Block(group.num_rows, group.total_byte_size, known=False)
    nulls = not told.has_null_count or told.null_count > 0
    if not told.has_min_max:
        return Block(group.num_rows, group.total_byte_size, nulls=nulls)
    return Block(group.num_rows, group.total_byte_size, told.min, told.max, nulls)
