"""hypothesis strategies for programs of the language and for streams of changes to their base relations.

Programs are safe and stratified by construction, and end: what a recursion computes is bounded. The domain is
small, so that joins match, deletes hit, inserts repeat and groups vanish.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import strategies as st
from oracle_programs import (
    Atom,
    Compare,
    Compute,
    Counted,
    Either,
    Literal,
    Not,
    RandomProgram,
    Rule,
    Stratum,
    Term,
)
from oracle_tables import Table

DOMAIN = 4
BASE = {"t": 0, "a": 1, "e": 2, "f": 2, "w": 3}
POOL = ("X", "Y", "Z", "U")
LARGEST_STEP = DOMAIN  # the most that one more premise adds to a cost

constants = st.integers(0, DOMAIN - 1)


# ------------------------------------------------------------------ bodies


@st.composite
def atoms(draw: Any, relation: str, arity: int, pool: Sequence[str] = POOL) -> Atom:
    """An atom of variables, with now and then a constant or a wildcard."""
    return Atom(relation, tuple(draw(_argument(pool)) for _ in range(arity)))


def _argument(pool: Sequence[str]) -> st.SearchStrategy[Term]:
    return st.integers(0, 11).flatmap(
        lambda chance: constants if chance == 11 else st.none() if chance == 10 else st.sampled_from(pool)
    )


@st.composite
def bodies(
    draw: Any, readable: Mapping[str, int], own: Sequence[tuple[str, int]] = (), *, alternatives: bool = True
) -> tuple[tuple[Literal, ...], list[str]]:
    """A safe body that reads each of `own` (positively) and one to two lower relations; and its variables.

    Absent atoms, tests and computations use only what the positive atoms bind.
    """
    names = sorted(readable)
    lower = draw(st.lists(st.sampled_from(names), min_size=0 if own else 1, max_size=2))
    pool = POOL[: 2 + len(own) + len(lower) - 1]
    positive = [draw(atoms(name, arity, pool)) for name, arity in own]
    positive += [draw(atoms(name, readable[name], pool)) for name in lower]
    body: list[Literal] = list(draw(st.permutations(positive)))
    bound = sorted({arg for atom in positive for arg in atom.args if isinstance(arg, str)})
    value = st.one_of(st.sampled_from(bound), constants) if bound else constants
    if alternatives and bound and draw(st.integers(0, 5)) == 5:
        pair = st.sampled_from([name for name in names if readable[name] > 0])
        sides = []
        for name in (draw(pair), draw(pair)):
            sides.append(
                Atom(name, tuple(draw(st.one_of(value, value, st.none())) for _ in range(readable[name])))
            )
        body.append(Either(*sides))
    if draw(st.integers(0, 4)) > 2:
        name = draw(st.sampled_from(names))
        args = tuple(draw(st.one_of(value, value, value, st.none())) for _ in range(readable[name]))
        body.append(Not(Atom(name, args)))
    if bound and draw(st.integers(0, 5)) == 5:
        op = draw(st.sampled_from(["<", "<=", ">", ">=", "!=", "="]))
        body.append(Compare(op, draw(st.sampled_from(bound)), draw(value)))
    if bound and draw(st.integers(0, 4)) == 4:
        op = draw(st.sampled_from(["+", "-", "*", "min", "max"]))
        body.append(Compute("V", op, draw(st.sampled_from(bound)), draw(value)))
        body += [Compare(">=", "V", 0), Compare("<=", "V", 6)]
        bound.append("V")
    if bound and draw(st.integers(0, 5)) == 5:
        body.append(draw(_counted(readable, bound)))
        bound.append("N")
    return tuple(body), bound


@st.composite
def _counted(draw: Any, readable: Mapping[str, int], bound: Sequence[str]) -> Counted:
    name = draw(st.sampled_from([name for name in sorted(readable) if readable[name] > 0]))
    args: list[Term] = [
        draw(st.one_of(st.sampled_from(list(bound)), st.none())) for _ in range(readable[name])
    ]
    if draw(st.booleans()):
        return Counted("N", "count", None, Atom(name, tuple(args)))
    args[draw(st.integers(0, len(args) - 1))] = "Q"
    return Counted("N", "sum", "Q", Atom(name, tuple(args)))


def _heads(name: str, arity: int, bound: Sequence[str]) -> st.SearchStrategy[Atom]:
    if not bound:
        value = constants
    else:
        value = st.integers(0, 9).flatmap(lambda chance: constants if chance == 9 else st.sampled_from(bound))
    return st.tuples(*[value] * arity).map(lambda args: Atom(name, args))


# ------------------------------------------------------------------ strata


@st.composite
def plain(draw: Any, number: int, readable: Mapping[str, int]) -> Stratum:
    """One relation without recursion."""
    name, arity = f"p{number}", draw(st.sampled_from([0, 1, 2, 2, 2]))
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        body, bound = draw(bodies(readable))
        rules.append(Rule(draw(_heads(name, arity, bound)), body))
    return Stratum({name: arity}, tuple(rules), recursive=False)


@st.composite
def recursive(draw: Any, number: int, readable: Mapping[str, int]) -> Stratum:
    """One to three relations that read each other, linearly or not."""
    names = [f"r{number}{letter}" for letter in "abc"[: draw(st.sampled_from([1, 1, 1, 2, 2, 3]))]]
    relations = {name: draw(st.sampled_from([1, 2, 2])) for name in names}
    rules = []
    for i, name in enumerate(names):
        start, bound = draw(bodies(readable))
        rules.append(Rule(draw(_heads(name, relations[name], bound)), start))
        following = names[(i + 1) % len(names)]
        for _ in range(draw(st.integers(1, 2))):
            more = draw(st.lists(st.sampled_from(names), max_size=1 + (draw(st.integers(0, 4)) == 0)))
            body, bound = draw(bodies(readable, [(n, relations[n]) for n in [following, *more]]))
            rules.append(Rule(draw(_heads(name, relations[name], bound)), body))
    return Stratum(relations, tuple(rules), recursive=True)


@st.composite
def aggregated(draw: Any, number: int, readable: Mapping[str, int]) -> Stratum:
    """A relation with count, sum, avg, min or max in its head."""
    function = draw(st.sampled_from(["count", "sum", "min", "max", "avg"]))
    groups = draw(st.integers(0, 2))
    column = groups if function == "avg" else draw(st.integers(0, groups))
    name = f"{'v' if function == 'avg' else 'g'}{number}"
    rules: list[Rule] = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        body, bound = draw(bodies(readable, alternatives=False).filter(lambda found: found[1]))
        head = draw(_heads(name, groups + 1, bound))
        args = list(head.args)
        args[column] = draw(st.sampled_from(bound))
        rule = Rule(Atom(name, tuple(args)), body, (column, function))
        if rule not in rules:  # what is written twice is one rule
            rules.append(rule)
    return Stratum({name: groups + 1}, tuple(rules), recursive=False)


@st.composite
def cheapest(draw: Any, number: int, readable: Mapping[str, int]) -> Stratum:
    """Cheapest ways, from all nodes or from some: linear, non-linear, or in two relations that take turns."""
    name = f"m{number}"
    shape = draw(st.sampled_from(["left", "right", "double", "source", "turns", "near"]))
    extra = draw(_conditions(readable, ["X", "Z"]))
    step = Compute("C", "+", "C1", "C2")
    if shape == "source":
        rules = [
            Rule(Atom(name, ("X", "C")), (Atom("a", ("X",)), Atom("w", ("X", None, "C"))), (1, "min")),
            Rule(
                Atom(name, ("Z", "C")),
                (Atom(name, ("X", "C1")), Atom("w", ("X", "Z", "C2")), step, *extra),
                (1, "min"),
            ),
        ]
        return Stratum({name: 2}, tuple(rules), recursive=True, best={name: (1, "min")})
    edge = Rule(Atom(name, ("X", "Y", "C")), (Atom("w", ("X", "Y", "C")),), (2, "min"))
    if shape == "near":
        near = f"n{number}"
        limit = draw(st.integers(1, 6))
        rules = [
            Rule(Atom(near, ("X",)), (Atom("a", ("X",)),)),
            Rule(Atom(near, ("Z",)), (Atom(name, (None, "Z", "C")), Compare("<", "C", limit))),
            Rule(
                Atom(name, ("X", "Z", "C")),
                (Atom(near, ("X",)), Atom("w", ("X", "Z", "C")), *extra),
                (2, "min"),
            ),
            Rule(
                Atom(name, ("X", "Y", "C")),
                (Atom(name, ("X", "Z", "C1")), Atom("w", ("Z", "Y", "C2")), Atom(near, ("Z",)), step),
                (2, "min"),
            ),
        ]
        return Stratum({near: 1, name: 3}, tuple(rules), recursive=True, best={name: (2, "min")})
    if shape == "turns":
        other = f"o{number}"
        rules = [
            edge,
            Rule(
                Atom(other, ("X", "Y", "C")),
                (Atom(name, ("X", "Z", "C1")), Atom("w", ("Z", "Y", "C2")), step),
                (2, "min"),
            ),
            Rule(
                Atom(name, ("X", "Y", "C")),
                (Atom(other, ("X", "Z", "C1")), Atom("w", ("Z", "Y", "C2")), step, *extra),
                (2, "min"),
            ),
        ]
        return Stratum(
            {name: 3, other: 3}, tuple(rules), recursive=True, best={name: (2, "min"), other: (2, "min")}
        )
    first, second = {"left": (name, "w"), "right": ("w", name), "double": (name, name)}[shape]
    body = (Atom(first, ("X", "Z", "C1")), Atom(second, ("Z", "Y", "C2")), step, *extra)
    rules = [edge, Rule(Atom(name, ("X", "Y", "C")), body, (2, "min"))]
    return Stratum({name: 3}, tuple(rules), recursive=True, best={name: (2, "min")})


@st.composite
def widest(draw: Any, number: int, readable: Mapping[str, int]) -> Stratum:
    """The widest way between nodes: the largest of the smallest."""
    name = f"w{number}"
    first, second = draw(st.sampled_from([(name, "w"), ("w", name), (name, name)]))
    extra = draw(_conditions(readable, ["X", "Z"]))
    body = (
        Atom(first, ("X", "Z", "C1")),
        Atom(second, ("Z", "Y", "C2")),
        Compute("C", "min", "C1", "C2"),
        *extra,
    )
    rules = (
        Rule(Atom(name, ("X", "Y", "C")), (Atom("w", ("X", "Y", "C")),), (2, "max")),
        Rule(Atom(name, ("X", "Y", "C")), body, (2, "max")),
    )
    return Stratum({name: 3}, rules, recursive=True, best={name: (2, "max")})


@st.composite
def saturating(draw: Any, number: int, readable: Mapping[str, int]) -> Stratum:
    """Values that improve themselves around cycles until they reach a cap (or a floor, for the least).

    Monotone: a better premise leads to the same group with a value that is as good or better.
    """
    name, other = f"s{number}", f"u{number}"
    best, op, limit = draw(st.sampled_from([("max", "+", "min"), ("min", "-", "max")]))
    cap = draw(st.integers(4, 9)) if best == "max" else draw(st.integers(0, 2))
    extra = draw(_conditions(readable, ["X", "Y"]))

    def improved(head: str, body: tuple[Literal, ...], left: str, right: Term, *more: Literal) -> Rule:
        steps = (Compute("T", op, left, right), Compute("C", limit, "T", cap))
        return Rule(Atom(head, ("Y", "C")), (*body, *steps, *more), (1, best))

    own, edge = Atom(name, ("X", "C1")), Atom("w", ("X", "Y", "C2"))
    start = Rule(
        Atom(name, ("X", "C")), (Atom("e", ("X", "C")), *draw(_conditions(readable, ["X", "C"]))), (1, best)
    )
    shape = draw(st.sampled_from(["step", "weight", "double", "turns", "gate"]))
    relations, selected = {name: 2}, {name: (1, best)}
    if shape == "step":
        rules = [start, improved(name, (own, Atom("f", ("X", "Y"))), "C1", 1, *extra)]
    elif shape == "weight":
        rules = [start, improved(name, (own, edge), "C1", "C2", *extra)]
    elif shape == "double":
        rules = [
            start,
            improved(name, (own, Atom("f", ("X", "Y")), Atom(name, ("Y", "C2"))), "C1", "C2", *extra),
        ]
    elif shape == "turns":
        relations[other], selected[other] = 2, (1, best)
        back = Rule(Atom(name, ("Y", "C")), (Atom(other, ("X", "C")), Atom("f", ("X", "Y"))), (1, best))
        rules = [start, improved(other, (own, edge), "C1", "C2", *extra), back]
    else:
        relations[other] = 1
        opens = Compare(">=" if best == "max" else "<=", "C1", draw(st.integers(1, 3)))
        rules = [
            start,
            Rule(Atom(other, ("X",)), (own, opens)),
            improved(name, (own, edge, Atom(other, ("X",))), "C1", "C2", *extra),
            Rule(Atom(name, ("Y", "C")), (Atom(other, ("X",)), Atom("w", ("X", "Y", "C"))), (1, best)),
        ]
    return Stratum(relations, tuple(rules), recursive=True, best=selected)


@st.composite
def _conditions(draw: Any, readable: Mapping[str, int], bound: Sequence[str]) -> list[Literal]:
    """Conditions on nodes, which do not concern what is compared."""
    names = [name for name in sorted(readable) if readable[name] > 0]
    value = st.one_of(st.sampled_from(bound), constants, st.none())
    kind = draw(st.sampled_from(["none", "none", "not", "test"]))
    if kind == "not":
        name = draw(st.sampled_from(names))
        return [Not(Atom(name, tuple(draw(value) for _ in range(readable[name]))))]
    if kind == "test":
        return [Compare("!=", bound[0], bound[1])]
    return []


@st.composite
def tables(draw: Any, base: Mapping[str, int]) -> dict[str, Table]:
    """Keys, lifetimes and sizes for some of the base relations."""
    found: dict[str, Table] = {}
    for name, arity in base.items():
        if arity and draw(st.integers(0, 3)) == 0:
            columns = draw(st.lists(st.integers(0, arity - 1), unique=True, min_size=1))
            found[name] = Table(
                draw(st.sampled_from([None, None, 1, 3, 6])),
                draw(st.sampled_from([None, None, 1, 3, 8])),
                draw(st.sampled_from([None, tuple(columns)])),
            )
    return found


@st.composite
def programs(draw: Any, *, recursion: bool = True, limited: bool = False) -> RandomProgram:
    """One to four strata over the base relations, some of which have keys, lifetimes and sizes if `limited`."""
    readable = dict(BASE)
    strata: list[Stratum] = []
    kinds: list[Any] = [plain, aggregated, aggregated]
    if recursion:
        kinds += [recursive, recursive, recursive, cheapest, widest, saturating]
    for number in range(draw(st.integers(1, 4))):
        stratum = draw(draw(st.sampled_from(kinds))(number, readable))
        strata.append(stratum)
        readable.update({name: arity for name, arity in stratum.relations.items() if name[0] != "v"})
    selected = max((len(stratum.best) for stratum in strata), default=0)
    return RandomProgram(
        BASE,
        tuple(strata),
        bound=LARGEST_STEP * DOMAIN * max(1, selected),
        tables=draw(tables(BASE)) if limited else {},
    )


@st.composite
def dense_programs(draw: Any) -> RandomProgram:
    """One recursive stratum in which rows have many derivations each, over what changes in the same version.

    Every rule reads its own stratum once or twice, lower relations, and the absence of a lower row.
    """
    names = ["ra", "rb"][: draw(st.integers(1, 2))]
    relations = {name: draw(st.sampled_from([1, 1, 2])) for name in names}
    arities = {**BASE, **relations}
    order = st.permutations(["X", "Y", "Z"])
    rules = []
    for name in names:
        start = ("X", "Y")[: relations[name]]
        rules.append(Rule(Atom(name, start), (Atom("e", ("X", "Y")), Not(Atom("f", ("X", "Y"))))))
        for _ in range(draw(st.integers(2, 3))):
            reads = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
            reads += draw(st.lists(st.sampled_from(["e", "f", "a", "w"]), min_size=1, max_size=2))
            body: list[Any] = [Atom(other, tuple(draw(order)[: arities[other]])) for other in reads]
            bound = sorted({arg for atom in body for arg in atom.args})
            absent = draw(st.sampled_from(["e", "f", "a"]))
            args = tuple(draw(st.sampled_from(bound)) for _ in range(BASE[absent]))
            body.insert(draw(st.integers(0, len(body))), Not(Atom(absent, args)))
            head = tuple((draw(st.permutations(bound)) * 2)[: relations[name]])
            rules.append(Rule(Atom(name, head), tuple(body)))
    return RandomProgram(BASE, (Stratum(relations, tuple(rules), recursive=True),))


# ------------------------------------------------------------------ changes


Rows = dict[str, list[tuple[int, ...]]]


@dataclass(frozen=True)
class Version:
    """Deletes, then inserts. `again` deletes and inserts the same rows; `clear` empties relations first. Then as many
    seconds go by as `seconds` says, where rows have lifetimes."""

    delete: Rows
    insert: Rows
    again: Rows
    clear: tuple[str, ...] = ()
    seconds: int = 0

    def resolved(self, state: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """The rows to delete and to insert, given what is there."""
        names = {*self.delete, *self.insert, *self.again, *self.clear}
        delete = {
            name: [
                *(sorted(state[name]) if name in self.clear else []),
                *self.delete.get(name, []),
                *self.again.get(name, []),
            ]
            for name in sorted(names)
        }
        insert = {name: [*self.insert.get(name, []), *self.again.get(name, [])] for name in sorted(names)}
        return delete, insert


def _rows(base: Mapping[str, int], most: int, least: int = 0) -> st.SearchStrategy[Rows]:
    tables = {
        name: st.lists(st.tuples(*[constants] * arity), min_size=min(arity, 1) * least, max_size=most)
        for name, arity in base.items()
    }
    return st.fixed_dictionaries(tables).map(
        lambda rows: {name: found for name, found in rows.items() if found}
    )


@st.composite
def versions(draw: Any, base: Mapping[str, int]) -> Version:
    """Small changes mostly; now and then a big one, one that changes nothing, or one that empties a relation."""
    most = draw(st.sampled_from([1, 1, 4, 10]))
    rows = _rows(base, most, least=most // 3)
    clear = (
        tuple(draw(st.lists(st.sampled_from(sorted(base)), max_size=1)))
        if draw(st.integers(0, 7)) == 0
        else ()
    )
    again = draw(_rows(base, 1)) if most > 1 else {}
    return Version(draw(rows), draw(rows), again, clear, draw(st.sampled_from([0, 0, 1, 3])))


def _seeded(seed: int, base: Mapping[str, int], length: int) -> list[Version]:
    """Changes as evenly random as they can be: hypothesis is fond of equal values, and few deletes would hit."""
    rng = random.Random(seed)
    full = {name: list(product(range(DOMAIN), repeat=arity)) for name, arity in base.items()}
    state = {name: set(rng.sample(rows, min(len(rows), rng.randint(1, 12)))) for name, rows in full.items()}
    stream = [Version({}, {name: sorted(rows) for name, rows in state.items()}, {})]
    for _ in range(length):
        size = rng.choice([1, 1, 2, 5, 12])
        delete: Rows = {}
        insert: Rows = {}
        for name in rng.sample(sorted(base), rng.randint(1, len(base)) if size > 1 else 1):
            delete[name] = rng.sample(sorted(state[name]), min(len(state[name]), rng.randint(0, size)))
            insert[name] = rng.sample(full[name], min(len(full[name]), rng.randint(0, size)))
            state[name] = (state[name] - set(delete[name])) | set(insert[name])
        stream.append(Version(delete, insert, {}, seconds=rng.choice([0, 0, 1, 3])))
    return stream


def streams(base: Mapping[str, int] = BASE, length: int = 7) -> st.SearchStrategy[list[Version]]:
    """A first version with many rows, then changes: chosen by hypothesis, or evenly random."""
    first = _rows(base, 12, least=3).map(lambda rows: Version({}, rows, {}))
    rest = st.lists(versions(base), min_size=2, max_size=length)
    chosen = st.tuples(first, rest).map(lambda both: [both[0], *both[1]])
    seeded = st.integers(0, 2**63).map(lambda seed: _seeded(seed, base, length))
    return st.integers(0, 3).flatmap(lambda chance: chosen if chance == 0 else seeded)
