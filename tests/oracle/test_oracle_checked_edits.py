"""Rules that come and go are checked alone where that is enough: the program is as if all of it was checked."""

from __future__ import annotations

import random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import FIGURES, examples
from oracle_programs import RandomProgram
from oracle_strategies import programs

import headwater as hw
from headwater.catalog import edited_rules, lone_rules
from headwater.catalog.catalog import Catalog
from headwater.language.datalog.render import render
from headwater.rules.checked import Checked


def whole(catalog: Catalog, stored: dict[str, bool]) -> Checked:
    """What checking everything gives."""
    return catalog.definitions.check(catalog.functions, catalog._fixed(lambda name: stored.get(name, False)))


def assert_same(found: Checked, expected: Checked) -> None:
    assert found.relations == expected.relations
    for kind in ("strata", "virtual", "followed"):
        one, other = getattr(found, kind), getattr(expected, kind)
        assert {frozenset(s.relations): (frozenset(map(repr, s.rules)), s.recursive) for s in one} == {
            frozenset(s.relations): (frozenset(map(repr, s.rules)), s.recursive) for s in other
        }
    assert (found.facades, found.facts, found.inputs, found.outputs) == (
        expected.facades,
        expected.facts,
        expected.inputs,
        expected.outputs,
    )
    assert found.notes == expected.notes
    seen: set[str] = set()
    for stratum in found.strata:  # each reads earlier ones only
        seen |= set(stratum.relations)
        derived = {name for other in found.strata for name in other.relations}
        read = {item.relation for rule in stratum.rules for item in rule.body if hasattr(item, "relation")}
        assert read & derived <= seen


@settings(max_examples=examples(25), deadline=None)
@given(programs(), st.integers(0, 10**9))
def test_a_program_whose_rules_come_and_go_is_as_if_checked_whole(program: RandomProgram, seed: int):
    draw = random.Random(seed)
    db = hw.connect(max_rounds=2000)
    db.define(program.text())
    dropped: list[str] = []
    for _ in range(8):
        rules = {rule.id: rule for rule in db.catalog.rules}
        try:
            if dropped and draw.random() < 0.5:
                db.add_rule(dropped.pop(draw.randrange(len(dropped))))
            elif rules:
                id = draw.choice(sorted(rules))
                other = draw.choice(sorted(rules))
                text = render(rules[id])
                if draw.random() < 0.4:
                    ids = draw.sample(sorted(rules), min(len(rules), draw.choice([1, 2, 3])))
                    more = [dropped.pop() for _ in range(min(len(dropped), draw.choice([0, 1, 2])))]
                    dropped += [render(rules[id]) for id in ids]
                    db.define("".join(f".drop rule {id}\n" for id in ids) + "\n".join(more))
                elif draw.random() < 0.2:
                    db.replace_rule(id, render(rules[other]).partition(": ")[2] or render(rules[other]))
                    dropped.append(text)
                else:
                    db.drop_rule(id)
                    dropped.append(text)
        except hw.HeadwaterError:
            continue
        FIGURES["edited programs checked both ways"] += 1
        stored = {
            name: db.runner.stored(name) for name, info in db.catalog.program.relations.items() if info.base
        }
        assert_same(db.catalog.program, whole(db.catalog, stored))


def test_what_is_checked_alone():
    db = hw.connect()
    db.define("""
        e(x: int, y: int). f(x: int, y: int).
        p(X, Y) :- e(X, Y).
        p(X, Z) :- p(X, Y), e(Y, Z).
        q(X, Y) :- f(X, Y), !p(X, Y).
        c(X, count<Y>) :- q(X, Y).
        best(X, min<Y>) :- f(X, Y).
    """)
    checked: list[int] = []
    check = edited_rules.check

    def counting(program, *args, **options):  # type: ignore[no-untyped-def]
        checked.append(len(program.rules))
        return check(program, *args, **options)

    def asked(call, *args: str) -> list[int]:  # type: ignore[no-untyped-def]
        checked.clear()
        call(*args)
        return list(checked)

    with patch.object(edited_rules, "check", counting), patch.object(lone_rules, "check", counting):
        assert asked(db.add_rule, "q(X, X) :- e(X, X), X > 3.") == [1]  # the new rule
        assert asked(db.replace_rule, "q#2", "q(X, X) :- p(X, X), X > 3.") == [1]
        assert asked(db.drop_rule, "q#2") == []  # what stays is as it was
        assert asked(db.drop_rule, "p#2") == []  # no recursion any more
        assert not db.catalog.program.strata[0].recursive
        assert asked(db.add_rule, "p(X, Z) :- p(X, Y), p(Y, Z).") == []  # a plain join is as it stands
        assert asked(db.add_rule, "p(A, B) :- e(A, B).") == [
            3
        ]  # perhaps one that is there: all of its stratum
        assert asked(db.add_rule, "new(X) :- e(X, X).") == []  # a new view: all is checked
        assert asked(db.add_rule, "c(X, count<Y>) :- e(X, Y).") == []  # groups
        assert asked(db.add_rule, "q(X, Y) :- f(X, Y), !e(X, _).") == [1, 2]  # a helping relation: all
        assert asked(db.add_rule, "p(X, Y) :- best(X, Y).") == []  # who else reads what is chosen from
    with patch.object(edited_rules, "check", counting):
        try:
            db.add_rule("p(X, Y) :- e(X, Y), !q(X, Y).")
        except hw.HeadwaterError as error:
            assert error.code == "unstratified-negation"
        else:
            raise AssertionError


def test_rules_of_a_text_that_say_the_same_are_one():
    db = hw.connect()
    db.define("e(x: int, y: int). f(x: int, y: int). p(X, Y) :- e(X, Y).")
    db.define("p(X, Y) :- e(X, Y), f(X, Y). p(A, B) :- e(A, B), f(A, B).")
    assert len(db.catalog.program.strata[0].rules) == 2
    assert_same(db.catalog.program, whole(db.catalog, {}))
