"""What the tables of a checkpoint are called, and the columns that they have beside those of their relation."""

from __future__ import annotations

from dataclasses import dataclass

RANKS = ("~rank", "~count", "~head_rank")
UNRANKED = -1
"""The rank of all rows of a relation whose strategy does not keep ranks."""
VISIBLE = "~visible"
TIME = "~time"

ROWS, SOFT = "rows", "soft"
"""Kinds of tables: a relation's rows, and its times of arrival."""


@dataclass(frozen=True)
class TableName:
    """What a table of a checkpoint is called: its kind, its relation, and the node that wrote it if it is a part.

    >>> str(TableName("rows", "link", 3)), TableName.parse("soft/seen")
    ('3|rows/link', TableName(kind='soft', relation='seen', node=None))
    """

    kind: str
    relation: str
    node: int | None = None

    @staticmethod
    def parse(text: str) -> TableName:
        """The name from its text."""
        node, bar, rest = text.partition("|")
        part = bool(bar) and node.isdecimal()
        kind, _, relation = (rest if part else text).partition("/")
        return TableName(kind, relation, int(node) if part else None)

    def of_node(self, node: int) -> TableName:
        """The name of a node's part of it."""
        return TableName(self.kind, self.relation, node)

    def __str__(self) -> str:
        return f"{'' if self.node is None else f'{self.node}|'}{self.kind}/{self.relation}"
