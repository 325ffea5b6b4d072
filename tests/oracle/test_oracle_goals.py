"""Questions by goal over random programs and binding patterns, against clingo's full evaluation."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_goals import Goal, goals, joined
from oracle_lockstep import examples
from oracle_programs import RandomProgram
from oracle_strategies import BASE, dense_programs, programs, streams

import headwater as hw


def base_of(program: RandomProgram, stream: list) -> dict[str, set]:
    """The base rows that a stream of changes leads to."""
    rows: dict[str, set] = {name: set() for name in program.base}
    for version in stream:
        for name, gone in version.delete.items():
            rows[name] -= set(gone)
        for name, come in version.insert.items():
            rows[name] |= set(come)
    return rows


def declarations() -> str:
    columns = {name: ", ".join(f"c{i}: number" for i in range(arity)) for name, arity in BASE.items()}
    return "\n".join(f".decl {name}({listed})" for name, listed in columns.items())


@settings(max_examples=examples(60))
@given(st.data(), st.one_of(programs(), programs(recursion=False), dense_programs()))
def test_rules_of_the_question(data: st.DataObject, program: RandomProgram):
    """The base relations are stored and all rules come with the question."""
    base = base_of(program, data.draw(streams()))
    expected = solve(program, base)
    with hw.connect() as db:
        db.define(declarations(), insert=base)
        rules = program.text().replace(declarations(), "")
        for goal in data.draw(st.lists(goals(program), min_size=1, max_size=4)):
            answers = db.query(f"{rules}\n?- {goal.text}.")
            assert set(answers.rows()) == goal.answers(expected[goal.relation]), goal.text
            assert len(answers) == len(set(answers.rows()))
            assert answers.columns == tuple(goal.variables)


@settings(max_examples=examples(25))
@given(st.data(), st.one_of(programs(), dense_programs()))
def test_virtual_views(data: st.DataObject, program: RandomProgram):
    """All rules are defined, some of the views are virtual, and base rows change."""
    derived = sorted(name for stratum in program.strata for name in stratum.relations)
    virtual = data.draw(st.sets(st.sampled_from(derived), min_size=1))
    state: dict[str, set] = {name: set() for name in program.base}
    with hw.connect() as db:
        kinds = "\n".join(f".kind {name} virtual" for name in sorted(virtual))
        db.define(f"{program.text()}\n{kinds}\n")
        for version in data.draw(streams(length=3)):
            db.apply(version.insert, version.delete)
            for name, gone in version.delete.items():
                state[name] -= set(gone)
            for name, come in version.insert.items():
                state[name] |= set(come)
            expected = solve(program, state)
            for goal in data.draw(st.lists(goals(program), min_size=1, max_size=2)):
                assert set(db.query(goal.text).rows()) == goal.answers(expected[goal.relation]), goal.text
            for name in derived:
                assert frozenset(db[name].rows()) == expected[name], name
        for name in derived:
            db.keep(name, "stored")
        assert all(frozenset(db[name].rows()) == expected[name] for name in derived)


@settings(max_examples=examples(30))
@given(st.data(), st.one_of(programs(), dense_programs()), st.booleans())
def test_two_conditions(data: st.DataObject, program: RandomProgram, negated: bool):
    """A goal of two atoms that share variables, the second negated or not."""
    base = base_of(program, data.draw(streams()))
    expected = solve(program, base)
    averages = program.averages()
    derived = goals(program).filter(lambda goal: goal.relation not in averages)
    if all(name in averages for stratum in program.strata for name in stratum.relations):
        return
    first, second = data.draw(derived), data.draw(derived)
    if negated:  # what is negated has values from the first, or any
        args = tuple(a if not isinstance(a, str) or a in first.variables else None for a in second.args)
        second = Goal(second.relation, args)
    with hw.connect() as db:
        virtual = "\n".join(f".kind {name} virtual" for s in program.strata for name in s.relations)
        db.define(f"{program.text()}\n{virtual}\n", insert=base)
        answers = db.query(f"{first.text}, {'!' if negated else ''}{second.text}")
        assert set(answers.rows()) == joined(first, second, negated, expected)
