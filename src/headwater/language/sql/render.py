"""Plan to text: the SQL of a system that means what the plan means.

>>> from headwater.language.sql.parser import parse
>>> from headwater.language.sql.tables import table_schema
>>> tables = {"sales": table_schema("sales", "brand string, price int")}
>>> query = parse("SELECT brand, max(price) AS top FROM sales GROUP BY brand HAVING count(*) > 2", tables)
>>> print(render(query.plan, "duckdb"))
SELECT t1."brand" AS "brand", MAX(t1."price") AS "top" FROM "sales" AS t1 GROUP BY t1."brand" HAVING COUNT(*) > 2
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.language.sql.algebra import Operator
from headwater.language.sql.needed import exp
from headwater.language.sql.rendering.blocks import Rendering
from headwater.language.sql.rendering.sets import sets_in_dialect


def render(
    plan: Operator, dialect: str = "spark", sources: Mapping[str, str] | None = None, *, pretty: bool = False
) -> str:
    """The SQL of a dialect for a plan; `sources` has what its tables are called there, if not by their names."""
    named = {
        table: exp.maybe_parse(said, into=exp.Table, dialect=dialect)
        for table, said in (sources or {}).items()
    }
    tree = sets_in_dialect(Rendering(named).query(plan), dialect)
    return tree.sql(dialect=dialect, pretty=pretty)
