"""Random recursive programs in the kernel's small rounds beside the same rounds one by one, and beside recomputing:
after every version the same rows, ranks and counts, whatever happens in the middle of one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.errors import OutOfMemory
from headwater.kernel import compiled, room
from headwater.kernel.at_hand import at_hand
from headwater.kernel.rounds import advance, views
from headwater.maintain import fixpoint, round_tables, small_rounds
from headwater.version.changes import Changes

NODES = 6
ARITIES = {"a": 2, "b": 2, "c": 3, "no": 2}
VARIABLES = "XYZWV"
Rows = dict[str, list[tuple[Any, ...]]]
Version = tuple[Rows, Rows]


@pytest.fixture(scope="module", autouse=True)
def machine_code():
    """What is tested is compiled, whether that has paid by now or not."""
    for width in compiled.WIDTHS:
        if not at_hand(advance.advance, width):
            compiled.load([compiled.kernel_of(advance.advance)], [width])


def premise(draw: Any, relation: str, arity: int, known: list[str]) -> str:
    """A premise that shares a variable with those before it, if there are any; sometimes a constant or one twice."""
    args = [draw(st.sampled_from(VARIABLES)) for _ in range(arity)]
    if known and not set(args) & set(known):
        args[draw(st.integers(0, arity - 1))] = draw(st.sampled_from(known))
    if draw(st.integers(0, 9)) == 0:
        args[draw(st.integers(0, arity - 1))] = str(draw(st.integers(0, NODES - 1)))
    known.extend(arg for arg in args if not arg.isdigit() and arg not in known)
    return f"{relation}({', '.join(args)})"


@st.composite
def programs(draw: Any) -> str:
    """Two relations that may need each other, with rules of one to three premises, in any order, and denials."""
    text = [f"{name}({', '.join(f'c{i}: int' for i in range(arity))})." for name, arity in ARITIES.items()]
    text += ["p(X, Y) :- a(X, Y).", "q(X, Y) :- b(X, Y)."]
    for _ in range(draw(st.integers(1, 4))):
        known: list[str] = []
        own = [draw(st.sampled_from(["p", "q"])) for _ in range(draw(st.integers(1, 2)))]
        lower = [
            draw(st.sampled_from(["a", "b", "c"]))
            for _ in range(draw(st.integers(0 if len(own) > 1 else 1, 2)))
        ]
        order = draw(st.permutations(own + lower))
        body = [premise(draw, name, ARITIES.get(name, 2), known) for name in order]
        if len(known) > 1 and draw(st.booleans()):
            body.append(f"!no({draw(st.sampled_from(known))}, {draw(st.sampled_from(known))})")
        if not known:
            continue
        head = [draw(st.sampled_from(known)) for _ in range(2)]
        if draw(st.integers(0, 7)) == 0:
            head[0] = str(draw(st.integers(0, NODES - 1)))
        text.append(f"{draw(st.sampled_from(['p', 'q']))}({', '.join(head)}) :- {', '.join(body)}.")
    return "\n".join(text)


@st.composite
def streams(draw: Any) -> list[Version]:
    """A first load, then rows that come and go, singly and some at a time."""
    number = st.integers(0, NODES - 1)
    start = {
        name: draw(st.lists(st.tuples(*[number] * arity), min_size=3, max_size=16))
        for name, arity in ARITIES.items()
    }
    versions: list[Version] = [({}, start)]
    for _ in range(draw(st.integers(2, 7))):
        most = draw(st.sampled_from([1, 4]))
        gone = {name: draw(st.lists(st.sampled_from(rows), max_size=most)) for name, rows in start.items()}
        come = {
            name: draw(st.lists(st.tuples(*[number] * arity), max_size=most))
            for name, arity in ARITIES.items()
        }
        versions.append((gone, come))
    return versions


def told(changes: Changes) -> Any:
    return {name: (sorted(one.inserted), sorted(one.deleted)) for name, one in changes.items()}, [
        (cost.relations, cost.rounds, cost.died, cost.doubtful, cost.revived, cost.derivations)
        for cost in changes.statistics.strata
    ]


def state(database: hw.Database) -> Any:
    """Every live row with its rank and count."""
    found = {}
    for name, relation in database.runner.engine.workspace.relations.items():
        codes, ranks, visible = relation.dump()
        found[name] = sorted(map(tuple, np.column_stack((codes, ranks, visible)).tolist()))
    return found


def undone(database: hw.Database) -> Any:
    """The same for after a version that was undone: a count may have lost the sign that it has all derivations."""
    return {
        name: [(*row[:-2], abs(row[-2]), row[-1]) for row in rows] for name, rows in state(database).items()
    }


def followed(program: str, stream: list[Version], *, small: bool = True, **options: Any) -> list[Any]:
    """What each version did, with all ranks and counts that it left; of one that fails, why."""
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr(fixpoint, "small_rounds", lambda _: None)
        database = hw.connect(**options)
        database.define(program)
        for gone, come in stream:
            try:
                found.append((told(database.apply(delete=gone, insert=come)), state(database)))
            except hw.HeadwaterError as error:
                found.append((error.code, state(database)))
    return found


def rows_of(program: str, stream: list[Version], relations: tuple[str, ...], **options: Any) -> list[Any]:
    """What the relations hold after each version."""
    database, found = hw.connect(**options), []
    database.define(program)
    for gone, come in stream:
        database.apply(delete=gone, insert=come)
        found.append([sorted(database[name].rows()) for name in relations])
    return found


@settings(max_examples=120)
@given(program=programs(), stream=streams())
def test_random_programs(program: str, stream: list[Version]):
    assert followed(program, stream) == followed(program, stream, small=False)
    wanted = rows_of(program, stream, ("p", "q"), strategy="recompute")
    assert rows_of(program, stream, ("p", "q")) == wanted


COSTS = """
weighed(x: int, y: int, cost: TYPE). link(x: int, y: int).
cost(X, Y, BEST<C>) :- weighed(X, Y, C).
cost(X, Y, BEST<C>) :- weighed(X, Z, A), cost(Z, Y, B), C = A + B.
"""
WAYS = (
    COSTS,
    COSTS.replace("weighed(X, Z, A), cost(Z, Y, B)", "cost(X, Z, A), weighed(Z, Y, B)"),
    COSTS.replace("weighed(X, Z, A), cost(Z, Y, B)", "cost(X, Z, A), cost(Z, Y, B)"),
    COSTS.replace("C = A + B", "C = A + B, link(X, Y)"),
)


@st.composite
def weighed(draw: Any, costs: st.SearchStrategy[Any], *, upwards: bool) -> list[Version]:
    """Links between nodes, only to larger ones if costs could get better for ever else."""
    node = st.integers(0, NODES - 1)
    link = st.tuples(node, node).filter(lambda pair: pair[0] < pair[1] or not upwards)
    row = st.tuples(link, costs).map(lambda both: (*both[0], both[1]))
    start = {
        "weighed": draw(st.lists(row, min_size=4, max_size=20)),
        "link": draw(st.lists(link, min_size=8, max_size=20)),
    }
    versions: list[Version] = [({}, start)]
    for _ in range(draw(st.integers(2, 6))):
        gone = {name: draw(st.lists(st.sampled_from(rows), max_size=3)) for name, rows in start.items()}
        come = {"weighed": draw(st.lists(row, max_size=2)), "link": draw(st.lists(link, max_size=2))}
        versions.append((gone, come))
    return versions


@pytest.mark.parametrize(
    ("kind", "costs", "best", "upwards"),
    [
        ("int", st.integers(1, 9), "min", False),
        ("int", st.integers(-5, 5), "min", True),
        ("int", st.integers(-5, 5), "max", True),
        ("float", st.sampled_from([0.5, 1.25, 2.0, 3.5, 1e300, float("inf")]), "min", False),
        ("float", st.sampled_from([-1.5, -0.0, 0.0, 2.5, float("-inf")]), "max", True),
        ("int", st.sampled_from([1, 7, 2**31, 2**40, 2**61]), "min", False),
    ],
)
@settings(max_examples=25)
@given(data=st.data())
def test_best_costs(kind: str, costs: st.SearchStrategy[Any], best: str, upwards: bool, data: st.DataObject):
    """Numbers of more than 32 bits come in the middle of a stream, too."""
    program = data.draw(st.sampled_from(WAYS)).replace("TYPE", kind).replace("BEST", best)
    stream = data.draw(weighed(costs, upwards=upwards))
    assert followed(program, stream) == followed(program, stream, small=False)


CLOSURE = "link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


def flaps(seed: int, nodes: int = 40, links: int = 70) -> list[Version]:
    choose = random.Random(seed)
    edges = [divmod(place, nodes) for place in choose.sample(range(nodes * nodes), links)]
    versions: list[Version] = [({}, {"link": edges})]
    for _ in range(12):
        some = choose.sample(edges, choose.choice([1, 1, 5]))
        versions += [({"link": some}, {}), ({}, {"link": some})]
    return versions


@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_one_binding_and_queues_of_some_rows(monkeypatch: pytest.MonkeyPatch, seed: int):
    """Whatever is full on the way is enlarged, and the work goes on from where it stood."""
    wanted = followed(CLOSURE, flaps(seed), small=False)
    monkeypatch.setattr(round_tables, "FIRST_ROOM", views.BINDINGS_A_LEVEL + 1)
    monkeypatch.setattr(small_rounds, "ROUNDS_A_BREATH", 1)
    assert followed(CLOSURE, flaps(seed)) == wanted


@pytest.mark.parametrize("seed", range(3))
def test_an_error_anywhere_in_the_middle_leaves_no_trace(monkeypatch: pytest.MonkeyPatch, seed: int):
    """Each version fails at the first, second, ... thing that the kernel asks Python for, until it does not."""
    stream, database, other = flaps(seed), hw.connect(), hw.connect(strategy="recompute")
    for each in (database, other):
        each.define(CLOSURE)
    monkeypatch.setattr(small_rounds, "ROUNDS_A_BREATH", 1)
    monkeypatch.setattr(round_tables, "FIRST_ROOM", views.BINDINGS_A_LEVEL + 1)
    attend, left = small_rounds.SmallRounds._attend, [0]

    def failing(self: Any, why: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OutOfMemory("out-of-memory", "as a test wants it")
        attend(self, why)

    monkeypatch.setattr(small_rounds.SmallRounds, "_attend", failing)
    failed = 0
    for gone, come in stream:
        for after in range(1, 1000):
            before, left[0] = undone(database), after
            try:
                database.apply(delete=gone, insert=come)
                break
            except OutOfMemory:
                failed += 1
                assert undone(database) == before
        other.apply(delete=gone, insert=come)
        assert sorted(database["reach"].rows()) == sorted(other["reach"].rows())
    assert failed > 10


@pytest.mark.parametrize("seed", range(2))
def test_interrupts_in_the_middle(monkeypatch: pytest.MonkeyPatch, seed: int):
    database, other = hw.connect(), hw.connect(strategy="recompute")
    for each in (database, other):
        each.define(CLOSURE)
    monkeypatch.setattr(small_rounds, "ROUNDS_A_BREATH", 1)
    for number, (gone, come) in enumerate(flaps(seed)):
        pause, left = type(database.runner.engine.workspace.pause).__call__, [1 + number % 5]

        def interrupted(self: Any) -> None:
            left[0] -= 1  # noqa: B023
            if left[0] == 0:  # noqa: B023
                raise KeyboardInterrupt
            pause(self)  # noqa: B023

        before = undone(database)
        with monkeypatch.context() as patch:
            patch.setattr(type(database.runner.engine.workspace.pause), "__call__", interrupted)
            try:
                database.apply(delete=gone, insert=come)
            except KeyboardInterrupt:
                assert undone(database) == before
        database.apply(delete=gone, insert=come)
        other.apply(delete=gone, insert=come)
        assert sorted(database["reach"].rows()) == sorted(other["reach"].rows())


def test_numbers_get_more_bits_in_the_middle(monkeypatch: pytest.MonkeyPatch):
    """Every time that room is made, numbers are stored in 64 bits from then on."""
    stream = flaps(7)
    wanted = rows_of(CLOSURE, stream, ("reach",), strategy="recompute")
    adding = room.adding
    widened = []

    def widening(relation: Any, extra: int) -> bool:
        if relation.name == "reach" and len(widened) < 3:
            widened.append(relation.name)
            return False
        return adding(relation, extra)

    monkeypatch.setattr(room, "adding", widening)
    assert rows_of(CLOSURE, stream, ("reach",)) == wanted
    assert widened


@pytest.mark.parametrize("seed", range(12))
def test_rules_that_ask_of_relations_with_wider_numbers(seed: int):
    """Rows of `start` have 64 bits and those of the stratum 32: the kernel cannot ask for other derivations."""
    text = """
    start(x: int, c: int, big: int). e(x: int, y: int, c: int).
    d(X, min<C>) :- start(X, C, _).
    d(Y, min<C>) :- d(X, A), e(X, Y, B), C = A + B.
    start(0, 5, 1099511627776).
    """
    choose = random.Random(seed)
    edges = {(choose.randrange(8), choose.randrange(8), choose.randrange(1, 5)) for _ in range(22)}
    db = hw.connect()
    db.define(text)
    db.apply(insert={"e": sorted(edges)})
    for _ in range(8):
        come = {(choose.randrange(8), choose.randrange(8), choose.randrange(1, 5)) for _ in range(2)}
        db.apply(insert={"e": sorted(come)})
        edges |= come
    for gone in choose.sample(sorted(edges), 10):
        db.apply(delete={"e": [gone]})
        edges.remove(gone)
        anew = hw.connect(strategy="recompute")
        anew.define(text)
        anew.apply(insert={"e": sorted(edges)})
        assert sorted(db["d"]) == sorted(anew["d"])
