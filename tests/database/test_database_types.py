"""Every type through rules, the store and nodes; decimals against DuckDB."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater import FrozenMap, Months, NanosecondDatetime, Struct

UTC = dt.timezone.utc
NOON = dt.datetime(2024, 2, 29, 12, 30, 0, 5)
WIDE = Decimal(10**37 + 1)
TYPES: dict[str, tuple[Any, Any]] = {
    "int": (2**63 - 1, -(2**63)),
    "float": (-5e-324, 1e300),
    "decimal(12,2)": (Decimal("12.50"), Decimal("-0.01")),
    "decimal(38,0)": (WIDE, -WIDE),
    "string": ("é", ""),
    "binary": (b"\0\xff", b""),
    "bool": (True, False),
    "date": (dt.date(2024, 2, 29), dt.date(1, 1, 1)),
    "time": (dt.time(10, 30, 0, 5), dt.time(0)),
    "timestamp": (NOON.replace(tzinfo=UTC), dt.datetime(1900, 1, 1, tzinfo=UTC)),
    "timestamp_ntz": (NOON, dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    "timestamp_ns": (NanosecondDatetime.at(1, UTC), NanosecondDatetime.at(-(2**63), UTC)),
    "timestamp_ntz_ns": (NanosecondDatetime.at(1001), NanosecondDatetime.at(2**63 - 1)),
    "interval": (dt.timedelta(hours=-1), dt.timedelta(microseconds=2**63 - 1)),
    "interval_months": (Months(14), Months(-1)),
    "list[decimal(5,1)]": ((Decimal("1.5"), None), ()),
    "list[list[timestamp_ns]]": (((NanosecondDatetime.at(1, UTC),), None), ((),)),
    "{a: int, b: list[string]}": (Struct({"a": 1, "b": ("x", None)}), Struct({"a": None, "b": None})),
    "map[string, decimal(38,0)]": (FrozenMap({"k": WIDE, "n": None}), FrozenMap({})),
    "map[interval_months, {t: time}]": (FrozenMap({Months(1): Struct({"t": dt.time(1)})}), FrozenMap({})),
}
COLUMNS = ", ".join(f"c{number}: {type}?" for number, type in enumerate(TYPES))
VARIABLES = ", ".join(f"C{number}" for number in range(len(TYPES)))
PROGRAM = f"""
    all(n: int, {COLUMNS}).
    copy(N, {VARIABLES}) :- all(N, {VARIABLES}).
    same(N, M) :- all(N, {VARIABLES}), copy(M, {VARIABLES}).
    lone(N) :- all(N, {VARIABLES}), !again({VARIABLES}).
    again({VARIABLES}) :- all(N, {VARIABLES}), all(M, {VARIABLES}), N != M.
"""
ROWS = [
    (1, *(values[0] for values in TYPES.values())),
    (2, *(values[1] for values in TYPES.values())),
    (3, *(None for _ in TYPES)),
    (4, *(values[0] for values in TYPES.values())),
]


def rows(view: Any) -> list[Any]:
    return sorted(view.rows(), key=lambda row: row[0])


def check(db: hw.Database) -> None:
    assert rows(db["all"]) == rows(db["copy"]) == ROWS
    for found, expected in zip(rows(db["copy"]), ROWS, strict=True):
        assert [type(value) for value in found] == [type(value) for value in expected]
    assert sorted(db["same"].rows()) == [(1, 1), (1, 4), (2, 2), (3, 3), (4, 1), (4, 4)]
    assert sorted(db["lone"].rows()) == [(2,), (3,)]
    assert [str(type) for type in db["copy"].types] == ["int", *TYPES]


def test_every_type_in_rules_and_changes() -> None:
    db = hw.connect()
    db.define(PROGRAM)
    changes = db.apply(insert={"all": ROWS})
    assert sorted(changes["copy"].inserted, key=lambda row: row[0]) == ROWS
    check(db)
    db.apply(delete={"all": [ROWS[3]]})
    assert sorted(db["lone"].rows()) == [(1,), (2,), (3,)]


def test_every_type_in_a_state_folder(tmp_path: Any) -> None:
    """From the log, then from a checkpoint, then from both."""
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
        db.apply(insert={"all": ROWS[:2]})
    with hw.connect(tmp_path / "state") as db:
        db.apply(insert={"all": ROWS[2:3]})
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        db.apply(insert={"all": ROWS[3:]})
        check(db)
    with hw.connect(tmp_path / "state") as db:
        check(db)
        db.checkpoint()
    with hw.connect(tmp_path / "state", mode="r") as db:
        check(db)


def test_every_type_on_nodes() -> None:
    with hw.connect(run="threads", nodes=2) as db:
        db.define(PROGRAM)
        db.apply(insert={"all": ROWS[:2]})
        db.apply(insert={"all": ROWS[2:]})
        check(db)
        db.apply(delete={"all": [ROWS[3]]})
        assert sorted(db["lone"].rows()) == [(1,), (2,), (3,)]


@pytest.mark.parametrize("number", range(len(TYPES)), ids=list(TYPES))
def test_every_type_is_a_key_a_join_and_an_order_on_nodes(number: int) -> None:
    """Rows are placed by values of the type: equal ones must meet, wherever they were first seen."""
    type, (one, other) = list(TYPES)[number], list(TYPES.values())[number]
    with hw.connect(run="threads", nodes=2) as db:
        db.define(f"""
            l(x: {type}, n: int). r(x: {type}, n: int).
            both(N, M) :- l(X, N), r(X, M).
            top(max<X>) :- l(X, _).
            each(X, count<*>) :- l(X, _).
        """)
        db.apply(insert={"l": [(one, 1), (other, 2)], "r": [(other, 3)]})
        db.apply(insert={"r": [(one, 4)]})
        assert sorted(db["both"].rows()) == [(1, 4), (2, 3)]
        assert set(db["each"].rows()) == {(one, 1), (other, 1)}
        assert db["top"].rows()[0][0] in (one, other)


# ------------------------------------------------------------------ decimals beside DuckDB

AMOUNTS = st.integers(-(10**12) + 1, 10**12 - 1).map(lambda units: Decimal(units).scaleb(-2))
CHANGES = st.lists(
    st.tuples(st.booleans(), st.tuples(st.sampled_from("ab"), st.integers(0, 3), AMOUNTS | st.none())),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=3))
def test_decimals_are_duckdbs(stream: Any) -> None:
    import duckdb

    db, other = hw.connect(), duckdb.connect()
    db.define("""
        pay(who: string, n: int, amount: decimal(12,2)?).
        stat(W, count<A>, sum<A>, min<A>, max<A>) :- pay(W, _, A).
        more(W, N, A * 3 - 1.5) :- pay(W, N, A), A > -0.5, A <= 12345678.9.
    """)
    other.execute("CREATE TABLE pay(who VARCHAR, n BIGINT, amount DECIMAL(12,2))")
    for changes in stream:
        for there, row in changes:
            db.apply(**{"insert" if there else "delete": {"pay": [row]}})
            other.execute("DELETE FROM pay WHERE who = ? AND n = ? AND amount IS NOT DISTINCT FROM ?", row)
            if there:
                other.execute("INSERT INTO pay VALUES (?, ?, ?)", row)
        stat = "SELECT who, count(amount), sum(amount), min(amount), max(amount) FROM pay GROUP BY who"
        assert sorted(db["stat"].rows()) == sorted(other.execute(stat).fetchall())
        more = (
            "SELECT DISTINCT who, n, amount * 3 - 1.5 FROM pay WHERE amount > -0.5 AND amount <= 12345678.9"
        )
        assert sorted(db["more"].rows()) == sorted(other.execute(more).fetchall())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), min_size=1, max_size=8))
def test_averages_are_rounded_half_up(units: list[int]) -> None:
    """As Spark does, four digits further than the values."""
    values = [Decimal(each).scaleb(-2) for each in units]
    db = hw.connect()
    db.define("pay(n: int, amount: decimal(15,2)). mean(avg<A>) :- pay(_, A).")
    db.apply(insert={"pay": list(enumerate(values))})
    exact = sum(units) * 10**4
    rounded = (2 * abs(exact) + len(units)) // (2 * len(units)) * (1 if exact >= 0 else -1)
    assert db["mean"].rows() == [(Decimal(rounded).scaleb(-6),)]
    assert str(db["mean"].types[0]) == "decimal(19,6)"


def test_numbers_never_wrap() -> None:
    """Every way to compute an int that does not fit is an error that names the rule and the values."""
    for rule in ("q(X + 1) :- p(X).", "q(X * 2) :- p(X).", "q(-Y) :- p(X), Y = -X - 1.", "q(sum<X>) :- p(X).",
                 "q(Y) :- p(X), Y = X + X - 1.", "q(S) :- S = sum X : { p(X) }.", "q(abs(Y)) :- p(X), Y = -X - 1.",
                 "q(Y) :- p(X), Y = (-X - 1) / -1.", "q(X ^ 2) :- p(X)."):  # fmt: skip
        db = hw.connect()
        db.define(f"p(x: int). {rule}")
        before = db["q"].rows()
        with pytest.raises(hw.EvaluationError) as caught:
            db.apply(insert={"p": [(2**63 - 1,), (1,)]})
        assert caught.value.code == "overflow" and "in rule" in caught.value.message, rule
        assert db["q"].rows() == before and db["p"].rows() == []


def refused(text: str, **rows: Any) -> hw.HeadwaterError:
    db = hw.connect()
    with pytest.raises(hw.HeadwaterError) as caught:
        db.define(text)
        db.apply(insert=rows)
    return caught.value


def test_declared_digits_hold_whatever_rules_join() -> None:
    text = "q(x: decimal(5,2)). r(x: decimal(12,2)). p(X) :- q(X), r(X)."
    assert "more digits than decimal(5,2)" in refused(text, q=[(Decimal("1000"),)]).message
    db = hw.connect()
    db.define(text)
    db.apply(insert={"q": [(Decimal("1.5"),)], "r": [(Decimal("1.5"),), (Decimal("1e8"),)]})
    assert db["p"].rows() == [(Decimal("1.50"),)] and str(db["q"].types[0]) == "decimal(5,2)"


@pytest.mark.parametrize(
    "text, code, words, hint",
    [
        (
            "q(x: decimal(5,2)). r(x: decimal(5,1)). p(X) :- q(X), r(X).",
            "type-clash",
            "decimal(5,1)",
            "one scale",
        ),
        ("q(x: {a: int, b: int}). p(1) :- q({b: 2, a: 1}).", "type-clash", "{b: int, a: int}", "same order"),
        ("q(r: {name: int}). p(R.nmae) :- q(R).", "function-mismatch", "did you mean name?", None),
        ("q(x: int). p(X.a) :- q(X).", "function-mismatch", "takes a record", None),
        ('q(d: date). p(D) :- q(D), D > "2024-01-01".', "type-clash", "date", "2024-01-31"),
        ("q(d: date). p(D) :- q(D), D > 2024.", "type-clash", "date", "2024-01-31"),
        ('q(d: timestamp). p(D) :- q(D), D > "2024-01-01".', "type-clash", "timestamp", 'timestamp("2024'),
        ("q(d: timestamp, e: timestamp_ntz). p(D) :- q(D, E), D > E.", "type-clash", "ntz", "timestamp(X)"),
        ("q(d: date, e: timestamp). p(D) :- q(D, E), D > E.", "type-clash", "date", "date(X)"),
        ("q(x: decimal(5,2)). q(1.234).", "type-clash", "more than 2 digits", "larger scale"),
    ],
)
def test_slips_of_types_have_hints(text: str, code: str, words: str, hint: str | None) -> None:
    error = refused(text)
    assert error.code == code and words in error.message
    assert hint is None or hint in (error.hint or "")


def test_intervals_are_summed() -> None:
    db = hw.connect()
    db.define("q(n: int, i: interval, m: interval_months). p(sum<I>, sum<M>) :- q(_, I, M).")
    db.apply(insert={"q": [(1, dt.timedelta(hours=1), Months(1)), (2, dt.timedelta(hours=-3), Months(13))]})
    assert db["p"].rows() == [(dt.timedelta(hours=-2), Months(14))]


def test_decimals_have_all_digits_that_are_written(tmp_path: Any) -> None:
    text = """
        e(x: decimal(38,2)?, f: float).
        e(12345678901234567.89, 0.1000000000000000055). e(12345678901234567.88, 0.1). e(-12345678901234567.87, 1).
        equal(X) :- e(X, _), X = 12345678901234567.89.
        above(X) :- e(X, _), X > -(12345678901234567.87).
        sum(X + 12345678901234567.01) :- equal(X).
        p(X, 12345678901234567.88) :- e(X, _), X < 0.
        p(X, 12345678901234567.89) :- e(X, _), X < 0.
        p(X, Y) :- e(X, _), e(Y, _), X = Y, X > 1.
    """
    high, low, negative = (
        Decimal(f"{each}")
        for each in ("12345678901234567.89", "12345678901234567.88", "-12345678901234567.87")
    )
    with hw.connect(tmp_path) as db:
        db.define(text)
        assert set(db["e"].rows()) == {(high, 0.1), (low, 0.1), (negative, 1.0)}
        assert db["equal"].rows() == [(high,)]
        assert set(db["above"].rows()) == {(high,), (low,)}
        assert db["sum"].rows() == [(Decimal("24691357802469134.90"),)]
        assert set(db["p"].rows()) == {(negative, low), (negative, high), (high, high), (low, low)}
        assert db.query("e(X, F), X >= 12345678901234567.89").rows() == [(high, 0.1)]
        db.rename("equal", "same")
    with hw.connect(tmp_path) as db:
        db.define("more(X) :- same(X), X < 12345678901234567.891.")
        assert db["more"].rows() == db["same"].rows() == [(high,)]


@pytest.mark.parametrize(
    "rules",
    [
        "s(X + 1.25) :- e(X).",
        "s(X + 1.25) :- f(X). f(X) :- e(X), X = 1.5.",
        "s(X + Y) :- e(X), Y = 1.25.",
        "s(Y) :- e(X), Y = X + 1.25, Y > 1.5.",
    ],
)
@pytest.mark.parametrize("facts", ['e(decimal("1.50")).', "e(x: decimal(3,2)). e(1.5).", ""])
def test_a_number_beside_a_decimal_is_one_however_its_type_is_told(facts: str, rules: str) -> None:
    db = hw.connect()
    db.define(facts + rules)
    if not facts:
        db.apply(insert={"e": [(Decimal("1.50"),)]})
    assert db["s"].rows() == [(Decimal("2.75"),)]
