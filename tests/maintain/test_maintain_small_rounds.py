"""Small rounds in one call of the kernel beside the same rounds one by one: rows, ranks, counts and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.kernel import compiled
from headwater.kernel.at_hand import at_hand
from headwater.kernel.rounds import advance, tables, views
from headwater.maintain import fixpoint, round_tables
from headwater.maintain.small_rounds import SmallRounds
from headwater.version.changes import Changes

PROGRAMS = {
    "closure": """
        reach(X, Y) :- link(X, Y).
        reach(X, Y) :- link(X, Z), reach(Z, Y).
    """,
    "both ways": """
        reach(X, Y) :- link(X, Y).
        reach(X, Y) :- reach(X, Z), reach(Z, Y).
    """,
    "two that need each other": """
        odd(X, Y) :- link(X, Y).
        odd(X, Y) :- even(X, Z), link(Z, Y).
        even(X, Y) :- odd(X, Z), link(Z, Y).
    """,
    "rows that must be there, or not": """
        reach(X, Y) :- link(X, Y).
        reach(X, Y) :- link(X, Z), reach(Z, Y), allowed(X, Y), !barred(X, Z).
    """,
    "a constant": """
        reach(X, Y, 7) :- link(X, Y).
        reach(X, Y, 7) :- link(X, Z), reach(Z, Y, 7).
    """,
    "cheapest": """
        cost(X, Y, min<C>) :- weighed(X, Y, C).
        cost(X, Y, min<C>) :- weighed(X, Z, A), cost(Z, Y, B), C = A + B.
    """,
    "several best": """
        cost(X, Y, min<C>, Z) :- weighed(X, Y, C), Z = Y.
        cost(X, Y, min<C>, Z) :- weighed(X, Z, A), cost(Z, Y, B, _), C = A + B.
    """,
    "largest of bounded": """
        width(X, Y, max<C>) :- weighed(X, Y, C).
        width(X, Y, max<C>) :- link(X, Z), width(Z, Y, C).
    """,
}
NODES = 7
pairs = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1))
RELATIONS = {"link": 2, "allowed": 2, "barred": 2, "weighed": 3}
DECLARED = """
    link(x: int, y: int). allowed(x: int, y: int). barred(x: int, y: int). weighed(x: int, y: int, cost: int).
"""
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module", autouse=True)
def machine_code():
    """What is tested is compiled, whether that has paid by now or not."""
    for width in compiled.WIDTHS:
        if not at_hand(advance.advance, width):
            compiled.load([compiled.kernel_of(advance.advance)], [width])


def rows_of(draw: Any, costs: st.SearchStrategy[Any]) -> Rows:
    found: Rows = {}
    for name, arity in RELATIONS.items():
        row = pairs if arity == 2 else st.tuples(*[st.integers(0, NODES - 1)] * 2, costs)
        found[name] = draw(st.lists(row, max_size=4 if arity == 2 else 5))
    return found


@st.composite
def streams(draw: Any, costs: st.SearchStrategy[Any]) -> list[tuple[Rows, Rows]]:
    """A first load, and small changes: rows that come, and rows that go."""
    start: Rows = {}
    for name, arity in RELATIONS.items():
        row = pairs if arity == 2 else st.tuples(*[st.integers(0, NODES - 1)] * 2, costs)
        start[name] = draw(st.lists(row, min_size=6, max_size=25))
    changes = [({}, start)]
    for _ in range(draw(st.integers(2, 6))):
        gone = {name: draw(st.lists(st.sampled_from(rows), max_size=3)) for name, rows in start.items()}
        changes.append((gone, rows_of(draw, costs)))
    return changes


def followed(program: str, stream: list[tuple[Rows, Rows]], *, small: bool) -> list[Any]:
    """What each version did, with all ranks and counts that it left."""
    database, found = hw.connect(), []
    with pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr(fixpoint, "small_rounds", lambda _: None)
        database.define(DECLARED + PROGRAMS[program])
        for gone, come in stream:
            changes = database.apply(delete=gone, insert=come)
            found.append((told(changes), state(database)))
    return found


def told(changes: Changes) -> Any:
    return {name: (sorted(one.inserted), sorted(one.deleted)) for name, one in changes.items()}, [
        (cost.relations, cost.rounds, cost.died, cost.doubtful, cost.revived, cost.derivations)
        for cost in changes.statistics.strata
    ]


def state(database: hw.Database) -> Any:
    """Every live row with its rank and count; ranks depend on the order of rounds, which is the same."""
    relations = database.runner.engine.workspace.relations
    found = {}
    for name, relation in relations.items():
        codes, ranks, visible = relation.dump()
        rows = np.column_stack((codes, ranks, visible))
        found[name] = sorted(map(tuple, rows.tolist()))
    return found


@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=25)
@given(data=st.data())
def test_the_kernel_takes_the_same_rounds(program: str, data: st.DataObject):
    stream = data.draw(streams(st.integers(1, 9)))
    assert followed(program, stream, small=True) == followed(program, stream, small=False)


@pytest.mark.parametrize("program", ["cheapest", "several best", "largest of bounded"])
@settings(max_examples=10)
@given(data=st.data())
def test_costs_that_are_floats(program: str, data: st.DataObject):
    stream = data.draw(streams(st.sampled_from([0.5, 1.25, 2.0, 3.5, 1e300, float("inf")])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROGRAMS, program, PROGRAMS[program])
        patch.setattr("test_maintain_small_rounds.DECLARED", DECLARED.replace("cost: int", "cost: float"))
        assert followed(program, stream, small=True) == followed(program, stream, small=False)


@settings(max_examples=10)
@given(data=st.data())
def test_sums_that_are_no_plain_numbers(data: st.DataObject):
    """Costs near the largest int, of which some sums are too large for one: the same error, and nothing done."""
    stream = data.draw(streams(st.sampled_from([1, 2**31, 2**62, 2**63 - 2])))
    ends = []
    for small in (True, False):
        try:
            ends.append(followed("cheapest", stream, small=small))
        except hw.HeadwaterError as error:
            ends.append([error.code, error.message])
    assert ends[0] == ends[1]


def chain(length: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(length)]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run was done in the kernel to its end."""
    outcomes: list[bool] = []
    run = SmallRounds._go

    def go(self: SmallRounds, of: Any) -> int:
        reached = run(self, of)
        outcomes.append(reached == tables.OVER)
        return reached

    monkeypatch.setattr(SmallRounds, "_go", go)
    return outcomes


def test_a_change_of_a_closure_is_done_in_the_kernel(counted: list[bool]):
    database = hw.connect()
    database.define(DECLARED + PROGRAMS["closure"])
    database.apply(insert={"link": chain(60)})
    assert counted == [True]  # up
    database.apply(delete={"link": [(30, 31)]})
    assert counted == [True, True]  # down
    database.apply(insert={"link": [(30, 31)]})
    assert counted == [True, True, True]  # up
    assert len(database["reach"]) == 60 * 61 // 2


def test_queues_journals_and_indexes_that_are_full_are_enlarged_on_the_way(
    monkeypatch: pytest.MonkeyPatch, counted: list[bool]
):
    monkeypatch.setattr(round_tables, "FIRST_ROOM", views.BINDINGS_A_LEVEL + 8)
    database, other = hw.connect(), hw.connect(strategy="recompute")
    for each in (database, other):
        each.define(DECLARED + PROGRAMS["cheapest"])
        each.apply(insert={"weighed": [(a, b, (a * 7 + b) % 13 + 1) for a, b in chain(80)]})
        each.apply(insert={"weighed": [(79, 0, 3), (40, 3, 2), (10, 70, 5)]})
        each.apply(delete={"weighed": [(40, 41, (40 * 7 + 41) % 13 + 1)]})
    assert counted and all(counted)
    assert sorted(database["cost"].rows()) == sorted(other["cost"].rows())


def test_large_rounds_are_handed_over(counted: list[bool]):
    """A round with more rows than the kernel takes at once goes on as others do, with the same outcome."""
    ends = advance.LARGEST_ROUND + 1
    fan = [(2, 3 + i) for i in range(ends)]
    database = hw.connect()
    database.define(DECLARED + PROGRAMS["closure"])
    database.apply(insert={"link": [(0, 1), *fan]})
    assert len(database["reach"]) == 1 + ends
    counted.clear()
    database.apply(insert={"link": [(1, 2)]})
    assert counted == [False]  # what 1 reaches is found in one round
    assert len(database["reach"]) == 1 + ends + 2 + 2 * ends
    database.apply(delete={"link": [(0, 1)]})
    assert len(database["reach"]) == ends + 1 + ends


def test_an_endless_recursion_is_still_told():
    database = hw.connect(max_rounds=50)
    database.define("n(x: int). up(X) :- n(X). up(Y) :- up(X), next(X, Y). next(x: int, y: int).")
    database.apply(insert={"next": chain(40)})
    database.apply(insert={"n": [(0,)]})
    database.apply(insert={"next": [(40 + i, 41 + i) for i in range(5)]})
    assert len(database["up"]) == 46
    with pytest.raises(hw.HeadwaterError, match="did not come to rest"):
        database.apply(insert={"next": [(46 + i, 47 + i) for i in range(60)], "n": [(46,)]})
    assert len(database["up"]) == 46


def test_rows_that_die_in_the_kernel_alone_are_removed():
    """Rows of `even` are lost to rules of the stratum itself, never to a change below it."""
    database = hw.connect()
    database.define(DECLARED + PROGRAMS["two that need each other"])
    database.apply(insert={"link": chain(6)})
    database.apply(delete={"link": [(5, 6)]})
    database.apply(delete={"link": [(0, 1)]})
    even = database.runner.engine.workspace.relations["even"]
    assert even.stored == even.visible == len(list(database["even"].rows())) == len(database["even"]) == 4


def test_rows_with_many_columns_that_must_be_there():
    constants = ", ".join(["7"] * 22)
    columns = ", ".join(f"c{i}: int" for i in range(24))
    database = hw.connect()
    database.define(
        f"link(x: int, y: int). wide({columns}). reach(X, Y) :- link(X, Y)."
        f"reach(X, Y) :- link(X, Z), reach(Z, Y), wide({constants}, X, Y)."
    )
    database.apply(insert={"wide": [(*[7] * 22, a, b) for a in range(9) for b in range(9)]})
    database.apply(insert={"link": chain(8)})
    assert len(database["reach"]) == 36


TELLING = {
    "the row below tells": ("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).", True),
    "what is absent tells": (
        "reach(X, Y) :- link(X, Y), !barred(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).",
        True,
    ),
    "another premise tells": (
        "reach(X, Y) :- link(X, _), allowed(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).",
        False,
    ),
}


@pytest.mark.parametrize("case", list(TELLING))
def test_nodes_begin_from_below_in_the_kernel_where_rows_tell_whose_they_are(
    case: str, monkeypatch: pytest.MonkeyPatch
):
    """All of a change is one call on each node then, as in one process."""
    text, told = TELLING[case]
    begun: list[bool] = []
    run = SmallRounds.run

    def noted(self: SmallRounds, changed: fixpoint.Fixpoint, phase: int) -> int:
        reached = run(self, changed, phase)
        if phase == tables.LOSE and not changed.exchange.alone:
            begun.append(reached == tables.OVER)
        return reached

    with hw.connect(run="threads", nodes=2) as database:
        alone = hw.connect()
        for one in (alone, database):
            one.define(DECLARED + text)
            one.apply(insert={"link": chain(9), "allowed": [(3, 4), (5, 6)], "barred": [(7, 8), (0, 5)]})
        monkeypatch.setattr(SmallRounds, "run", noted)
        for change in (
            {"delete": {"link": [(4, 5)]}}, {"insert": {"link": [(4, 5), (6, 2)]}},
            {"delete": {"link": [(6, 2)], "barred": [(7, 8)]}, "insert": {"allowed": [(2, 2)]}},
            {"insert": {"link": [(0, 5)], "barred": [(2, 3)]}}, {"delete": {"link": [(4, 5), (0, 5)]}},
        ):  # fmt: skip
            ours, theirs = database.apply(**change), alone.apply(**change)
            assert sorted(database["reach"].rows()) == sorted(alone["reach"].rows())
            assert ours.statistics.derivations == theirs.statistics.derivations
        assert any(begun) is told


@pytest.mark.parametrize("replicate", [0, 100_000])
def test_each_node_holds_its_own_rows(replicate: int):
    """Where base rows are on every node, each derives everything from them, and keeps what is its own."""
    with hw.connect(run="threads", nodes=2, replicate=replicate) as database:
        database.define(DECLARED + "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
        database.apply(insert={"link": chain(5)})
        assert len(database["reach"]) == 15 == len(set(database["reach"].rows()))
        database.apply(insert={"link": [(5, 6)]})
        database.apply(delete={"link": [(2, 3)]})
        assert sorted(database["reach"].rows()) == sorted(
            (a, b) for part in (range(3), range(3, 7)) for a in part for b in part if a < b
        )


MOST_NARROW = 2**31 - 1


@pytest.mark.parametrize("clock", [MOST_NARROW - 2, MOST_NARROW - 1, MOST_NARROW, MOST_NARROW + 1000])
def test_ranks_that_need_more_bits_are_stored_in_full(clock: int):
    """Rounds of all strata count: the clock may be far beyond what the rows of one are stored with."""
    database = hw.connect()
    database.define(DECLARED + PROGRAMS["cheapest"])
    database.apply(insert={"weighed": [(0, 1, 5), (1, 2, 5)]})
    engine = database.runner.engine
    engine.workspace.clock = engine._clock = clock
    database.apply(insert={"weighed": [(2, 3, 5)]})
    _, ranks, _ = engine.workspace.relations["cost"].dump()
    assert ranks[:, 2].tolist() == [1, 1, 2, clock + 1, clock + 2, clock + 3]
    database.apply(insert={"weighed": [(0, 2, 10), (2, 2, 0), (3, 2, 0)]})
    database.apply(delete={"weighed": [(2, 3, 5)]})
    assert sorted(database["cost"].rows()) == [
        (0, 1, 5), (0, 2, 10), (1, 2, 5), (2, 2, 0), (3, 2, 0),
    ]  # fmt: skip
