"""What a database asks of the place where its relations live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from headwater.catalog import Catalog
from headwater.local.explain import Facts
from headwater.maintain.engine import Engine
from headwater.maintain.goals import GoalStatistics, Means
from headwater.maintain.interrupts import Interrupts
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.plan.stored_rows import Key
from headwater.rules.checked import Premise
from headwater.store import Checkpoint, Store
from headwater.version.row_change import RowChange
from headwater.version.version import Version

if TYPE_CHECKING:
    import pyarrow as pa


class Runner(Protocol):
    """Relations and their views, a version at a time.

    What `define`, `learn` and `change` do joins the version that they are given. Matrices hold codes of the
    database's own codec.
    """

    interrupts: Interrupts
    here: bool
    """Whether the relations are in this process."""

    @property
    def engine(self) -> Engine:
        """The engine, if it is in this process; else refused."""
        ...

    def derivations(self, key: Key) -> Engine:
        """An engine that has the rows of all derivations of a row: the engine, or one made to explain that row."""
        ...

    def copied(self) -> Engine:
        """An engine of this process with all rows: the engine, or one that is made of base rows brought here."""
        ...

    def define(
        self,
        version: Version,
        catalog: Catalog,
        facts: Mapping[str, Ints],
        deletes: Mapping[str, Ints] = {},  # noqa: B006
    ) -> dict[str, RowChange]:
        """Take on a catalog, and rows that are there when its rules first run; first take out those of `deletes`."""
        ...

    def learn(self, version: Version, catalog: Catalog) -> None:
        """Go by what is known of types now; rows stay."""
        ...

    def change(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> Mapping[str, RowChange]:
        """Delete and insert rows of base relations, and all that follows from keys, lifetimes and sizes."""
        ...

    def proceed(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> Mapping[str, RowChange]:
        """Go on in the open version with a further transition, as `change`; return what this transition did."""
        ...

    def changes(self) -> Mapping[str, RowChange]:
        """What the open version has done so far, over all its transitions."""
        ...

    def count(self, name: str) -> int:
        """How many rows the relation has."""
        ...

    def stored(self, name: str) -> bool:
        """Whether the relation may have rows."""
        ...

    def matrix(self, name: str) -> Ints:
        """All rows."""
        ...

    def table(self, name: str, *, labels: bool = False) -> pa.Table:
        """All rows, as values; with a column of texts for each that can hold a labelled null if `labels` is asked."""
        ...

    def holds(self, name: str, rows: Ints) -> bool:
        """Whether the one given row is there."""
        ...

    def export(self, name: str, *, labels: bool = False) -> list[str] | None:
        """Parquet files that hold the rows, for Spark to read, with `labels` as of `table`; `None` where the rows are
        in this process."""
        ...

    def fanout(self, premise: Premise, bound: set[str]) -> float:
        """How many rows of a premise are expected to match one binding of these variables."""
        ...

    def evaluate(
        self, program: GoalProgram, facts: Mapping[str, Ints], means: Means
    ) -> tuple[Ints, GoalStatistics]:
        """The rows of a goal, over what is stored and `facts`; matrices hold codes of the codec of the means."""
        ...

    def facts(self) -> Facts:
        """Sizes and plans, for `explain`."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes allocated for rows and indexes."""
        ...

    def write_checkpoint(
        self, store: Store, version: int, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> None:
        """Write all that is here, and the tables given, as a checkpoint of the store."""
        ...

    def load(self, checkpoint: Checkpoint, catalog: Catalog) -> None:
        """Take all from a checkpoint of this catalog."""
        ...

    def must_move(self, inserts: Mapping[str, Ints]) -> bool:
        """Whether a checkpoint must be written before these rows can be inserted, because rows have to move."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...
