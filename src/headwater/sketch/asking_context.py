"""What queries are asked in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from headwater.sketch.maintain.switches import Switches
from headwater.sketch.named_tables import NamedTables
from headwater.sketch.progress import shown
from headwater.sketch.proving import Prover
from headwater.sketch.query_book import QueryBook
from headwater.version.spectator import Screen


@dataclass(frozen=True)
class AskingContext:
    """Tables, the queries that were asked of them, how sketches are maintained, and where progress is shown."""

    tables: NamedTables
    book: QueryBook
    switches: Switches
    screen: Screen | None

    @cached_property
    def prover(self) -> Prover:
        return Prover(self.tables, self.book)

    def shown(self, doing: str) -> AbstractContextManager[None]:
        """Show how far the backend is with something that reads whole tables."""
        return shown(self.screen, doing, self.tables.backend.tasks)
