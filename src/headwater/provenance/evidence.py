"""What questions about provenance are asked of: rows, rules and the codec of a database, as they are now.

It is not a copy: between two versions of the database it says what holds, and nothing after the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.catalog import Catalog
from headwater.maintain.engine import Engine
from headwater.rules.checked import Checked, RelationInfo
from headwater.values.arguments import relation_name
from headwater.values.codec import Codec
from headwater.version.guard import Guard


@dataclass(frozen=True)
class Evidence:
    """A database that runs in this process, at a version."""

    engine: Engine
    catalog: Catalog
    version: int
    guard: Guard

    @property
    def codec(self) -> Codec:
        """From rows to codes and back."""
        return self.engine.workspace.codec

    @property
    def program(self) -> Checked:
        return self.catalog.program

    def info(self, name: str) -> RelationInfo:
        """A relation's columns, types and kind."""
        return self.catalog.explained(relation_name(name))
