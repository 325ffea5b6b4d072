"""Rows of a table by the values of some columns: what rows of a delta join with.

The text is made once for each way that an access is asked; the keys are values of the statement. Beside the keys
their least and greatest are said, since DuckDB skips blocks by these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.language.sql.algebra import Named, Operator, Project, Scan, Select
from headwater.language.sql.scalars import Attribute, Scalar

if TYPE_CHECKING:
    pass

MOST_BETWEEN = 4
"""How many numbers there may be between the least and the greatest key, for each key."""


@dataclass(frozen=True, eq=False)
class KeyLookup:
    """What is asked of an access again and again: these columns of rows that fulfil the condition and have, in each
    of the key columns, one of the keys given."""

    scan: Scan
    columns: tuple[Attribute, ...]
    condition: Scalar | None
    keys: tuple[Attribute, ...]

    @property
    def plan(self) -> Operator:
        """Its rows, whatever their keys."""
        source: Operator = self.scan if self.condition is None else Select(self.scan, self.condition)
        return Project(source, tuple(Named(each, each) for each in self.columns))

    def text(self, dialect: str, rendered: str, quoted: Callable[[str], str], dense: Sequence[bool]) -> str:
        """The statement, without its limit, over its rows as rendered. Keys of which nearly all between the least
        and the greatest are asked for (`dense`) are asked for by these two."""
        if dialect != "duckdb":
            said = [f"{quoted(key.name)} = ANY(%s)" for key in self.keys]
            rendered = (
                rendered.replace("%", "%%") if said else rendered
            )  # texts with places for values double it
            return f"SELECT * FROM ({rendered}) AS found{_where(said)}"
        joins, conditions, place = "", [], 1
        for number, (key, is_dense) in enumerate(zip(self.keys, dense, strict=True)):
            name = f"found.{quoted(key.name)}"
            conditions.append(f"{name} >= ${place} AND {name} <= ${place + 1}")
            place += 2
            if not is_dense:
                joins += f" JOIN (SELECT unnest(${place}) AS key) AS k{number} ON {name} = k{number}.key"
                place += 1
        return f"SELECT found.* FROM ({rendered}) AS found{joins}{_where(conditions)}"

    def values(self, dialect: str, keys: Sequence[list[Any]], dense: Sequence[bool]) -> list[Any]:
        """The values of the statement, for these keys, none of which is there twice."""
        if dialect != "duckdb":
            return list(keys)
        found: list[Any] = []
        for column, is_dense in zip(keys, dense, strict=True):
            found += [min(column), max(column)] if is_dense else [min(column), max(column), column]
        return found


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def is_dense(keys: list[Any]) -> bool:
    """Whether these keys, none of which is there twice, are most of the numbers between the least and the
    greatest."""
    return isinstance(keys[0], int) and max(keys) - min(keys) < MOST_BETWEEN * len(keys)
