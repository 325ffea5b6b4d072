"""NULL and labelled nulls against DuckDB: joins, negation, recursion, groups and aggregates, after every version.

In DuckDB a value is a struct of a number and a label: `{n: 5, l: NULL}`, `{n: NULL, l: '?f(1)'}`, and both are NULL
for null. Equality is IS NOT DISTINCT FROM there; arithmetic and comparisons are of the number, which labelled nulls
do not have.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from oracle_graphs import Stream, seeds
from oracle_lockstep import Lockstep, State, state_of

import headwater as hw
from headwater import LabelledNull
from headwater.values.label_text import parse_label

ENGINE = duckdb.connect(config={"threads": 1})
VALUE = "STRUCT(n BIGINT, l VARCHAR)"
ENGINE.execute("CREATE MACRO txt(v) AS coalesce(v.l, v.n::VARCHAR, 'null')")
ENGINE.execute("CREATE MACRO num(x) AS {'n': (x)::BIGINT, 'l': NULL::VARCHAR}")
ENGINE.execute("CREATE MACRO lab(x) AS {'n': NULL::BIGINT, 'l': (x)::VARCHAR}")

POSITIVE = """
    edge(x: int?, y: int?).
    name(x: int?, s: string?).
    reach(X, Y) :- edge(X, Y).
    reach(X, Y) :- edge(X, Z), reach(Z, Y).
    ends(X) :- edge(X, Y), Y is null.
    goes(X, Y) :- edge(X, Y), Y is not null, X != null.
    made(X, ?f(X, Y)) :- edge(X, Y).
    meet(X, A, N) :- made(X, N), made(A, N), edge(A, _).
    again(N, ?g(N)) :- made(_, N).
    called(X, S) :- edge(X, _), name(X, S).
    less(X, Y) :- edge(X, Y), X < Y.
    plus(X, Z) :- edge(X, Y), Z = X + Y.
    two(X, W) :- plus(X, Z), edge(Z, W).
"""
OTHERS = """
    first(X) :- edge(X, _), !edge(_, X).
    notless(X, Y) :- edge(X, Y), !(X < Y).
    unlike(X, Y) :- edge(X, Y), !edge(Y, X), X != Y.
    counts(X, count<Y>, count<*>) :- edge(X, Y).
    sums(X, sum<Y>, avg<Y>) :- edge(X, Y).
    ends_of(X, min<Y>, max<Y>) :- edge(X, Y).
    all(count<Y>, sum<X>) :- edge(X, Y).
    far(X, Y, min<C>) :- way(X, Y, C).
    way(X, Y, C) :- edge(X, Y), C = Y.
    way(X, Y, C) :- edge(X, Z), way(Z, Y, D), D < 40, C = D + 1.
    inner(X, N, S) :- edge(X, _), N = count : { edge(X, Z) }, S = sum Z : { edge(X, Z) }.
"""
REACH = """
    WITH RECURSIVE reach(x, y) AS (
        SELECT x, y FROM edge UNION SELECT e.x, r.y FROM edge e JOIN reach r ON e.y IS NOT DISTINCT FROM r.x
    ) SELECT x, y FROM reach
"""
FAR = """
    WITH RECURSIVE way(x, y, c) AS (
        SELECT x, y, y.n FROM edge
        UNION
        SELECT e.x, w.y, w.c + 1 FROM edge e JOIN way w ON e.y IS NOT DISTINCT FROM w.x WHERE w.c < 40
    ) SELECT x, y, num(min(c)) FROM way GROUP BY x, y
"""
MADE = "(SELECT x, lab('?f(' || txt(x) || ', ' || txt(y) || ')') AS v FROM edge)"
QUERIES = {
    "reach": REACH,
    "ends": "SELECT x FROM edge WHERE y.n IS NULL AND y.l IS NULL",
    "goes": "SELECT x, y FROM edge WHERE txt(y) <> 'null' AND txt(x) <> 'null'",
    "made": f"SELECT x, v FROM {MADE}",
    "meet": f"SELECT a.x, b.x, a.v FROM {MADE} a JOIN {MADE} b ON a.v IS NOT DISTINCT FROM b.v",
    "again": f"SELECT v, lab('?g(' || txt(v) || ')') FROM {MADE}",
    "called": "SELECT e.x, name.s FROM edge e JOIN name ON e.x IS NOT DISTINCT FROM name.x",
    "less": "SELECT x, y FROM edge WHERE x.n < y.n",
    "plus": "SELECT x, num(x.n + y.n) FROM edge",
    "two": """SELECT p.x, e.y FROM (SELECT x, num(x.n + y.n) z FROM edge) p
        JOIN edge e ON p.z IS NOT DISTINCT FROM e.x""",
    "first": "SELECT x FROM edge e WHERE NOT EXISTS (SELECT 1 FROM edge o WHERE o.y IS NOT DISTINCT FROM e.x)",
    "notless": "SELECT x, y FROM edge WHERE (x.n < y.n) IS NOT TRUE",
    "unlike": """SELECT x, y FROM edge e WHERE x IS DISTINCT FROM y AND NOT EXISTS
        (SELECT 1 FROM edge o WHERE o.x IS NOT DISTINCT FROM e.y AND o.y IS NOT DISTINCT FROM e.x)""",
    "counts": "SELECT x, num(count(coalesce(y.n::VARCHAR, y.l))), num(count(*)) FROM edge GROUP BY x",
    "ends_of": "SELECT x, num(min(y.n)), num(max(y.n)) FROM edge GROUP BY x",
    "all": """SELECT num(count(coalesce(y.n::VARCHAR, y.l))), num(sum(x.n)) FROM edge HAVING count(*) > 0""",
    "far": FAR,
    "inner": "SELECT x, num(count(*)), num(sum(y.n)) FROM edge GROUP BY x",
    "sums": "SELECT x, num(sum(y.n)), num(sum(y.n)), num(count(y.n)) FROM edge GROUP BY x",
}  # fmt: skip


def written(value: Any, kind: str) -> str:
    """A value as DuckDB has it."""
    if kind == "VARCHAR":
        return "NULL" if value is None else f"'{value}'"
    number = "NULL" if value is None or isinstance(value, LabelledNull) else value
    label = "NULL" if not isinstance(value, LabelledNull) else f"'{value}'"
    return f"{{'n': {number}, 'l': {label}}}"


def read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return parse_label(value["l"]) if value["l"] is not None else value["n"]


def fill(table: str, columns: dict[str, str], rows: frozenset) -> None:
    ENGINE.execute(f"CREATE OR REPLACE TABLE {table} ({', '.join(map(' '.join, columns.items()))})")
    if rows:
        kinds = tuple(columns.values())
        values = [
            ", ".join(written(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in rows
        ]
        ENGINE.execute(f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in values)}")


def reference(state: State) -> State:
    fill("edge", {"x": VALUE, "y": VALUE}, state["edge"])
    fill("name", {"x": VALUE, "s": "VARCHAR"}, state["name"])
    found: State = {}
    for view, sql in QUERIES.items():
        if view in state:
            found[view] = frozenset(tuple(map(read, row)) for row in ENGINE.execute(sql).fetchall())
    if "sums" in found:
        found["sums"] = frozenset(
            (x, s, None if not n else float(Fraction(s, n))) for x, s, _, n in found["sums"]
        )
    return found


def edge(rng: random.Random) -> tuple[Any, Any]:
    def value() -> Any:
        return rng.choice([None, None, 0, 1, 2, 3, 5, LabelledNull("a", (1,)), LabelledNull("b")])

    return value(), value()


def name(rng: random.Random) -> tuple[Any, Any]:
    return rng.choice([None, 0, 1, 2, LabelledNull("b")]), rng.choice(["p", "q", "null", None])


def followed(lockstep: Lockstep, seed: int, versions: int) -> None:
    edges, names = Stream(random.Random(seed), edge), Stream(random.Random(seed + 1000), name)
    lockstep.apply({}, {"edge": edges.start(9), "name": names.start(4)}, reference)
    for _ in range(versions):
        (gone, come), (unnamed, named) = edges.version(), names.version()
        lockstep.apply({"edge": gone, "name": unnamed}, {"edge": come, "name": named}, reference)


@pytest.mark.parametrize("seed", seeds(3))
def test_every_strategy_of_ranks(seed: int):
    followed(Lockstep(POSITIVE + OTHERS, ("support", "dred", "recompute", "auto")), seed, 6)


@pytest.mark.parametrize("seed", seeds(2))
def test_strategies_with_provenance(seed: int):
    followed(Lockstep(POSITIVE, ("support", "absorption", "relative")), 50 + seed, 4)


@pytest.mark.parametrize("seed", seeds(2))
def test_nodes(seed: int):
    runs = {f"{number} nodes": {"run": "threads", "nodes": number} for number in (2, 3)}
    lockstep = Lockstep(POSITIVE + OTHERS, ("support",), runs)
    try:
        followed(lockstep, 100 + seed, 3)
    finally:
        lockstep.close()


@pytest.mark.parametrize("seed", seeds(2))
def test_reopened_after_every_version(seed: int, tmp_path: Path):
    edges, names = Stream(random.Random(seed), edge), Stream(random.Random(seed + 1), name)
    with hw.connect(tmp_path) as db:
        db.define(POSITIVE + OTHERS)
        db.apply(insert={"edge": edges.start(8), "name": names.start(3)})
        before = state_of(db)
    for number in range(5):
        with hw.connect(tmp_path) as db:
            assert state_of(db) == before
            gone, come = edges.version()
            db.apply(delete={"edge": gone}, insert={"edge": come})
            if number == 2:
                db.checkpoint()
            before = state_of(db)
            for view, rows in reference(before).items():
                assert before[view] == rows, view


@pytest.mark.parametrize("seed", seeds(2))
def test_questions_by_goal(seed: int):
    rng = random.Random(seed)
    db = hw.connect()
    db.define(POSITIVE + OTHERS)
    db.apply(insert={"edge": [edge(rng) for _ in range(12)], "name": [name(rng) for _ in range(5)]})
    whole = state_of(db)
    for view, arity in (("reach", 2), ("meet", 3), ("two", 2), ("made", 2), ("counts", 3)):
        for value in (None, 1, LabelledNull("b")):
            text = "null" if value is None else str(value)
            places = ", ".join(["X", "Y"][: arity - 1])
            found = set(db.query(f"{view}({text}, {places})").rows())
            assert found == {row[1:] for row in whole[view] if row[0] == value}, (view, value)
            assert set(db[view].where(**{db[view].columns[0]: value}).rows()) == {
                row for row in whole[view] if row[0] == value
            }
