"""Every type of Arrow, pandas, polars and DuckDB goes in, becomes what docs/types.md says, and comes back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.values.codec import infer_types
from tests.values.type_cells import ARROW, DUCKDB, PANDAS, POLARS, REFUSED, Cell


def frame_of(system: str, cell: Cell) -> Any:
    made = cell.make()
    if system == "pandas":
        return made.to_frame("x")
    if system == "polars":
        return made.to_frame()
    if system == "DuckDB":
        import duckdb

        return duckdb.connect().sql(f"SELECT {made} AS x")
    return pa.table({"x": made})


def came_back(system: str, view: Any) -> tuple[Any, str]:
    """The view as the system has it, and the type of its column in the system's words."""
    if system == "pandas":
        frame = view.pandas()
        return frame, str(frame.dtypes["x"])
    if system == "polars":
        frame = view.polars()
        return frame, str(frame.dtypes[0])
    table = view.arrow()
    if system == "DuckDB":
        import duckdb

        frame = duckdb.connect().from_arrow(table)
        return frame, str(frame.types[0])
    return table, str(table.schema.field("x").type)


CELLS = [
    (system, cell)
    for system, cells in (("Arrow", ARROW), ("pandas", PANDAS), ("polars", POLARS), ("DuckDB", DUCKDB))
    for cell in cells
]


def names(cells: list[tuple[str, Cell]]) -> list[str]:
    return [f"{system} {cell.written}" for system, cell in cells]


TAKEN = [(system, cell) for system, cell in CELLS if cell.ours != REFUSED]


@pytest.mark.parametrize("system, cell", TAKEN, ids=names(TAKEN))
def test_what_becomes_of_a_type(system: str, cell: Cell) -> None:
    pytest.importorskip(system.lower() if system != "Arrow" else "pyarrow")
    frame = frame_of(system, cell)
    if system == "pandas":
        assert cell.written.startswith(str(frame.dtypes["x"]))
    assert [str(type or "_") for type in infer_types(frame)[0]] == [cell.ours]
    rows = sorted(((number, value) for number, value in enumerate(cell.values)), key=lambda row: row[0])
    db = hw.connect()
    db.define(f"r(n: int, x: {cell.ours}?).")
    db.apply(insert={"r": numbered(system, frame)})
    assert sorted(db["r"].rows(), key=lambda row: row[0]) == rows
    again, type = came_back(system, db["r"])
    if cell.ours != "_":
        assert column_type(system, again) == cell.back, type
    other = hw.connect()
    other.define(f"r(n: int, x: {cell.ours}?).")
    other.apply(insert={"r": again})
    assert sorted(other["r"].rows(), key=lambda row: row[0]) == rows


def numbered(system: str, frame: Any) -> Any:
    """The rows with a number before them, so that equal ones are told apart."""
    if system == "pandas":
        frame.insert(0, "n", range(len(frame)))
        return frame
    if system == "polars":
        return frame.with_row_index("n")
    if system == "DuckDB":
        return frame.project("row_number() OVER () - 1 AS n, x")
    return frame.add_column(0, "n", pa.array(range(len(frame))))


def column_type(system: str, frame: Any) -> str:
    if system == "pandas":
        return str(frame.dtypes["x"])
    if system == "polars":
        return str(frame.schema["x"])
    if system == "DuckDB":
        return str(dict(zip(frame.columns, frame.types, strict=True))["x"])
    return str(frame.schema.field("x").type)


UNHELD = [(system, cell) for system, cell in CELLS if cell.ours == REFUSED]


@pytest.mark.parametrize("system, cell", UNHELD, ids=names(UNHELD))
def test_what_no_column_holds(system: str, cell: Cell) -> None:
    pytest.importorskip(system.lower() if system != "Arrow" else "pyarrow")
    db = hw.connect()
    with pytest.raises(hw.HeadwaterError) as caught:
        db.apply(insert={"r": frame_of(system, cell)})
    assert caught.value.code in ("unsupported-type", "wrong-type", "unreadable")
    assert caught.value.hint
    assert db.version == 0
