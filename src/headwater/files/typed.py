"""What a file holds, as values of the relation's types.

>>> import tempfile, pathlib
>>> from headwater.files.read import FactFile, read
>>> path = pathlib.Path(tempfile.mkdtemp(), "cost.csv")
>>> _ = path.write_text("item,price\\npen,2.5\\nink,ten\\n")
>>> contents = read(FactFile(path), "cost", ("item", "price"), (STRING, FLOAT))
>>> typed(contents, (STRING, FLOAT))
Traceback (most recent call last):
headwater.errors.DataError: error[wrong-type]: ...cost.csv, line 3, column price: 'ten' is no float: ...
 --> ...cost.csv:3:5
  |
3 | ink,ten
  |     ^^^
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.files.cells import BadCell, convert
from headwater.files.contents import Contents
from headwater.files.json_rows import type_of_values, values_of
from headwater.values.arrow_types import arrow_type
from headwater.values.arrow_values import arrow_values
from headwater.values.codec import infer_types
from headwater.values.labelled import LabelledNull
from headwater.values.scalars import Misfit, show
from headwater.values.types import FLOAT, STRING, Type

__all__ = ["FLOAT", "STRING", "bad_cell", "own_type", "typed"]


def typed(contents: Contents, types: Sequence[Type]) -> Any:
    """The rows as an Arrow table with columns of these types; as tuples if there are no columns, or if Arrow does not
    hold some value: a labelled null."""
    if not contents.names:
        return [()] * contents.rows
    if contents.kind == "values" and any(_has_labelled(values) for values in contents.columns):
        return list(zip(*contents.columns, strict=True))
    arrays = []
    for column, (values, type) in enumerate(zip(contents.columns, types, strict=True)):
        name = contents.names[column]
        if contents.kind == "text":
            try:
                arrays.append(_around_empty(values, type))
            except BadCell as bad:
                raise bad_cell(contents, bad.row, column, type, bad.reason) from None
        elif contents.kind == "values":
            try:
                arrays.append(pa.array(arrow_values(values_of(values, type), type), arrow_type(type)))
            except Misfit as misfit:
                where = f"{contents.origin}, row {misfit.row + 1}, column {name}"
                raise DataError(misfit.code, f"{where}: {misfit.reason}, expected {type}") from None
        else:
            arrays.append(values)
    return pa.table(arrays, names=list(contents.names))


def _has_labelled(values: Any) -> bool:
    return any(isinstance(value, LabelledNull) for value in values)


def _around_empty(texts: Any, type: Type) -> Any:
    """The values of a column of texts; an empty cell is a missing value, but where texts are wanted."""
    empty = pc.equal(texts, "") if type != STRING else None
    if empty is None or not pc.any(empty).as_py():
        return convert(texts, type)
    there = np.flatnonzero(~np.asarray(empty))
    try:
        found = convert(texts.filter(pc.invert(empty)), type)
    except BadCell as bad:
        raise BadCell(bad.reason, int(there[bad.row])) from None
    places = np.zeros(len(texts), np.int64)
    places[there] = np.arange(len(there))
    return found.take(pa.array(places, mask=np.asarray(empty)))


def own_type(contents: Contents, column: int) -> Type | None:
    """The type that the file itself gives a column; `None` if it is text, or without rows."""
    if contents.kind == "text" or contents.rows == 0:
        return None
    name, values = contents.names[column], contents.columns[column]
    if contents.kind == "table":
        return infer_types(pa.table([values], names=[name]), contents.origin)[0][0]
    try:
        return type_of_values(values)
    except Misfit as misfit:
        where = f"{contents.origin}, row {misfit.row + 1}, column {name}"
        raise DataError(misfit.code, f"{where}: {misfit.reason}", hint=misfit.hint) from None


def bad_cell(contents: Contents, row: int, column: int, type: Type, reason: str) -> DataError:
    """The error for a text that is no value of its column's type."""
    place = contents.place(row, column)
    text = contents.columns[column][row].as_py()
    line = f", line {place.line}" if place is not None else f", row {row + 1}"
    hint = None
    if row == 0 and not contents.header:
        hint = f"if this line is a header, let it name the columns: {', '.join(contents.names)}"
    return DataError(
        "wrong-type",
        f"{contents.origin}{line}, column {contents.names[column]}: {show(text)} is no {type}: {reason}",
        place=place,
        hint=hint,
    )
