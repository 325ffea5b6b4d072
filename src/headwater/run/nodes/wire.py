"""Matrices of codes as Arrow tables of values, and back; errors as JSON, and back.

Strings and lists cross as Arrow dictionaries of their distinct values; all other codes are values already.
Messages are framed like records of the log (`store/record`): JSON and Arrow streams. Nothing is unpickled.

>>> from headwater.values.types import INT, STRING
>>> here, there = Codec(), Codec()
>>> rows = here.to_matrix([("x", 1), ("y", 2), ("x", 3)], (STRING, INT), "r", ("a", "b"))
>>> _ = there.encode_value("y", STRING)
>>> there.decode_rows(unpack(there, pack(here, rows, (STRING, INT)), (STRING, INT)), (STRING, INT))
[('x', 1), ('y', 2), ('x', 3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater import errors, events
from headwater.errors import HeadwaterError, Place
from headwater.maintain.statistics import StratumStatistics, VersionStatistics
from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.scalars import is_coded
from headwater.values.types import Type

Types = Sequence[Type | None]


def pack(codec: Codec, rows: Ints, types: Types) -> pa.Table:
    """Rows as values; a relation without columns sends a column of zeros, for their number."""
    columns = []
    for column in range(rows.shape[1]):
        codes = np.ascontiguousarray(rows[:, column])
        type_ = types[column] if column < len(types) else None
        if type_ is not None and is_coded(type_):
            distinct, places = np.unique(codes, return_inverse=True)
            values = codec.to_table(distinct.reshape(-1, 1), ("v",), (type_,)).column(0).combine_chunks()
            columns.append(pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), values))
        else:
            columns.append(pa.array(codes))
    if not columns:
        columns = [pa.array(np.zeros(rows.shape[0], np.int8))]
    return pa.table(columns, names=[str(number) for number in range(len(columns))])


def unpack(codec: Codec, table: pa.Table, types: Types, extra: int = 0) -> Ints:
    """Rows from what `pack` gave, as codes of this codec; `extra` plain columns follow those with types."""
    width = len(types) + extra
    rows = np.empty((table.num_rows, width), np.int64)
    for column in range(width):
        array = table.column(column)
        type_ = types[column] if column < len(types) else None
        if type_ is not None and is_coded(type_):
            done = 0
            for chunk in array.chunks:
                values = pa.table({"v": chunk.dictionary})
                codes = codec.from_table(values, (type_,), "message", ("v",))[:, 0]
                rows[done : done + len(chunk), column] = codes[chunk.indices.to_numpy(zero_copy_only=False)]
                done += len(chunk)
        else:
            rows[:, column] = array.to_numpy()
    return rows


def error_to_json(error: BaseException) -> dict[str, Any]:
    """An error, for a message."""
    if isinstance(error, HeadwaterError):
        place = error.place
        where = None if place is None else [place.source, place.line, place.column, place.length, place.text]
        return {
            "class": type(error).__name__, "code": error.code, "message": error.message, "place": where,
            "hint": error.hint,
        }  # fmt: skip
    if isinstance(error, KeyboardInterrupt):
        return {"class": "KeyboardInterrupt"}
    return {"class": "Exception", "message": f"{type(error).__name__}: {error}"}


def error_from_json(data: dict[str, Any]) -> BaseException:
    """The error from what `error_to_json` gave."""
    if data["class"] == "KeyboardInterrupt":
        return KeyboardInterrupt()
    if data["class"] == "Exception":
        return RuntimeError(f"on a node: {data['message']}")
    kind = getattr(errors, data["class"])
    place = None if data["place"] is None else Place(*data["place"])
    return kind(data["code"], data["message"], place=place, hint=data["hint"])  # type: ignore[no-any-return]


def statistics_to_json(statistics: VersionStatistics) -> dict[str, Any]:
    """What a version cost a node."""
    return {
        "base": statistics.base,
        "events": [event.to_json() for event in statistics.events],
        "strata": [
            [
                list(s.relations), s.strategy, s.rounds, s.touched, s.derivations, s.died, s.revived, s.stopped,
                s.iterated, s.seconds,
            ]
            for s in statistics.strata
        ],
    }  # fmt: skip


def add_statistics(total: VersionStatistics, nodes: Sequence[dict[str, Any]]) -> None:
    """What a version cost all nodes: rounds and seconds of the slowest, all else together."""
    strata = {tuple(s.relations): s for s in total.strata}
    for node in nodes:
        for event in map(events.from_json, node["events"]):
            if event not in total.events:
                total.events.append(event)
        for (
            names, strategy, rounds, touched, derivations, died, revived, stopped, iterated, seconds,
        ) in node["strata"]:  # fmt: skip
            stratum = strata.get(tuple(names))
            if stratum is None:
                stratum = strata[tuple(names)] = StratumStatistics(tuple(names), strategy)
                total.strata.append(stratum)
            stratum.rounds = max(stratum.rounds, rounds)
            stratum.seconds = max(stratum.seconds, seconds)
            stratum.touched += touched
            stratum.died += died
            stratum.revived += revived
            stratum.stopped |= stopped
            stratum.iterated |= iterated
            for label, number in derivations.items():
                stratum.derived(label, number)
