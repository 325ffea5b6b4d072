"""The fragment of a row's value, as an expression of each dialect.

PostgreSQL has a binary search among thresholds (`width_bucket`), DuckDB a join with the nearest row of a table of
bounds (ASOF). Where there is neither, a balanced tree of CASEs takes as many comparisons, and a long text. (Spark's
search, which SQL cannot name, is in `spark_backend`.)

>>> fragment_expression(Ranges("x", (10, 20)), "duckdb")
'CASE WHEN "x" IS NULL THEN 3 ELSE CASE WHEN "x" < 20 THEN CASE WHEN "x" < 10 THEN 0 ELSE 1 END ELSE 2 END END'
>>> fragment_expression(Ranges("x", (10, 20)), "postgres")
'CASE WHEN "x" IS NULL THEN 3 ELSE WIDTH_BUCKET("x", ARRAY[10, 20]) END'
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from headwater.language.sql.rendering.scalars import constant_node
from headwater.sketch.ranges import Ranges, RangeValue


@lru_cache(maxsize=64)
def fragment_expression(ranges: Ranges, dialect: str) -> str:
    """What gives the fragment of a row in a SELECT from its table."""
    column = exp.column(exp.to_identifier(ranges.attribute, quoted=True))
    if dialect == "postgres" and ranges.bounds:
        bounds = exp.Array(expressions=[constant_node(bound) for bound in ranges.bounds])
        number: exp.Expr = exp.func("WIDTH_BUCKET", column.copy(), bounds)
    else:
        number = _tree(column, ranges.bounds, 0)
    null = exp.If(
        this=exp.Is(this=column, expression=exp.Null()), true=exp.Literal.number(ranges.null_fragment)
    )
    return exp.Case(ifs=[null], default=number).sql(dialect=dialect)


def nearest_fragment(ranges: Ranges, bounds: str) -> str:
    """The fragment of a row of `t` that DuckDB has joined with the nearest row of a table of bounds.

    >>> nearest_fragment(Ranges("x", (10, 20)), "b")
    'CASE WHEN t."x" IS NULL THEN 3 ELSE COALESCE(b._number, 0) END'
    """
    column = exp.column(exp.to_identifier(ranges.attribute, quoted=True), "t").sql(dialect="duckdb")
    return f"CASE WHEN {column} IS NULL THEN {ranges.null_fragment} ELSE COALESCE({bounds}._number, 0) END"


def _tree(column: exp.Expr, bounds: tuple[RangeValue, ...], first: int) -> exp.Expr:
    """The fragment of a value, of which those up to `first` are settled."""
    if not bounds:
        return exp.Literal.number(first)
    middle = len(bounds) // 2
    below = exp.LT(this=column.copy(), expression=constant_node(bounds[middle]))
    return exp.Case(
        ifs=[exp.If(this=below, true=_tree(column, bounds[:middle], first))],
        default=_tree(column, bounds[middle + 1 :], first + middle + 1),
    )
