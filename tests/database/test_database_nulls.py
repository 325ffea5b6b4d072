"""NULL and labelled nulls through rules, keys, aggregates, deletes, the log and the checkpoint."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from database_support import refusal

import headwater as hw
from headwater import LabelledNull
from headwater.errors import DataError, RuleError
from headwater.values.sources import keeping_nulls

LABEL = LabelledNull("g", ("x",))


def rows(db: hw.Database, *names: str) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(db[name].rows()) for name in names}


# ------------------------------------------------------------------ which columns take nulls


def test_a_declared_column_takes_nulls_only_with_its_mark():
    db = hw.connect()
    db.define("r(a: int, b: int?).")
    db.apply(insert={"r": [(1, None), (2, LABEL), (3, 4)]})
    assert set(db["r"].rows()) == {(1, None), (2, LABEL), (3, 4)}
    with pytest.raises(DataError) as caught:
        db.apply(insert={"r": [(5, 6), (None, 7)]})
    assert caught.value.code == "null-value"
    assert "r, row 2, column a" in str(caught.value) and "(null, 7)" in str(caught.value)
    assert refusal(lambda: db.apply(delete={"r": [(None, 7)]})) == "null-value"
    assert db.version == 2


def test_the_first_rows_tell_which_columns_take_nulls(tmp_path: Path):
    with hw.connect(tmp_path) as db:
        db.define("s(X) :- r(X, Y), Y is null.")
        db.apply(insert={"r": []})
        db.apply(insert={"r": [(1, None), (2, "b")]})
        assert refusal(lambda: db.apply(insert={"r": [(None, "c")]})) == "null-value"
        db.apply(insert={"r": [(3, None)]})
    with hw.connect(tmp_path) as db:
        assert refusal(lambda: db.apply(insert={"r": [(None, "c")]})) == "null-value"
        db.apply(insert={"r": [(4, None)]}, delete={"r": [(1, None)]})
        assert rows(db, "s") == {"s": {(3,), (4,)}}
        db.define("r(a: int?, b: string?).")
        db.apply(insert={"r": [(None, None)]})
        assert (None,) in db["s"].rows()


def test_rows_of_nulls_alone_leave_the_type_open():
    db = hw.connect()
    db.define("s(X, Y) :- r(X, Y). t(X, Y + 1) :- r(X, Y). u(X) :- r(X, Y), Y < 3.")
    db.apply(insert={"r": [(1, None)]})
    assert rows(db, "s", "t", "u") == {"s": {(1, None)}, "t": {(1, None)}, "u": set()}
    db.apply(insert={"r": [(2, 2)]})
    assert rows(db, "s", "t", "u") == {"s": {(1, None), (2, 2)}, "t": {(1, None), (2, 3)}, "u": {(2,)}}
    db.apply(delete={"r": [(1, None)]})
    assert rows(db, "s", "t") == {"s": {(2, 2)}, "t": {(2, 3)}}


def test_a_delete_of_a_value_from_a_column_of_nulls_finds_nothing():
    db = hw.connect()
    db.apply(insert={"r": [(1, None)]})
    changes = db.apply(delete={"r": [(1, 5), (1, LABEL)]})
    assert not changes["r"].deleted and db["r"].rows() == [(1, None)]


def test_facts_tell_too():
    db = hw.connect()
    db.define("r(1, null). r(2, ?f(1)).")
    db.apply(insert={"r": [(3, None)]})
    assert rows(db, "r") == {"r": {(1, None), (2, LabelledNull("f", (1,))), (3, None)}}
    with pytest.raises(RuleError) as caught:
        db.define("s(a: int). s(null).")
    assert caught.value.code == "null-value" and caught.value.place is not None
    db.define("r(a: int, b: int).")  # what is there stays: the column takes nulls
    db.apply(insert={"r": [(4, None)]})


def test_a_source_may_let_a_column_take_nulls_from_now_on(tmp_path: Path):
    table = pa.table({"a": [1, 2], "b": [None, 5]})
    with hw.connect(tmp_path) as db:
        db.define("r(a: int, b: int). s(X) :- r(X, Y), Y is null.")
        assert refusal(lambda: db.apply(insert={"r": table})) == "null-value"
        db.apply(insert={"r": keeping_nulls(table)})
        assert rows(db, "s") == {"s": {(1,)}}
    with hw.connect(tmp_path) as db:
        db.apply(insert={"r": [(3, None)]})
        assert refusal(lambda: db.apply(insert={"r": [(None, 3)]})) == "null-value"
        assert rows(db, "s") == {"s": {(1,), (3,)}}


def test_parts_of_values_may_be_null():
    db = hw.connect()
    db.define("""
        r([1, null], {a: 1, b: "x"}). r([null], {a: null, b: "y"}). r([], {a: 2, b: null}).
        s(A, f_size(L), f_first(L)) :- r(L, R), A = R.a, f_size(L) > 0.
        t(L, [X, null, 3]) :- s(X, _, _), r(L, _).
    """)
    assert rows(db, "s") == {"s": {(1, 2, 1), (None, 1, None)}}
    assert ((1, None), (None, None, 3)) in db["t"] and ((), (1, None, 3)) in db["t"]


def test_q_of_null_is_not_the_string():
    db = hw.connect()
    db.define("r(a: string?). s(X) :- r(X), X = null. t(X) :- r(X), X != null. q(X, null) :- r(X).")
    db.apply(insert={"r": [("null",), (None,)]})
    assert rows(db, "s", "t", "q") == {"s": {(None,)}, "t": {("null",)}, "q": {("null", None), (None, None)}}


def test_tests_bind_nothing():
    db = hw.connect()
    assert refusal(lambda: db.define("p(X) :- X is null.")) == "unsafe-variable"
    assert refusal(lambda: db.define("p(X) :- X is not null.")) == "unsafe-variable"
    db.define("p(X) :- X = null.")
    assert db["p"].rows() == [(None,)]


# ------------------------------------------------------------------ what they mean in rules


MEANING = """
    r(a: int, b: int?).
    joined(X, Y) :- r(X, B), r(Y, B).
    lonely(X) :- r(X, B), !other(X, B).
    other(X, B) :- r(X, B), r(Y, B), X != Y.
    below(X) :- r(X, B), B < 3.
    notbelow(X) :- r(X, B), !(B < 3).
    atleast(X) :- r(X, B), B >= 3.
    differs(X) :- r(X, B), B != 3.
    sum(X, B + 1) :- r(X, B).
    made(X, ?f(B)) :- r(X, B).
    back(X) :- made(X, Z), Z = ?f(null).
    nothing(count<B>, sum<B>, avg<B>) :- r(X, B), X > 100.
    each(X, count<B>, count<*>) :- r(X, B).
"""


def test_what_nulls_mean_in_rules():
    db = hw.connect()
    db.define(MEANING)
    db.apply(insert={"r": [(1, 2), (2, None), (3, 3), (4, None), (5, LABEL), (1, None)]})
    found = rows(
        db, "joined", "lonely", "below", "notbelow", "atleast", "differs", "sum", "back", "nothing", "each"
    )
    nulls = {1, 2, 4}
    assert found["joined"] == {(x, y) for x in nulls for y in nulls} | {(3, 3), (5, 5)}
    assert found["lonely"] == {(1,), (3,), (5,)}
    assert found["below"] == {(1,)} and found["atleast"] == {(3,)}
    assert found["notbelow"] == {(1,), (2,), (3,), (4,), (5,)}
    assert found["differs"] == {(1,), (2,), (4,), (5,)}
    assert found["sum"] == {(1, 3), (1, None), (2, None), (3, 4), (4, None), (5, None)}
    assert found["back"] == {(1,), (2,), (4,)} and found["nothing"] == set()
    assert found["each"] == {(1, 1, 2), (2, 0, 1), (3, 1, 1), (4, 0, 1), (5, 1, 1)}


AGGREGATES = """
    r(g: int, v: int?).
    agg(G, count<V>, count<*>, sum<V>, avg<V>, min<V>, max<V>) :- r(G, V).
    inner(G, C, S, M) :- g(G), C = count : { r(G, V) }, S = sum V : { r(G, V) }, M = min V : { r(G, V) }.
    g(G) :- r(G, _).
"""


def test_aggregates_leave_nulls_out():
    db = hw.connect()
    db.define(AGGREGATES)
    db.apply(insert={"r": [(1, 5), (1, None), (1, 7), (2, None), (3, LABEL), (4, LABEL), (4, 1), (4, None)]})
    assert set(db["agg"].rows()) == {
        (1, 2, 3, 12, 6.0, 5, 7),
        (2, 0, 1, None, None, None, None),
        (3, 1, 1, None, None, None, None),
        (4, 2, 3, 1, 1.0, 1, 1),
    }
    assert set(db["inner"].rows()) == {(1, 3, 12, 5), (2, 1, None, None), (3, 1, None, None), (4, 3, 1, 1)}
    db.apply(delete={"r": [(1, 5), (1, 7), (4, 1)]}, insert={"r": [(2, -4)]})
    assert set(db["agg"].rows()) == {
        (1, 0, 1, None, None, None, None),
        (2, 1, 2, -4, -4.0, -4, -4),
        (3, 1, 1, None, None, None, None),
        (4, 1, 2, None, None, None, None),
    }
    assert set(db["inner"].rows()) == {
        (1, 1, None, None),
        (2, 2, -4, -4),
        (3, 1, None, None),
        (4, 2, None, None),
    }


def test_a_failed_version_leaves_counts_of_nulls_as_they_were():
    db = hw.connect()
    db.define("r(g: int, v: int?). c(G, count<V>, sum<V>) :- r(G, V).")
    db.apply(insert={"r": [(1, None), (1, 2**62), (2, 3)]})
    before = set(db["c"].rows())
    assert refusal(lambda: db.apply(insert={"r": [(1, 2**62 + 1), (2, None), (1, LABEL)]})) == "overflow"
    assert set(db["c"].rows()) == before
    db.apply(delete={"r": [(1, None), (2, 3)]})
    assert set(db["c"].rows()) == {(1, 1, 2**62)}


def test_counts_of_values_and_of_rows_in_one_relation():
    db = hw.connect()
    db.define("r(v: int?). s(v: int). c(count<V>) :- r(V). c(count<*>) :- s(_).")
    db.apply(insert={"r": [(None,), (1,)], "s": [(1,), (2,)]})
    assert db["c"].rows() == [(3,)]


def test_shortest_paths_with_costs_that_nobody_knows():
    db = hw.connect()
    db.define("""
        link(a: string, b: string, c: int?).
        path(X, Y, C) :- link(X, Y, C).
        path(X, Y, C) :- link(X, Z, C1), path(Z, Y, C2), C = C1 + C2.
        cost(X, Y, min<C>) :- path(X, Y, C).
    """)
    db.apply(
        insert={"link": [("a", "b", None), ("b", "a", 1), ("a", "c", 5), ("c", "b", 1), ("b", "d", LABEL)]}
    )
    cost = {(x, y): c for x, y, c in db["cost"].rows()}
    assert cost["a", "b"] == 6 and cost["a", "d"] is None and cost["b", "d"] is None and cost["a", "a"] == 7
    db.apply(delete={"link": [("c", "b", 1)]})
    assert {(x, y): c for x, y, c in db["cost"].rows()}["a", "b"] is None


def test_ints_at_the_ends_of_their_range():
    db = hw.connect()
    db.define("r(a: int). s(X, Y) :- r(X), Y = X - 1. t(X) :- r(X), r(Y), X = Y - 1. m(max<X>) :- r(X).")
    db.define("q(a: int). u(X, X + 1) :- q(X). v(min<X>) :- q(X). w(X) :- q(X), X < 0.")
    big, small = 2**63 - 1, -(2**63)
    db.apply(insert={"r": [(big,), (big - 1,), (0,)], "q": [(small,), (small + 1,), (5,)]})
    assert rows(db, "s", "t", "m") == {
        "s": {(big, big - 1), (big - 1, big - 2), (0, -1)}, "t": {(big - 1,)}, "m": {(big,)},
    }  # fmt: skip
    assert rows(db, "u", "v", "w") == {
        "u": {(small, small + 1), (small + 1, small + 2), (5, 6)}, "v": {(small,)}, "w": {(small,), (small + 1,)},
    }  # fmt: skip
    assert refusal(lambda: db.define("x(X, Y) :- q(X), Y = X - 1.")) == "overflow"
    db.apply(delete={"r": [(big,)], "q": [(small,)]})
    assert rows(db, "t", "m", "v") == {"t": set(), "m": {(big - 1,)}, "v": {(small + 1,)}}


def test_keys_and_sizes_go_by_identity():
    db = hw.connect()
    db.define("r(k: int?, v: int). materialize(r, infinity, infinity, keys(1)). s(X, Y) :- r(X, Y).")
    db.apply(insert={"r": [(None, 1), (LABEL, 2), (3, 3)]})
    changes = db.apply(insert={"r": [(None, 4), (LabelledNull("g", ("x",)), 5)]})
    assert set(changes["s"].deleted) == {(None, 1), (LABEL, 2)}
    assert rows(db, "s") == {"s": {(None, 4), (LABEL, 5), (3, 3)}}


def test_functions_registered_for_nulls():
    functions = {
        "or_zero": (lambda value: 0 if value is None else value, ["int"], "int", True),
        "twice": (lambda value: 2 * value, ["int"], "int"),
        "even": (lambda value: value if value % 2 == 0 else None, ["int"], "int"),
    }
    db = hw.connect(functions=functions)
    db.define("r(a: int?). s(X, or_zero(X), twice(X), even(X)) :- r(X).")
    db.apply(insert={"r": [(3,), (None,), (LABEL,)]})
    assert rows(db, "s") == {"s": {(3, 3, 6, None), (None, 0, None, None), (LABEL, None, None, None)}}
    wrong = {"f": (len, ["string"], "int", "yes")}
    assert refusal(lambda: hw.connect(functions=wrong)) == "wrong-type"


# ------------------------------------------------------------------ out, and back


def test_labelled_nulls_survive_the_log_and_the_checkpoint(tmp_path: Path):
    program = (
        "r(a: int, b: string?). s(X, ?f(X, B)) :- r(X, B). t(Y) :- s(_, Y). u(X, Z) :- s(X, Y), Z = ?h(Y)."
    )
    given = [(1, "a"), (2, None), (3, LABEL), (4, LabelledNull("deep", (LABEL, None, 1.5, ("x",))))]
    with hw.connect(tmp_path) as db:
        db.define(program)
        db.apply(insert={"r": given})
        expected = rows(db, "r", "s", "t", "u")
    for checkpoint in (False, True):
        with hw.connect(tmp_path) as db:
            assert rows(db, "r", "s", "t", "u") == expected
            if checkpoint:
                db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert rows(db, "r", "s", "t", "u") == expected
        db.apply(delete={"r": given[1:]})
        assert rows(db, "t") == {"t": {(LabelledNull("f", (1, "a")),)}}


def test_tables_have_nulls_and_on_request_the_labels():
    db = hw.connect()
    db.define("r(a: int, b: string?). s(X, ?f(X)) :- r(X, _).")
    db.apply(insert={"r": [(1, "x"), (2, None), (3, LABEL)]})
    table = db["r"].arrow().sort_by("a")
    assert table.to_pydict() == {"a": [1, 2, 3], "b": ["x", None, None]}
    table = db["r"].arrow(labels=True).sort_by("a")
    assert table.to_pydict() == {"a": [1, 2, 3], "b": ["x", None, None], "b?": [None, None, "?g('x')"]}
    assert db["s"].arrow(labels=True)["c1?"].type == pa.string()
    frame = db["r"].pandas(labels=True).sort_values("a")
    assert frame["b?"].tolist()[2] == "?g('x')"


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("declared", ["r(a: int?, b: string?).", "q(X) :- r(X, _)."])
def test_tables_with_labels_are_taken_as_they_are_given(library: str, declared: str):
    given = {(1, "?g('x')"), (None, LABEL), (LABEL, None), (LabelledNull("f", (LABEL, 2.0)), "y")}
    first = hw.connect()
    first.define("r(a: int?, b: string?).", insert={"r": given})
    table = getattr(first["r"], library)(labels=True)
    second = hw.connect()
    second.define(declared, insert={"r": table})
    assert set(second["r"].rows()) == given and second["r"].columns == ("a", "b")
    assert second["r"].types == first["r"].types
    assert second.apply(delete={"r": table})["r"].counts == (0, 4)


@pytest.mark.parametrize(("b", "texts"), [(None, "x"), ("y", "?f()")], ids=["no label", "beside a value"])
def test_columns_that_are_called_as_those_of_labels_are_columns_like_others(b: str | None, texts: str):
    table = pa.table({"a": [1], "b": pa.array([b], pa.string()), "b?": [texts]})
    db = hw.connect()
    db.define("r(a: int?, b: string?).")
    with pytest.raises(DataError, match="column-names"):
        db.apply(insert={"r": table})
    assert db["r"].rows() == []
    anything = hw.connect(strict=False)
    anything.apply(insert={"r": table})
    assert anything["r"].rows() == [(1, b, texts)]


def test_a_relation_that_is_renamed_takes_nulls_as_before(tmp_path: Path):
    with hw.connect(tmp_path) as db:
        db.define("n(K, count<V>) :- m(K, V).")
        db.apply(insert={"m": [("a", 1), ("a", None)]})
        db.rename("m", "measured")
        db.apply(insert={"measured": [("b", None)]})
        assert rows(db, "n") == {"n": {("a", 1), ("b", 0)}}
    with hw.connect(tmp_path) as db:
        db.apply(insert={"measured": [("c", None)]})
        assert rows(db, "n") == {"n": {("a", 1), ("b", 0), ("c", 0)}}


# ------------------------------------------------------------------ types beside nulls


@pytest.mark.parametrize(("read", "value"), [("R.age", {"name": "a", "age": None}), ("f_first(R)", [None])])
def test_parts_that_are_null_in_all_rows_are_read(read: str, value: object):
    db = hw.connect()
    db.define(f"q(A) :- e(R), A = {read}. p(A + 1) :- q(A).")
    db.apply(insert={"e": [(value,)]})
    assert rows(db, "q", "p") == {"q": {(None,)}, "p": {(None,)}}


def test_a_test_for_null_keeps_the_type():
    db = hw.connect()
    db.define(
        "e(a: int?, b: decimal(5,2)?). "
        "p(X, Y) :- e(X, Y), X is null. q(X, Y) :- e(X, Y), Y = null. r(X + 1) :- p(X, _)."
    )
    db.apply(insert={"e": [(None, 1), (2, None)]})
    assert rows(db, "p", "q", "r") == {"p": {(None, 1)}, "q": {(2, None)}, "r": {(None,)}}
    assert db["p"].arrow().schema.types == db["q"].arrow().schema.types == [pa.int64(), pa.decimal128(5, 2)]
    assert db["r"].arrow().schema.types == [pa.int64()]


def test_labelled_nulls_made_of_each_other_without_end_are_refused():
    db = hw.connect()
    db.define("seed(x: int?). big(X) :- seed(X). big(Y) :- big(X), Y = ?f(X).")
    for _ in range(2):
        with pytest.raises(hw.HeadwaterError) as caught:
            db.apply(insert={"seed": [(1,)]})
        assert caught.value.code == "too-deep" and "big#2" in caught.value.message
        assert db["big"].rows() == []
    deep = hw.LabelledNull("f")
    with pytest.raises(hw.HeadwaterError) as caught:
        for _ in range(1000):
            deep = hw.LabelledNull("f", (deep, 1))
    assert caught.value.code == "too-deep"
    db = hw.connect()
    db.define("r(x: int?).")
    db.apply(insert={"r": [(deep,)]})
    assert db["r"].rows() == [(deep,)] and db.query(f"r({deep!r})")
