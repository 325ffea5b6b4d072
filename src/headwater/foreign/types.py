"""Our types as columns of other databases, and back."""

from __future__ import annotations

from typing import Any

from headwater.values.types import Type

FLOAT_DIGITS = 15
"""So many digits a float keeps, and SQLite has no other numbers with a point: of more, it holds the text."""


class NoSqlType(Exception):  # noqa: N818
    """No column of a database holds such values; says so."""


def _decimal_text() -> Any:
    from sqlalchemy import Text, TypeDecorator

    class DecimalText(TypeDecorator[Any]):
        """A decimal as its text."""

        impl = Text
        cache_ok = True

        def process_bind_param(self, value: Any, dialect: Any) -> str | None:
            return None if value is None else format(value, "f")

    return DecimalText()


def sql_type(type: Type | None) -> Any:
    """The column type of SQLAlchemy for one of ours; raises `NoSqlType`."""
    from sqlalchemy import (
        BigInteger,
        Boolean,
        Date,
        DateTime,
        Float,
        Interval,
        LargeBinary,
        Numeric,
        Text,
        Time,
    )

    if type is not None and type.name == "decimal":
        number = Numeric(type.precision, type.scale)
        return number if type.precision <= FLOAT_DIGITS else number.with_variant(_decimal_text(), "sqlite")
    kinds: dict[str, Any] = {
        "int": BigInteger(),
        "float": Float(53),
        "string": Text(),
        "bool": Boolean(),
        "date": Date(),
        "binary": LargeBinary(),
        "time": Time(),
        "timestamp": DateTime(timezone=True),
        "timestamp_ntz": DateTime(),
        "interval": Interval(),
    }
    if type is None or type.name not in kinds:
        raise NoSqlType(f"a column of {type or 'unknown type'} cannot be stored there")
    return kinds[type.name]
