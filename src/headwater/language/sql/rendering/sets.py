"""Sets of integers in the words of each system: arrays in Spark and DuckDB, texts like `3,17` in PostgreSQL.

A text may name a number twice: whoever reads it makes a set of it.
"""

from __future__ import annotations

from headwater.language.sql.needed import exp


class SetOf(exp.Expression, exp.AggFunc):
    """Aggregate: the set of the integers of a column, NULL left out."""


class UnionOf(exp.Expression, exp.AggFunc):
    """Aggregate: the union of a column's sets."""


class Singleton(exp.Expression, exp.Func):
    """The set of one integer; of NULL the empty set."""


_FORMS: dict[str, dict[type[exp.Expr], str]] = {
    "spark": {
        SetOf: "COLLECT_SET({0})",
        UnionOf: "ARRAY_DISTINCT(FLATTEN(COLLECT_LIST({0})))",
        Singleton: "ARRAY_COMPACT(ARRAY({0}))",
    },
    "duckdb": {
        SetOf: "LIST(DISTINCT {0}) FILTER (WHERE {0} IS NOT NULL)",
        UnionOf: "LIST_DISTINCT(FLATTEN(LIST({0}) FILTER (WHERE {0} IS NOT NULL)))",
        Singleton: "LIST_DISTINCT([{0}])",
    },
    "postgres": {
        SetOf: "STRING_AGG(DISTINCT CAST({0} AS TEXT), ',')",
        UnionOf: "STRING_AGG({0}, ',')",
        Singleton: "CAST({0} AS TEXT)",
    },
}


def sets_in_dialect(tree: exp.Expr, dialect: str) -> exp.Expr:
    """The tree with sets as a dialect has them."""
    forms = _FORMS[dialect]

    def change(node: exp.Expr) -> exp.Expr:
        form = forms.get(type(node))
        return exp.Var(this=form.format(node.this.sql(dialect=dialect))) if form else node

    return tree.transform(change)
