"""Arrow's types and ours.

A type of Arrow says most of what a column's type is. Two things only its values tell: whether times in nanoseconds
need them, and whether an interval of months, days and nanoseconds is one of months or one of the others.

pyarrow is imported by the functions here, not by the module.

>>> import pyarrow
>>> str(arrow_type(list_of(INT))), str(type_from_arrow(pyarrow.decimal128(12, 2)))
('list<element: int64>', 'decimal(12,2)')
>>> [str(column_type(pyarrow.array([count], pyarrow.timestamp("ns")))) for count in (1000, 1)]
['timestamp_ntz', 'timestamp_ntz_ns']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headwater.values.arrow_numbers import numbers_of
from headwater.values.misfit import Misfit
from headwater.values.types import (
    BINARY,
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    MOST_DIGITS,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)


def arrow_type(type: Type | None) -> Any:
    """The Arrow type of a column of `type`; Arrow's null type where it is not known."""
    import pyarrow as pa

    if type is None:
        return pa.null()
    if type.name == "list":
        return pa.list_(pa.field("element", arrow_type(type.element)))
    if type.name == "map":
        return pa.map_(*map(arrow_type, type.parts))
    if type.name == "struct":
        return pa.struct(
            [(name, arrow_type(part)) for name, part in zip(type.fields, type.parts, strict=True)]
        )
    if type.name == "decimal":
        return pa.decimal128(type.precision, type.scale)
    return {
        "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "binary": pa.binary(), "bool": pa.bool_(),
        "date": pa.date32(), "time": pa.time64("us"), "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"), "timestamp_ns": pa.timestamp("ns", "UTC"),
        "timestamp_ntz_ns": pa.timestamp("ns"), "interval": pa.duration("us"),
        "interval_months": pa.month_day_nano_interval(),
    }[type.name]  # fmt: skip


def type_from_arrow(arrow: Any) -> Type | None:
    """The type of columns that come as this Arrow type, as far as that tells; `None` for Arrow's null type.

    Raises `Misfit` for a type that no column holds.
    """
    from pyarrow import BaseExtensionType
    from pyarrow import types as kinds

    if isinstance(arrow, BaseExtensionType):
        if getattr(arrow, "extension_name", "") == "arrow.opaque":
            raise _unheld(arrow, "cast it to a type that other systems know, too")
        return type_from_arrow(arrow.storage_type)
    if kinds.is_dictionary(arrow) or kinds.is_run_end_encoded(arrow):
        return type_from_arrow(arrow.value_type)
    if is_list(arrow):
        return list_of(type_from_arrow(arrow.value_type))
    if kinds.is_map(arrow):
        return map_of(type_from_arrow(arrow.key_type), type_from_arrow(arrow.item_type))
    if kinds.is_struct(arrow):
        return _record_type(arrow)
    if kinds.is_decimal(arrow):
        return _decimal_type(arrow)
    if kinds.is_timestamp(arrow):
        return TIMESTAMP_NTZ if arrow.tz is None else TIMESTAMP
    return _plain_type(arrow)


def _plain_type(arrow: Any) -> Type | None:
    from pyarrow import types as kinds

    for test, type in (
        (kinds.is_null, None), (kinds.is_integer, INT), (kinds.is_floating, FLOAT), (is_string, STRING),
        (is_binary, BINARY), (kinds.is_boolean, BOOL), (kinds.is_date, DATE), (kinds.is_time, TIME),
        (kinds.is_duration, INTERVAL), (kinds.is_interval, INTERVAL),
    ):  # fmt: skip
        if test(arrow):
            return type
    raise _unheld(arrow, "cast it to one that docs/types.md names")


def _unheld(arrow: Any, hint: str) -> Misfit:
    return Misfit(f"the Arrow type {arrow} has no counterpart here", code="unsupported-type", hint=hint)


def _decimal_type(arrow: Any) -> Type:
    scale = max(0, arrow.scale)
    if scale > MOST_DIGITS:
        raise _unheld(arrow, f"cast it to one with at most {MOST_DIGITS} digits")
    return decimal_of(min(MOST_DIGITS, arrow.precision + max(0, -arrow.scale)), scale)


def _record_type(arrow: Any) -> Type:
    fields = [arrow.field(number) for number in range(arrow.num_fields)]
    if len({field.name for field in fields}) < len(fields):
        raise _unheld(arrow, "give the fields different names")
    return struct_of({field.name: type_from_arrow(field.type) for field in fields})


def is_string(arrow: Any) -> bool:
    """Whether it is one of the types of strings."""
    from pyarrow import types as kinds

    return bool(kinds.is_string(arrow) or kinds.is_large_string(arrow) or kinds.is_string_view(arrow))


def is_binary(arrow: Any) -> bool:
    """Whether it is one of the types of bytes."""
    from pyarrow import types as kinds

    sized = kinds.is_binary(arrow) or kinds.is_large_binary(arrow) or kinds.is_fixed_size_binary(arrow)
    return bool(sized or kinds.is_binary_view(arrow)) and not kinds.is_decimal(arrow)


def is_list(arrow: Any) -> bool:
    """Whether it is one of the types of lists."""
    from pyarrow import types as kinds

    plain = kinds.is_list(arrow) or kinds.is_large_list(arrow) or kinds.is_fixed_size_list(arrow)
    return bool(plain or str(arrow).startswith(("list_view<", "large_list_view<")))


def unwrapped(array: Any) -> Any:
    """The array without what only says how its values lie: dictionaries, runs, extensions of other types."""
    from pyarrow import BaseExtensionType
    from pyarrow import types as kinds

    while True:
        if isinstance(array.type, BaseExtensionType):
            array = array.storage
        elif kinds.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif kinds.is_run_end_encoded(array.type):
            import pyarrow.compute as pc

            array = pc.run_end_decode(array)
        elif (plain := _without_views(array.type)) is not None:
            array = array.cast(plain)
        else:
            return array


def _without_views(arrow: Any) -> Any:
    """The plain type of one whose values are views, for which Arrow has few functions; `None` if it is none."""
    import pyarrow as pa

    if pa.types.is_string_view(arrow):
        return pa.large_string()
    if pa.types.is_binary_view(arrow):
        return pa.large_binary()
    if str(arrow).startswith(("list_view<", "large_list_view<")):
        return pa.large_list(arrow.value_type)
    return None


# ------------------------------------------------------------------ what values tell


def column_type(column: Any, *, ours: bool = False) -> Type | None:
    """The type of an Arrow column, chunked or not, from its type and where need be its values.

    In a table of `ours`, made by `to_table`, Arrow's intervals are months, also if all are zero.
    """
    type = type_from_arrow(column.type)
    return refined(type, [unwrapped(chunk) for chunk in getattr(column, "chunks", [column])], ours=ours)


def refined(type: Type | None, chunks: Sequence[Any], *, ours: bool = False) -> Type | None:
    """The type, with nanoseconds where a value has some, and months where one has some (see `column_type`)."""
    if type is None or not chunks:
        return type
    arrow = chunks[0].type
    if type in (TIMESTAMP, TIMESTAMP_NTZ) and arrow.unit == "ns":
        return Type(f"{type.name}_ns") if any(map(_has_nanoseconds, chunks)) else type
    if type == INTERVAL and str(arrow) == "month_day_nano_interval":
        return INTERVAL_MONTHS if ours or any(map(_has_months, chunks)) else type
    if type.parts:
        parts = [
            refined(part, [unwrapped(children(chunk)[place]) for chunk in chunks], ours=ours)
            for place, part in enumerate(type.parts)
        ]
        return Type(type.name, tuple(parts), type.fields)
    return type


def children(chunk: Any) -> list[Any]:
    """The arrays of a nested array's parts, without what its nulls and its slice leave out (of maps: with)."""
    import pyarrow as pa

    if pa.types.is_struct(chunk.type):
        return list(chunk.flatten())
    return [chunk.keys, chunk.items] if pa.types.is_map(chunk.type) else [chunk.flatten()]


def _has_nanoseconds(chunk: Any) -> bool:
    import pyarrow as pa

    counts = numbers_of(chunk.drop_null().cast(pa.int64()))
    return bool(np.any(counts % 1000))


def _has_months(chunk: Any) -> bool:
    return any(value is not None and value.months for value in chunk.to_pylist())
