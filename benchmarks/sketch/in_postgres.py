"""Tables in PostgreSQL, the paper's backend: given as an address, since a server is nobody's part of a benchmark."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.csv as csv

from headwater.sketch.tables.sql_backend import SqlBackend

INDEXES = {
    "orders": ("o_orderkey", "o_custkey"),
    "lineitem": ("l_orderkey", "l_partkey"),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "supplier": ("s_suppkey",),
    "partsupp": ("ps_partkey",),
}
"""Keys of TPC-H's tables that queries join by."""
TABLES = ("region", "nation", *INDEXES)
_CHUNK = 200_000


def loaded_in_postgres(
    address: str, make: Callable[[], Mapping[str, pa.Table]], indexes: Mapping[str, Sequence[str]]
) -> SqlBackend:
    """A database with these tables: an empty one is filled, in one that has them they are taken as they are."""
    from sqlalchemy import inspect

    backend = SqlBackend(address)
    if set(indexes) <= set(inspect(backend.engine).get_table_names()):
        for name in TABLES:
            backend.table(name)
        return backend
    tables = make()
    with backend.engine.begin() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        cursor = raw.cursor()
        for name, table in tables.items():
            columns = ", ".join(f"{field.name} {_type(field.type)}" for field in table.schema)
            cursor.execute(f"CREATE UNLOGGED TABLE {name} ({columns})")
            with cursor.copy(f"COPY {name} FROM STDIN WITH (FORMAT csv)") as copy:
                for start in range(0, table.num_rows, _CHUNK):
                    copy.write(_csv(table.slice(start, _CHUNK)))
            for column in indexes.get(name, ()):
                cursor.execute(f"CREATE INDEX ON {name} ({column})")
            cursor.execute(f"ANALYZE {name}")
    for name in tables:
        backend.table(name)
    return backend


def _csv(rows: pa.Table) -> bytes:
    out = io.BytesIO()
    csv.write_csv(rows, out, csv.WriteOptions(include_header=False))
    return out.getvalue()


def _type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    return {"int64": "bigint", "date32[day]": "date"}.get(str(kind), 'text COLLATE "C"')
