"""Constants of a text: numbers, strings, dates and times, intervals."""

from __future__ import annotations

import datetime
from decimal import Decimal, InvalidOperation

from headwater.language.sql.binding.text import SqlText
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import Days, Value
from headwater.values.record import Months
from headwater.values.types import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal_of,
)

MONTHS_IN = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
DAYS_IN = {"WEEK": 7, "DAY": 1}
SPANS = {
    "HOUR": datetime.timedelta(hours=1),
    "MINUTE": datetime.timedelta(minutes=1),
    "SECOND": datetime.timedelta(seconds=1),
}
NAMES: dict[str, Type] = {
    "BOOLEAN": BOOL,
    "TINYINT": INT,
    "SMALLINT": INT,
    "INT": INT,
    "BIGINT": INT,
    "FLOAT": FLOAT,
    "DOUBLE": FLOAT,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "CHAR": STRING,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP_NTZ,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
    "DATETIME": TIMESTAMP_NTZ,
}
"""By sqlglot's names: it takes Spark's TIMESTAMP for TIMESTAMPTZ, and PostgreSQL's for one without a zone."""


def named_type(node: exp.DataType, text: SqlText) -> Type:
    """The type that a text names."""
    name = node.this.name if hasattr(node.this, "name") else str(node.this)
    if name == "DECIMAL":
        digits = [int(parameter.name) for parameter in node.expressions]
        precision, scale = (digits + [0])[:2] if digits else (10, 0)
        return decimal_of(precision, scale)
    if name not in NAMES:
        raise text.unsupported(f"the type {text.words(node)}", node)
    return NAMES[name]


def number(node: exp.Literal, text: SqlText) -> Value:
    """A number: whole ones are ints, with a point decimals, with an exponent floats, as in Spark."""
    said = node.name
    place = text.place(node)
    if "e" in said.lower():
        return Value(float(said), FLOAT, place)
    if "." not in said:
        return Value(int(said), INT, place)
    try:
        value = Decimal(said)
    except InvalidOperation:
        raise text.refuse("sql-syntax", f"{said} is not a number", node) from None
    digits = len(said.replace(".", "").lstrip("0")) or 1
    scale = len(said.partition(".")[2])
    return Value(value, decimal_of(max(digits, scale), scale), place)


def moment(said: str, type: Type, node: exp.Expr, text: SqlText) -> Value:
    """`DATE '1994-01-01'` and `TIMESTAMP '...'`."""
    try:
        if type == DATE:
            return Value(datetime.date.fromisoformat(said.strip()), DATE, text.place(node))
        return Value(datetime.datetime.fromisoformat(said.strip()), type, text.place(node))
    except ValueError:
        raise text.refuse("sql-syntax", f"{said!r} is not a {type}", node, "write it as 2026-01-31") from None


def interval(node: exp.Interval, text: SqlText) -> Value:
    """`INTERVAL '3' MONTH`: months, days, or a stretch of time."""
    unit = node.unit
    if not isinstance(unit, exp.Var) or not isinstance(node.this, exp.Literal | exp.Neg):
        raise text.unsupported(
            f"the interval {text.words(node)}", node, "write INTERVAL '3' MONTH, or DAY, HOUR ..."
        )
    said = node.this.this.name if isinstance(node.this, exp.Neg) else node.this.name
    try:
        amount = Decimal(said.strip()) * (-1 if isinstance(node.this, exp.Neg) else 1)
    except InvalidOperation:
        raise text.refuse("sql-syntax", f"{said!r} is not a number of {unit.name.lower()}s", node) from None
    name = unit.name.upper().removesuffix("S")
    if name in MONTHS_IN and amount == int(amount):
        return Value(Months(int(amount) * MONTHS_IN[name]), INTERVAL_MONTHS, text.place(node))
    if name in DAYS_IN and amount == int(amount):
        return Value(Days(int(amount) * DAYS_IN[name]), INTERVAL, text.place(node))
    if name in SPANS:
        return Value(SPANS[name] * float(amount), INTERVAL, text.place(node))
    raise text.unsupported(f"the interval {text.words(node)}", node)
