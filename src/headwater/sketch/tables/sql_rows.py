"""Rows into a database and out of it: statements whose rows are Arrow tables, given rows as temporary tables, and
tables with the fragments of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headwater.errors import SketchError
from headwater.language.sql.scalars import Attribute
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import fragment_column
from headwater.sketch.tables.direct import DirectConnection
from headwater.sketch.tables.fragment_sql import fragment_expression, nearest_fragment
from headwater.sketch.tables.sql_statements import asked, do, quoted, quoted_column
from headwater.values.arrow_types import arrow_type
from headwater.values.types import INT

if TYPE_CHECKING:
    import pyarrow as pa

_BPCHAR = 1042
"""PostgreSQL's number of the type of padded strings: they come without blanks at their end."""
_BEYOND_SIGNED = 2**63
"""The first integer that only DuckDB's unsigned type has."""
_POSTGRES = {
    "int64": "bigint", "int32": "integer", "int16": "smallint", "int8": "smallint", "double": "double precision",
    "float": "real", "bool": "boolean", "date32[day]": "date", "binary": "bytea",
}  # fmt: skip


def fetched(
    connection: Any, text: str, attributes: Sequence[Attribute], values: Sequence[Any] = ()
) -> pa.Table:
    """The rows of a statement, columns named as these attributes."""
    import pyarrow as pa

    if isinstance(connection, DirectConnection):
        relation = connection.raw.sql(text, params=list(values)) if values else connection.raw.sql(text)
        return relation.to_arrow_table().rename_columns([each.name for each in attributes])
    found = asked(connection, text, values)
    padded = [column.type_code == _BPCHAR for column in found.cursor.description]
    rows = found.fetchall()
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(attributes)
    columns = [
        tuple(cell if cell is None else cell.rstrip(" ") for cell in cells) if bare else cells
        for cells, bare in zip(columns, padded, strict=True)
    ]
    arrays = [_array(cells, each) for cells, each in zip(columns, attributes, strict=True)]
    return pa.Table.from_arrays(arrays, names=[each.name for each in attributes])


@contextmanager
def sources(
    dialect: str,
    connection: Any,
    given: Mapping[str, pa.Table] | None,
    fragments: Mapping[Slot, Ranges] | None,
) -> Iterator[dict[str, str]]:
    """Given rows and annotated tables, as temporary tables and views with names of their own."""
    made: dict[str, str] = {}
    undo: list[str] = []
    for number, (name, rows) in enumerate((given or {}).items()):
        made[name] = quoted(staged(connection, rows, f"headwater_given_{number}"))
        undo.append(f"DROP TABLE {made[name]}")
    for number, table in enumerate(sorted({slot.table for slot in fragments or {}})):
        made[table] = quoted(f"headwater_fragments_{number}")
        own = [ranges for slot, ranges in (fragments or {}).items() if slot.table == table]
        columns, joins = [], ""
        for place, ranges in enumerate(own):
            if dialect == "duckdb" and ranges.bounds:
                bounds = staged(connection, _numbered_bounds(ranges), f"headwater_bounds_{number}_{place}")
                undo.append(f"DROP TABLE {bounds}")
                joins += f" ASOF LEFT JOIN {bounds} ON t.{quoted_column(ranges.attribute)} >= {bounds}._lower"
                said = nearest_fragment(ranges, bounds)
            else:
                said = fragment_expression(ranges, dialect)
            columns.append(f"{said} AS {quoted_column(fragment_column(Slot(table, ranges.attribute)))}")
        shown = ", ".join(["t.*", *columns])
        do(
            connection,
            f"CREATE TEMPORARY VIEW {made[table]} AS SELECT {shown} FROM {quoted(table)} AS t{joins}",
        )
        undo.insert(0, f"DROP VIEW {made[table]}")
    yield made
    for statement in undo:
        do(connection, statement)


def staged(connection: Any, rows: pa.Table, name: str) -> str:
    """Rows as a temporary table."""
    if isinstance(connection, DirectConnection):
        raw = connection.raw
        raw.register(f"{name}_arrow", rows)
        raw.execute(f"CREATE TEMPORARY TABLE {name} AS FROM {name}_arrow")
        raw.unregister(f"{name}_arrow")
        return name
    declared = ", ".join(f"{quoted_column(field.name)} {_postgres_type(field.type)}" for field in rows.schema)
    do(connection, f"CREATE TEMPORARY TABLE {name} ({declared}) ON COMMIT DROP")
    cursor = connection.connection.driver_connection.cursor()
    columns = [column.to_pylist() for column in rows.columns]
    with cursor.copy(f"COPY {name} FROM STDIN") as copy:
        for row in zip(*columns, strict=True):
            copy.write_row(row)
    return name


def _numbered_bounds(ranges: Ranges) -> pa.Table:
    """Where fragments begin, with their numbers."""
    import pyarrow as pa

    last = ranges.bounds[-1]
    type = pa.uint64() if isinstance(last, int) and last >= _BEYOND_SIGNED else None
    lower = pa.array(ranges.bounds, type)
    return pa.table({"_lower": lower, "_number": list(range(1, len(ranges.bounds) + 1))})


def _array(cells: Sequence[Any], attribute: Attribute) -> Any:
    """Cells of one column; of the type that the plan says, unless the database has another for it."""
    import pyarrow as pa

    type_ = attribute.type
    if type_ is not None and type_.name not in ("list", "decimal"):
        try:
            return pa.array([_whole(cell) for cell in cells] if type_ == INT else cells, arrow_type(type_))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, OverflowError):
            pass
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise SketchError(
            "not-maintained",
            f"{attribute.name} has values that are not kept here, such as NaN among decimals: {error}",
            hint="the sketch is captured anew when its tables change",
        ) from error


def _whole(cell: Any) -> Any:
    """A whole number that a database may have as a decimal."""
    if cell is None:
        return None
    number = int(cell)
    if number != cell:
        raise ValueError(f"{cell} is no whole number")
    return number


def _postgres_type(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    return _POSTGRES.get(str(kind), "text")


def holds_exactly(held: pa.DataType, given: pa.DataType) -> bool:
    """Whether a column of one type holds every value of another that it takes, as it is."""
    import pyarrow as pa

    return bool(
        held == given
        or (pa.types.is_integer(held) and pa.types.is_integer(given))
        or (_is_text(held) and _is_text(given))
    )


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
