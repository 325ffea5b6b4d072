"""Random databases to ask about: a program, rows of its base relations, and questions."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_programs import Atom, Counted, Either, Not, RandomProgram
from oracle_strategies import BASE, DOMAIN, Version, plain, programs, recursive, streams

import headwater as hw
from headwater.database import Database

STRATEGIES = ["support", "support", "dred", "recompute", "auto", "absorption", "relative"]
Row = tuple[Any, ...]
Base = dict[str, set[Row]]


@dataclass
class Case:
    """A database of ours, and all that is needed to ask another engine the same."""

    program: RandomProgram
    base: Base
    db: Database
    seed: int

    def rows(self, most: int) -> list[tuple[str, Row]]:
        """Some rows of views, evenly from all of them."""
        derived = [
            (name, row) for name in self.program.relations if name not in BASE for row in self.db[name].rows()
        ]
        return random.Random(self.seed).sample(sorted(derived, key=repr), min(most, len(derived)))

    def absent(self, most: int) -> list[tuple[str, Row]]:
        """Some rows of views that are not there."""
        rng = random.Random(self.seed)
        found = []
        for name, arity in self.program.relations.items():
            if name in BASE or name[0] == "v":
                continue
            there = set(self.db[name].rows())
            missing = [row for row in product(range(DOMAIN + 2), repeat=arity) if row not in there]
            found += [(name, row) for row in rng.sample(missing, min(2, len(missing)))]
        return rng.sample(found, min(most, len(found)))

    def without(self, gone: Iterable[tuple[str, Row]]) -> Base:
        """The base rows but some."""
        lost = set(map(tuple, gone))
        return {name: {row for row in rows if (name, row) not in lost} for name, rows in self.base.items()}

    def holds(self, relation: str, row: Row, base: Base) -> bool:
        """Whether the row follows from these base rows: clingo says."""
        return row in solve(self.program, base)[relation]


def only(facts: Iterable[tuple[str, Row]]) -> Base:
    """Base relations that hold these rows and no others."""
    base: Base = {name: set() for name in BASE}
    for name, row in facts:
        base[name].add(row)
    return base


def fresh(program: RandomProgram, base: Base, strategy: str = "support") -> Database:
    """A new database of ours."""
    db = hw.connect(strategy=strategy)
    db.define(program.text())
    db.apply(insert={name: sorted(rows) for name, rows in base.items()})
    return db


def positive() -> st.SearchStrategy[RandomProgram]:
    """Programs without negation and aggregates."""
    return _without_negation().filter(lambda program: not counts(program))


@st.composite
def _without_negation(draw: Any) -> RandomProgram:
    readable = dict(BASE)
    strata = []
    for number in range(draw(st.integers(1, 3))):
        stratum = draw(draw(st.sampled_from([plain, recursive, recursive]))(number, readable))
        rules = tuple(
            replace(rule, body=tuple(part for part in rule.body if not isinstance(part, Not)))
            for rule in stratum.rules
        )
        stratum = replace(stratum, rules=rules)
        strata.append(stratum)
        readable.update(stratum.relations)
    return RandomProgram(BASE, tuple(strata))


def counts(program: RandomProgram) -> bool:
    """Whether a body counts or sums."""
    return any(isinstance(part, Counted) for s in program.strata for rule in s.rules for part in rule.body)


def layered(program: RandomProgram) -> bool:
    """Whether what is negated or aggregated is positive all the way down, and nothing is both at once."""
    plain = set(BASE)
    for stratum in program.strata:
        steps = bool(stratum.best) or any(rule.aggregate for rule in stratum.rules)
        simple = True
        for rule in stratum.rules:
            for part in rule.body:
                if isinstance(part, Not | Counted):
                    simple = False
                    if part.atom.relation not in plain or steps:
                        return False
                elif steps and not _names(part) <= plain | set(stratum.relations):
                    return False
                elif not _names(part) <= plain | set(stratum.relations):
                    simple = False
        if simple and not steps:
            plain.update(stratum.relations)
    return True


def _names(part: Any) -> set[str]:
    atoms = [part.left, part.right] if isinstance(part, Either) else [part]
    return {atom.relation for atom in atoms if isinstance(atom, Atom)}


def followed(program: RandomProgram, stream: list[Version], strategy: str) -> Iterator[tuple[Database, Base]]:
    """The database after each version of a stream, and its base rows."""
    db = hw.connect(strategy=strategy)
    db.define(program.text())
    base: Base = {name: set() for name in BASE}
    for version in stream:
        delete, insert = version.resolved(base)
        db.apply(insert=insert, delete=delete)
        for name in BASE:
            base[name] = (base[name] - set(delete.get(name, ()))) | set(insert.get(name, ()))
        yield db, base


@st.composite
def cases(draw: Any, kind: Any = None, length: int = 2) -> Case:
    """A random program, loaded by a few versions under a random strategy."""
    program = draw(programs() if kind is None else kind)
    strategy = draw(st.sampled_from(STRATEGIES))
    *_, (db, base) = followed(program, draw(streams(length=length)), strategy)
    return Case(program, base, db, draw(st.integers(0, 2**32)))
