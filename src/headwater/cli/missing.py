"""Missing values in files, as `--on-null` and `--nan` have it: before a version is made, and with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.cli.outcome import note
from headwater.cli.state import Described
from headwater.files.contents import Contents
from headwater.files.missing import RefusedRow, complete, look, nan_is_null, on_null, required_columns
from headwater.files.quarantine import put_aside
from headwater.values.sources import keeping_nulls
from headwater.wording import counted


@dataclass
class MissingValues:
    """What the options say, and the rows that were left out by it."""

    said: str
    nan: str
    refused: list[RefusedRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._way = on_null(self.said, "--on-null")

    def read(self, described: Described, contents: Sequence[Contents], tables: Sequence[Any]) -> list[Any]:
        """The tables of files, with missing values where they are; refuses the first row without one if it is to."""
        found = []
        for one, table in zip(contents, tables, strict=True):
            table = nan_is_null(table) if self.nan == "null" else table
            if self._way.how == "keep" and hasattr(table, "replace_schema_metadata"):
                table = keeping_nulls(table)
            self.refused += look(one, table, required_columns(described.info(one.relation)), self._way)
            found.append(table)
        return found

    def taken(self, described: Described, relation: str, table: Any) -> Any:
        """A table without the rows that were refused."""
        return complete(table, required_columns(described.info(relation))) if self.refused else table

    def put_aside(self, version: int) -> None:
        """Say what was left out of the version that is about to be made, and write it where it is to be."""
        if not self.refused:
            return
        sources = list(dict.fromkeys(row.source for row in self.refused))
        words = f"{counted(len(self.refused), 'row')} of {', '.join(sources)} left out: a value is missing"
        if self._way.path is not None:
            put_aside(Path(self._way.path), version, self.refused)
            words += f"; see {self._way.path}"
        note(words)
