"""Logical columns and code columns: a column that takes two codes goes through everything that plain ones do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import DataError, RuleError
from headwater.language.datalog import parse
from headwater.local import persist
from headwater.maintain.base.base_changes import BaseChanges
from headwater.maintain.engine import Engine
from headwater.nodes.owners import Owners
from headwater.nodes.row_tables import pack, unpack
from headwater.rules.check import check
from headwater.rules.checked import Checked
from headwater.store import Checkpoint, Store
from headwater.values.arrow import arrow_type
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.layout import Layout
from headwater.values.scalars import Misfit
from headwater.values.types import INT, STRING, Type
from headwater.version.version import Version

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class OrNothing:
    """A type's values and `None`, for this test: a tag (0: nothing, 1: a value) and the value's code, or 0."""

    type: Type

    @property
    def code_types(self) -> tuple[Type, ...]:
        return (INT, self.type)

    def encode(self, values: Any, codec: Codec, intern: bool) -> np.ndarray:
        values = values if isinstance(values, list) else values.to_pylist()
        codes = np.zeros((len(values), 2), np.int64)
        for row, value in enumerate(values):
            if value is None:
                continue
            if not isinstance(value, int if self.type == INT else str):
                raise Misfit(f"{value!r} does not fit", row=row)
            code = codec.encode_value(value, self.type) if intern else codec.find_value(value, self.type)
            codes[row] = (-1, 0) if code is None else (1, code)
        return codes

    def decode(self, codes: np.ndarray, codec: Codec) -> list[Any]:
        return [codec.decode_value(code, self.type) if tag else None for tag, code in codes.tolist()]

    def array(self, codes: np.ndarray, codec: Codec) -> pa.Array:
        return pa.array(self.decode(codes, codec), arrow_type(self.type))


TEXT, NUMBER = OrNothing(STRING), OrNothing(INT)
PLAIN = Layout(("a", "b"), (STRING, INT))
WIDE = Layout(("a", "b", "c"), (INT, STRING, INT), (None, TEXT, None))
ROWS: Rows = [(1, "x", 10), (2, None, 20), (3, "", 30), (4, "x", 40)]


def test_where_codes_are():
    assert (PLAIN.code_arity, PLAIN.codes((1, 0)), PLAIN.plain) == (2, (1, 0), True)
    assert (WIDE.arity, WIDE.code_arity, WIDE.plain) == (3, 4, False)
    assert [WIDE.slice(column) for column in range(3)] == [slice(0, 1), slice(1, 3), slice(3, 4)]
    assert WIDE.codes((2, 1)) == (3, 1, 2) and WIDE.code(2) == 3
    assert WIDE.names((3, 2, 1)) == ("c", "b") and WIDE.code_types == (INT, INT, STRING, INT)
    assert WIDE.empty().shape == (0, 4) and Layout((), ()).code_arity == 0


@pytest.mark.parametrize("form", ["tuples", "dicts", "arrow"])
def test_values_in_and_out(form: str):
    codec = Codec()
    table = pa.table({name: [row[i] for row in ROWS] for i, name in enumerate(WIDE.columns)})
    data = {"tuples": ROWS, "dicts": table.to_pylist(), "arrow": table}[form]
    rows = WIDE.encode(codec, data, "r")
    assert rows.shape == (4, 4) and rows[:, 1].tolist() == [1, 0, 1, 1]
    assert WIDE.decode(codec, rows) == ROWS
    assert WIDE.table(codec, rows).to_pylist() == table.to_pylist()
    assert WIDE.decode_column(codec, 1, rows[:, WIDE.slice(1)]) == ["x", None, "", "x"]


def test_values_never_seen_are_found_nowhere():
    codec = Codec()
    WIDE.encode(codec, ROWS, "r")
    known, unknown = WIDE.find(codec, [(2, None, 20), (1, "new", 10), (-5, "x", -7)], "r")
    assert unknown == 1 and WIDE.decode(codec, known) == [(2, None, 20), (-5, "x", -7)]
    assert len(codec.strings) == 2


def test_values_that_do_not_fit():
    for rows, words in (
        ([(1, 5, 2)], "r, row 1, column b: 5"),
        ([(1, "x", "y")], "row 1, column c: 'y' is a str"),
    ):
        with pytest.raises(DataError, match=words):
            WIDE.encode(Codec(), rows, "r")


def test_a_plain_layout_is_the_codec():
    codec = Codec()
    rows = PLAIN.encode(codec, [("x", 1), ("y", 2)], "r")
    assert np.array_equal(rows, codec.to_matrix([("x", 1), ("y", 2)], PLAIN.types, "r", PLAIN.columns))
    assert PLAIN.decode(codec, rows) == [("x", 1), ("y", 2)]


# ------------------------------------------------------------------ through the engine


PROGRAM = """
    .decl left(x: string, y: int)
    .decl right(x: string, z: int)
    .decl link(x: string, y: string)
    both(X, Y, Z) :- left(X, Y), right(X, Z).
    only(X, Y) :- left(X, Y), !right(X, Y).
    named(Y) :- left("k", Y).
    same(X) :- link(X, X).
    reach(X, Y) :- link(X, Y).
    reach(X, Y) :- reach(X, Z), link(Z, Y).
    number(X, count<Z>) :- right(X, Z).
    least(X, min<Z>) :- right(X, Z).
    fixed("k", Y) :- right(_, Y).
"""
WIDE_COLUMNS = {
    "left": (0,), "right": (0,), "link": (0, 1), "both": (0,), "only": (0,), "same": (0,), "reach": (0, 1),
    "number": (0,), "least": (0,), "fixed": (0,),
}  # fmt: skip


def widened(text: str = PROGRAM) -> Checked:
    """The program with columns that take two codes."""
    checked = check(parse(text), Functions())
    infos = {
        name: replace(
            info,
            codings=tuple(
                TEXT if column in WIDE_COLUMNS.get(name, ()) else None for column in range(info.arity)
            ),
            key=(0,) if name == "left" else None,
        )
        for name, info in checked.relations.items()
    }
    assert all(info.internal or not WIDE_COLUMNS.get(name) or info.codings for name, info in infos.items())
    return replace(checked, relations=infos)


class Wide:
    """An engine over such columns, with rows as values."""

    def __init__(self, checked: Checked):
        self.codec = Codec()
        self.checked = checked
        self.engine = Engine(self.codec, Functions())
        self.base = BaseChanges()
        with Version(0, 0.0) as version:
            version.join(self.engine)
            self.engine.define(checked)
            self.engine.apply({}, {}, version.statistics)

    def apply(
        self, delete: Mapping[str, Rows] | None = None, insert: Mapping[str, Rows] | None = None
    ) -> None:
        codes = [
            {
                n: self.checked.relations[n].layout.encode(self.codec, rows, n)
                for n, rows in (given or {}).items()
            }
            for given in (delete, insert)
        ]
        relations = self.engine.workspace.relations
        with Version(1, 0.0) as version:
            version.join(self.engine)
            worked_out = self.base.work_out(self.checked, relations, *codes, 0.0)
            self.engine.apply(*worked_out, version.statistics)

    def rows(self, name: str) -> set[tuple[Any, ...]]:
        matrix = self.engine.workspace.relations[name].matrix()
        return set(self.checked.relations[name].layout.decode(self.codec, matrix))


def expected(left: Rows, right: Rows, links: Rows) -> dict[str, set[tuple[Any, ...]]]:
    """What the program derives, with `None` a value like any other."""
    reach = set(links)
    while more := {(x, z) for x, y in reach for y2, z in links if y == y2} - reach:
        reach |= more
    groups: dict[Any, list[int]] = {}
    for x, z in right:
        groups.setdefault(x, []).append(z)
    return {
        "both": {(x, y, z) for x, y in left for x2, z in right if x == x2},
        "only": set(left) - set(right),
        "named": {(y,) for x, y in left if x == "k"},
        "same": {(x,) for x, y in links if x == y},
        "reach": reach,
        "number": {(x, len(values)) for x, values in groups.items()},
        "least": {(x, min(values)) for x, values in groups.items()},
        "fixed": {("k", z) for _, z in right},
    }


LEFT: Rows = [("k", 1), (None, 2), ("", 3), ("z", 4)]
RIGHT: Rows = [("k", 5), (None, 6), (None, 7), ("z", 4), ("", 9)]
LINKS: Rows = [("a", None), (None, "b"), ("b", "c"), (None, None), ("c", "c"), ("", "a")]


def assert_right(wide: Wide, left: Rows, right: Rows, links: Rows) -> None:
    for name, rows in expected(left, right, links).items():
        assert wide.rows(name) == rows, name


def test_rules_over_wide_columns_follow_changes():
    wide = Wide(widened())
    wide.apply(insert={"left": LEFT, "right": RIGHT, "link": LINKS})
    assert_right(wide, LEFT, RIGHT, LINKS)
    wide.apply(delete={"right": RIGHT[1:2], "link": LINKS[1:2]}, insert={"left": [(None, 8), ("n", 1)]})
    left = [row for row in LEFT if row[0] is not None] + [(None, 8), ("n", 1)]
    assert wide.rows("left") == set(left), "a row with the same key replaces the old one"
    assert_right(wide, left, [RIGHT[0], *RIGHT[2:]], [LINKS[0], *LINKS[2:]])


def test_wide_columns_are_not_computed_with():
    checked = check(parse('.decl left(x: string, y: int)\np(X) :- left(X, _), X != "k".'), Functions())
    infos = {
        name: replace(info, codings=(TEXT, None)[: info.arity]) for name, info in checked.relations.items()
    }
    with pytest.raises(RuleError, match="X cannot be computed with"):
        Wide(replace(checked, relations=infos)).apply(insert={"left": LEFT})


def test_wide_columns_are_stored_as_values(tmp_path):
    wide, again = Wide(widened()), Wide(widened())
    wide.apply(insert={"left": LEFT, "right": RIGHT, "link": LINKS})
    again.codec.strings.encode(["other", "codes", "b", "a"])
    with Store.open(tmp_path) as store:
        store.write_checkpoint(Checkpoint(1, {}, persist.dump_relations(wide.engine, wide.codec)))
    with Store.open(tmp_path) as store:
        assert store.checkpoint is not None
        persist.load_relations(again.engine, again.codec, store.checkpoint.tables)
    assert again.rows("left") == set(LEFT)
    assert_right(again, LEFT, RIGHT, LINKS)
    again.apply(delete={"link": LINKS[:1]})
    assert_right(again, LEFT, RIGHT, LINKS[1:])


def test_wide_columns_cross_to_other_processes():
    here, there = Codec(), Codec()
    there.strings.encode(["z", "k"])
    layout = widened().relations["left"].layout
    rows = layout.encode(here, LEFT, "left")
    other = unpack(there, pack(here, rows, layout.code_types), layout.code_types)
    assert layout.decode(there, other) == LEFT
    owners = [
        Owners(codec, 5).of_rows(matrix, layout, 0).tolist()
        for codec, matrix in ((here, rows), (there, other))
    ]
    assert owners[0] == owners[1] and set(owners[0]) <= set(range(5))
