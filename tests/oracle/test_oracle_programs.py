"""Random programs under random changes: every strategy, after every version, against clingo."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams

RECURSIVE = ("support", "dred", "recompute", "auto")
PLAIN = ("support", "counting", "dred", "recompute", "auto")


def follow(program: RandomProgram, stream: list[Version]) -> Lockstep:
    """All strategies through all versions."""
    lockstep = Lockstep(program.text(), RECURSIVE if program.recursive else PLAIN, tables=program.tables)
    for version in stream:
        lockstep.follow(version, lambda state: solve(program, {name: state[name] for name in program.base}))
    return lockstep


@settings(max_examples=examples(40))
@given(programs(limited=True), streams())
def test_recursive_programs(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(max_examples=examples(35))
@given(dense_programs(), streams())
def test_much_changes_at_once(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(max_examples=examples(35))
@given(programs(recursion=False, limited=True), streams())
def test_programs_without_recursion(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(max_examples=examples(20))
@given(st.data())
def test_every_order_of_the_same_changes_gives_the_same_rows(data: st.DataObject):
    """The state depends on the rows that are there, not on the way that led to them."""
    program = data.draw(programs())
    stream = data.draw(streams(length=4))
    one = follow(program, stream)
    base = {name: sorted(one.state[name]) for name in program.base}
    other = Lockstep(program.text(), ["support", "dred"])
    for name, rows in base.items():
        for row in data.draw(st.permutations(rows)):
            other.apply({}, {name: [row]})
    assert other.state == one.state
