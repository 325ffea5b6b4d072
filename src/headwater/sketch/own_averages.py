"""Averages that a database rounds in a way of its own, so that only it can say what they are to the last digit."""

from __future__ import annotations

from headwater.language.sql.algebra import AggregateCall
from headwater.language.sql.inference import type_of

ROUNDED_ALIKE = {"postgres": ("float",), "duckdb": ("float", "int")}
"""Of databases that do so with some types, those with which they do not: PostgreSQL has all but averages of floats in
some digits, DuckDB those of decimals as floats of a kind that depends on what else a query asks for."""


def has_own_averages(call: AggregateCall, dialect: str) -> bool:
    """Whether a system does so with averages of a call's argument."""
    known = None if call.argument is None else type_of(call.argument)
    return dialect in ROUNDED_ALIKE and (known is None or known.name not in ROUNDED_ALIKE[dialect])
