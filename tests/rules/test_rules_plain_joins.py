"""A rule that is taken as it is comes out as `check` has it."""

from __future__ import annotations

import os
from dataclasses import asdict, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.language.datalog import parse
from headwater.language.program import Declaration, Program
from headwater.rules.check import check
from headwater.rules.plain_joins import plain_join
from headwater.values.functions import Functions

FUNCTIONS = Functions()
BEFORE = check(
    parse(
        """a(x: int, y: int). b(x: string, y: int). c(x: float). n(x: int?, y: int). d(x: int, y: int, z: int).
        v(X, Y) :- a(X, Y). v(X, Z) :- a(X, Y), v(Y, Z). w(X) :- c(X). s(X, min<Y>) :- a(X, Y).
        t(X, Y, Z) :- d(X, Y, Z)."""
    ),
    FUNCTIONS,
).relations
ARITIES = {"a": 2, "b": 2, "c": 1, "n": 2, "d": 3, "v": 2, "w": 1, "s": 2, "t": 3}


EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", 200))
CONSTANTS = ("1", "0", '"a"', "2.5", "_", "X")


@st.composite
def atoms(draw: st.DrawFn, relations: str, *, constants: bool = False) -> str:
    name = draw(st.sampled_from(relations))
    args = list(draw(st.permutations("XYZW")))[: ARITIES[name]]
    if constants and draw(st.integers(0, 3)) == 0:
        args[draw(st.integers(0, len(args) - 1))] = draw(st.sampled_from(CONSTANTS))
    return f"{name}({', '.join(args)})"


@st.composite
def compared(draw: st.DrawFn) -> str:
    sides = st.sampled_from(("X", "Y", "Z", "W", "1", '"a"', "2.5"))
    return f"{draw(sides)} {draw(st.sampled_from(('!=', '<', '<=', '>', '>=', '=')))} {draw(sides)}"


def literals() -> st.SearchStrategy[str]:
    some = atoms("aaabdvwtcns", constants=True)
    return st.one_of(some, some, compared(), some.map(lambda atom: f"!{atom}"))


def agree(text: str) -> bool:
    rule = replace(parse(text).rules[0], id="v#9")
    found = plain_join(rule, BEFORE, FUNCTIONS)
    if found is None:
        return False
    declared = tuple(Declaration(name, info.declared) for name, info in sorted(BEFORE.items()))
    types = {name: info.types for name, info in BEFORE.items() if name != found.relation}
    checked = check(Program((rule,), declared), FUNCTIONS, known=types)
    (expected,) = [rule for stratum in checked.strata for rule in stratum.rules]
    assert repr(asdict(found)) == repr(asdict(expected))
    assert not checked.notes
    return True


@given(atoms("vwt"), st.lists(atoms("aabdvwtcns"), min_size=1, max_size=3), st.lists(literals(), max_size=3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_plain_rule_is_what_check_makes_of_it(head: str, body: list[str], more: list[str]) -> None:
    agree(f"{head} :- {', '.join(body + more)}.")


def test_joins() -> None:
    for text in (
        "v(X, Y) :- a(X, Y).",
        "v(X, Z) :- a(X, Y), a(Y, Z).",
        "v(X, Z) :- a(X, Y), v(Y, Z).",
        "t(X, Y, Z) :- a(X, Y), a(Y, Z).",
        "v(X, Y) :- a(X, Y), a(Y, X).",
        "w(X) :- c(X).",
        "v(X, Y) :- a(X, Y), X < Y, X != 3, 1 <= Y.",
        "v(X, Y) :- a(X, Y), !a(Y, X), X > Y.",
        "v(X, Z) :- a(X, Y), !a(Y, X), a(Y, Z), X != Z, !d(1, X, Z).",
        "v(X, Y) :- d(X, Y, 3), !d(X, 1, Y).",
        "w(X) :- c(X), X < 2.5.",
        "v(X, Y) :- a(X, Z), a(Y, Z), d(X, Y, Z).",
    ):
        assert agree(text), text


def test_what_check_has_to_look_at() -> None:
    for text in (
        "v(X, Y) :- b(X, Y).",  # another type
        "v(X, Y) :- n(X, Y).",  # nulls
        "v(X, Y) :- s(X, Y).",  # an aggregate's best rows
        "v(X, X) :- a(X, X).",
        "v(X, Y) :- a(X, Y), d(X, Y, Z).",  # a value that nobody asks for
        "v(X, Z) :- a(X, Y).",  # unsafe
        "v(X, Y) :- a(X, Y), a(X, Y).",
        "v(X, Y) :- v(X, Y).",
        "v(X, Y) :- a(X, Y, Y).",
        "v(X, Y) :- unheard(X, Y).",
        "v(X, Y) :- a(X, Y), a(Y, Z), a(Z, X).",
        "v(X, Y) :- a(X, Y), X = Y.",
        "v(X, Y) :- a(X, Y), X < 2.5.",  # another type
        'v(X, Y) :- a(X, Y), X != "a".',
        "v(X, Y) :- a(X, Y), X < Z.",
        "v(X, Y) :- a(X, Y), !a(X, Z).",
        "v(X, Y) :- a(X, Y), !a(X, _).",
        "v(X, Y) :- a(X, Y), !a(X, Y), !a(X, Y).",
        "v(X, Y) :- a(X, Y), X < X.",
        "v(X, Y) :- a(X, Y), a(Y, 1), d(X, Y, Z), Z > 1.",
        "v(X, Y) :- a(X, Y), c(Z), Z > 1.5.",
        "w(X) :- c(X), X > 1.",
        "v(X, Y) :- a(X, Y), !v(Y, X).",
    ):
        assert not agree(text), text
