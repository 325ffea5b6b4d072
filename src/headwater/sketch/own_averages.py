"""Averages that a database rounds in a way of its own, so that only it can say what they are to the last digit."""

from __future__ import annotations

from headwater.language.sql.algebra import AggregateCall
from headwater.language.sql.inference import type_of


def has_own_averages(call: AggregateCall, dialect: str) -> bool:
    """Whether a system does so with averages of a call's argument: PostgreSQL has all but those of floats in some
    digits, DuckDB those of decimals as floats of a kind that depends on what else a query asks for."""
    known = None if call.argument is None else type_of(call.argument)
    exact = ("int",) if dialect == "duckdb" else ()
    return dialect != "spark" and (known is None or known.name not in ("float", *exact))
