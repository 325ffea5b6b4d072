"""Text to query: sqlglot reads the text, `binding` makes a plan of what it read.

>>> from headwater.language.sql.tables import table_schema
>>> tables = {"sales": table_schema("sales", "brand string, price int, sold int")}
>>> query = parse("SELECT brand, sum(price * sold) AS rev FROM sales GROUP BY brand", tables)
>>> [column.name for column in query.columns]
['brand', 'rev']
>>> parse("SELECT brnd FROM sales", tables)
Traceback (most recent call last):
headwater.errors.SqlError: error[unknown-column]: there is no column brnd
 --> <text>:1:8
  |
1 | SELECT brnd FROM sales
  |        ^^^^
  = hint: did you mean brand?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.errors import SqlError
from headwater.language.source import SourceText
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.binding.query import QueryBinder
from headwater.language.sql.binding.text import SqlText
from headwater.language.sql.folding import fold_constants
from headwater.language.sql.join_order import connect_joins
from headwater.language.sql.misspelled import misspelled
from headwater.language.sql.needed import exp
from headwater.language.sql.pushdown import push_conditions
from headwater.language.sql.query import SqlQuery
from headwater.language.sql.tables import TableSchemas

if TYPE_CHECKING:
    from sqlglot.errors import ParseError

DIALECTS = ("spark", "duckdb", "postgres")


def parse(text: str, tables: TableSchemas, dialect: str = "spark", name: str = "<text>") -> SqlQuery:
    """The query that a text in a dialect says over some tables."""
    if dialect not in DIALECTS:
        raise SqlError(
            "unknown-dialect", f"there is no dialect {dialect}", hint=f"one of {', '.join(DIALECTS)}"
        )
    if not isinstance(text, str):
        raise SqlError("sql-syntax", f"a query is a text, not {text!r}", hint="SELECT ... FROM ...")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SqlError("sql-syntax", "the query has half of a surrogate pair", hint="valid Unicode") from None
    source = SourceText(name, text)
    context = QueryContext(SqlText(source, dialect), tables)
    try:
        bound = QueryBinder(context, {}).bind(_tree(source, dialect))
        plan = connect_joins(push_conditions(fold_constants(bound)))
    except RecursionError:
        raise SqlError("sql-too-deep", "the query is nested too deeply") from None
    if not plan.attributes:
        raise SqlError("wrong-columns", "the query has no columns", hint="SELECT something FROM ...")
    return SqlQuery(plan, tuple(context.parameters.values()), dialect, source)


def _tree(source: SourceText, dialect: str) -> exp.Expr:
    """What sqlglot makes of the one query in a text."""
    import sqlglot
    from sqlglot.errors import ParseError, TokenError

    try:
        trees = [tree for tree in sqlglot.parse(source.text, read=dialect) if tree is not None]
    except ParseError as problem:
        raise _syntax_error(source, problem) from None
    except TokenError as problem:
        raise SqlError("sql-syntax", str(problem).splitlines()[0]) from None
    if len(trees) != 1:
        raise SqlError("sql-syntax", f"one query is asked for, there are {len(trees)}")
    return trees[0]


def _syntax_error(source: SourceText, problem: ParseError) -> SqlError:
    """The first thing that sqlglot says, with its place; or a word that looks like a keyword, and that one's."""
    first = problem.errors[0] if problem.errors else {}
    line, column = first.get("line"), first.get("col")
    if not isinstance(line, int) or not isinstance(column, int):
        return SqlError("sql-syntax", str(first.get("description") or problem).splitlines()[0].rstrip("."))
    highlighted = str(first.get("highlight") or "")
    before = str(first.get("start_context") or "")
    start = max(0, source.text.find(before + highlighted) + len(before))
    end = start + max(1, len(highlighted))
    meant = misspelled(source.text, end)
    if meant is not None:
        at, word, keyword = meant
        return SqlError(
            "sql-syntax",
            f"the query cannot be read: {word} is no keyword",
            place=source.place(at, at + len(word)),
            hint=f"did you mean {keyword}?",
        )
    message = f"the query cannot be read on at {highlighted}" if highlighted else "the query ends too early"
    if "missing" in str(first.get("description")):
        message = f"something is missing at {highlighted}" if highlighted else "the query ends too early"
    return SqlError(
        "sql-syntax",
        message,
        place=source.place(start, end),
        hint="what is understood is in docs/sketches.md, under Queries",
    )
