"""Bodies with many wildcards and with parts that have nothing to do with each other, against clingo."""

from __future__ import annotations

import random

import pytest
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import Atom, Compare, Literal, Not, RandomProgram, Rule, Stratum

BASE = {"t": 0, "a": 1, "e": 2, "f": 2, "w": 3}
POOL = ("X", "Y", "Z", "U", "V")


def _atom(rng: random.Random, relation: str, arity: int) -> Atom:
    return Atom(relation, tuple(None if rng.random() < 0.35 else rng.choice(POOL) for _ in range(arity)))


def _rule(rng: random.Random, head: str, arity: int, readable: dict[str, int]) -> Rule:
    while True:
        names = rng.choices(sorted(readable), k=rng.randint(2, 5))
        body: list[Literal] = [_atom(rng, name, readable[name]) for name in names]
        bound = sorted({arg for atom in body for arg in atom.args if isinstance(arg, str)})
        if len(bound) >= max(arity, 1):
            break
    if rng.random() < 0.5:
        body.append(Compare(rng.choice(["<", "!=", "<="]), rng.choice(bound), rng.choice([*bound, 2])))
    if rng.random() < 0.3:
        absent = rng.choice(["a", "e", "w"])
        args = tuple(rng.choice([*bound, None, 1]) for _ in range(BASE[absent]))
        body.append(Not(Atom(absent, args)))
    return Rule(Atom(head, tuple(rng.sample(bound, arity))), tuple(body))


def _program(rng: random.Random) -> RandomProgram:
    arities = {"p": rng.randint(0, 2), "r": rng.randint(1, 2)}
    first = Stratum({"p": arities["p"]}, (_rule(rng, "p", arities["p"], BASE),), recursive=False)
    below = {**BASE, "p": arities["p"]}
    start = _rule(rng, "r", arities["r"], below)
    again = _rule(rng, "r", arities["r"], below)
    again = Rule(again.head, (*again.body, _atom(rng, "r", arities["r"])))
    second = Stratum({"r": arities["r"]}, (start, again), recursive=True)
    return RandomProgram(BASE, (first, second))


def _rows(rng: random.Random, arity: int) -> list[tuple[int, ...]]:
    return [tuple(rng.randint(0, 3) for _ in range(arity)) for _ in range(rng.randint(0, 5))]


@pytest.mark.parametrize("seed", range(examples(40)))
def test_what_only_has_to_exist_follows_changes(seed: int):
    rng = random.Random(seed)
    program = _program(rng)
    lockstep = Lockstep(program.text(), ("support", "dred", "relative"))
    for _ in range(4):
        delete = {
            name: rng.sample(sorted(lockstep.state[name]), rng.randint(0, len(lockstep.state[name])))
            for name in BASE
        }
        insert = {name: _rows(rng, arity) for name, arity in BASE.items() if rng.random() < 0.7}
        lockstep.apply(
            delete, insert, lambda state: solve(program, {name: state[name] for name in program.base})
        )
