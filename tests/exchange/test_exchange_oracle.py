"""Random confederations beside a chase: mappings with cycles and existentials, edits, curation, trust, any order of
publishing and importing. After each step the peer that did it has what follows from the logs that it has taken."""

from __future__ import annotations

import os
import random
import tempfile

import pytest
from exchange_chase import (
    SCALES,
    Chase,
    ChaseAtom,
    ChaseCondition,
    ChaseMapping,
    ChaseRating,
    settled,
    weakly_acyclic,
)
from exchange_support import COMMON
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.maintain import mostly_gone

EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "6"))
STEPS = 14
VALUES = range(3)


def random_mappings(chance: random.Random, arities: dict) -> list[ChaseMapping]:
    """Some mappings that are weakly acyclic together."""
    names = list(arities)
    found: list[ChaseMapping] = []
    for number in range(chance.randint(2, 5)):
        for _ in range(20):
            made = random_mapping(chance, f"m{number}", names, arities)
            if weakly_acyclic([*found, made]):
                found.append(made)
                break
    return found


def random_mapping(chance: random.Random, label: str, names: list, arities: dict) -> ChaseMapping:
    variables = ["x", "y", "z"]

    def atom(more: list, constants: float) -> ChaseAtom:
        name = chance.choice(names)
        terms = tuple(
            chance.choice(VALUES) if chance.random() < constants else chance.choice(more)
            for _ in range(arities[name])
        )
        return ChaseAtom(name, terms)

    body = tuple(atom(variables, 0.08) for _ in range(chance.choice((1, 1, 2))))
    bound = [term for each in body for term in each.terms if isinstance(term, str)]
    free = ["e", "f"] if chance.random() < 0.4 else []
    heads = tuple(atom((bound * 3 or [0]) + free, 0.08) for _ in range(chance.choice((1, 1, 2))))
    comparison = (
        (chance.choice(bound), chance.choice(("!=", "<", ">=")), 1)
        if bound and chance.random() < 0.2
        else None
    )
    return ChaseMapping(label, body, heads, comparison)


class Stream:
    """A confederation, and what was done to it."""

    def __init__(self, seed: int, path: str | None, strategy: str, rated: float = 0.0):
        """`rated` is how many conditions rate origins, or have a bound."""
        self.chance = random.Random(seed)
        self.peers = [f"P{i}" for i in range(self.chance.randint(2, 4))]
        self.arities = {
            (peer, f"R{i}{j}"): self.chance.randint(1, 3)
            for i, peer in enumerate(self.peers)
            for j in range(self.chance.choice((1, 1, 2)))
        }
        self.mappings = random_mappings(self.chance, self.arities)
        self.path, self.strategy, self.rated = path, strategy, rated
        self.edits: dict[str, list[list[tuple]]] = {peer: [] for peer in self.peers}
        self.policies: dict[str, list[list[tuple[str, ChaseCondition]]]] = {peer: [] for peer in self.peers}
        self.open()

    def open(self) -> None:
        schemas = {
            peer: {
                name: ", ".join(f"c{i}: int" for i in range(arity))
                for (owner, name), arity in self.arities.items()
                if owner == peer
            }
            for peer in self.peers
        }
        text = "\n".join(map(str, self.mappings))
        self.confederation = hw.exchange(
            peers=schemas, mappings=text, path=self.path, strategy=self.strategy, sync=False
        )

    def step(self) -> None:
        peer = self.chance.choice(self.peers)
        do = self.chance.choices(
            (self.edit, self.publish, self.update, self.trust, self.reopen),
            (6, 3, 4, 6 if self.rated else 2, 1),
        )[0]
        do(peer)
        self.check(peer)

    def edit(self, peer: str) -> None:
        edits = {"-": {}, "+": {}}
        log = []
        mine = [name for name in self.arities if name[0] == peer]
        for sign, most in (("-", 2), ("+", 3)):
            for _ in range(self.chance.randint(0 if log else int(sign == "+"), most)):
                name = self.chance.choice(mine)
                row = tuple(self.chance.choice(VALUES) for _ in range(self.arities[name]))
                there = self.confederation[peer][f"{name[0]}.{name[1]}"].rows(nulls=True)
                if there and self.chance.random() < (0.7 if sign == "-" else 0.1):
                    row = self.chance.choice(sorted(there, key=str))
                if row not in edits[sign].setdefault(name[1], []):
                    edits[sign][name[1]].append(row)
        for sign in "-+":
            log += [(sign, relation, row) for relation, rows in edits[sign].items() for row in rows]
        self.confederation[peer].edit(insert=edits["+"], delete=edits["-"])
        self.edits[peer].append(log)
        self.policies[peer].append([])

    def publish(self, peer: str) -> None:
        self.confederation[peer].publish()

    def update(self, peer: str) -> None:
        before = {name: set(self.rows(peer, name)) for name in self.arities if name[0] == peer}
        supposed = self.confederation[peer].preview()
        done = self.confederation[peer].update()
        for report in (supposed, done):
            for name in before:
                after = set(self.rows(peer, name))
                assert set(report.inserted(name[1])) == after - before[name]
                assert set(report.deleted(name[1])) == before[name] - after
        assert not self.confederation[peer].update().transactions

    def trust(self, peer: str) -> None:
        held = self.conditions(peer, len(self.policies[peer]))
        if held and self.chance.random() < 0.4:
            condition = self.chance.choice(held)
            self.confederation[peer].trust(remove=self.text(condition))
            change = ("-", condition)
        else:
            condition = self.condition(peer)
            alike = [
                each for each in held if isinstance(each, ChaseRating) == isinstance(condition, ChaseRating)
            ]
            if condition in held or len(alike) >= 2:
                return
            self.confederation[peer].trust(self.text(condition))
            change = ("+", condition)
        self.edits[peer].append([])
        self.policies[peer].append([change])

    def reopen(self, peer: str) -> None:
        if self.path is not None:
            self.confederation.close()
            self.open()

    # ------------------------------------------------------------------ conditions

    def condition(self, peer: str) -> ChaseCondition | ChaseRating:
        chance = self.chance
        name = chance.choice([name for name in self.arities if name[0] == peer])
        anywhere = chance.choice(list(self.arities))
        row = tuple(chance.choice(VALUES) for _ in range(self.arities[anywhere]))
        origin = chance.choice(
            (
                None,
                ("peer", chance.choice(self.peers)),
                ("row", anywhere, row),
                ("mapping", chance.choice(self.mappings).label),
            )
        )
        scale = chance.choice(list(SCALES))
        if origin is not None and chance.random() < self.rated:
            return ChaseRating(origin, scale, chance.choice(SCALES[scale]))
        guard = (
            chance.randrange(self.arities[name]),
            chance.choice(("!=", "<", ">=", "=")),
            chance.choice(VALUES),
        )
        if origin is not None and chance.random() < 0.3:
            return ChaseCondition(None, None, None, origin)
        by = chance.choice(self.mappings).label if chance.random() < 0.4 else None
        if chance.random() < self.rated:
            bound = (scale, chance.choice(SCALES[scale]))
            named = chance.choice((name, None))
            return ChaseCondition(named, by, guard if named and chance.random() < 0.4 else None, None, bound)
        return ChaseCondition(name, by, guard if chance.random() < 0.7 else None, origin)

    def text(self, condition: ChaseCondition | ChaseRating) -> str:
        return condition.text(0 if condition.name is None else self.arities[condition.name])

    def conditions(self, peer: str, taken: int) -> list[ChaseCondition | ChaseRating]:
        found: list[ChaseCondition | ChaseRating] = []
        for changes in self.policies[peer][:taken]:
            for sign, condition in changes:
                found = [each for each in found if each != condition] + ([condition] if sign == "+" else [])
        return found

    # ------------------------------------------------------------------ comparing

    def rows(self, peer: str, name: tuple[str, str]) -> list[tuple]:
        return self.confederation[peer][f"{name[0]}.{name[1]}"].rows(nulls=True)

    def check(self, peer: str) -> None:
        instance = self.confederation[peer].instance
        taken = {other: instance.taken(other) for other in self.peers}
        contributions, rejections, conditions = {}, {}, {}
        for other in self.peers:
            log = [edit for edits in self.edits[other][: taken[other]] for edit in edits]
            inserted, rejected = settled(log)
            contributions.update({(other, relation): rows for relation, rows in inserted.items()})
            rejections.update({(other, relation): rows for relation, rows in rejected.items()})
            conditions[other] = self.conditions(other, taken[other])
        expected = Chase(self.mappings, contributions, rejections, conditions).run()
        for name in self.arities:
            assert set(self.rows(peer, name)) == expected.get(name, set()), (
                peer,
                name,
                list(map(str, self.mappings)),
            )


@given(
    st.integers(0, 2**32),
    st.sampled_from(["support", "support", "dred", "recompute", "relative"]),
    st.booleans(),
    st.booleans(),
)
@settings(COMMON, max_examples=EXAMPLES)
def test_peers_have_what_follows_from_the_logs_they_have_taken(seed, strategy, durable, starting_over):
    """With `starting_over`, also few rows that go have relations replaced by new ones."""
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as folder:
        if starting_over:
            patched.setattr(mostly_gone, "FEWEST_LOST", 1)
            patched.setattr(mostly_gone, "MOST_LEFT", 1.0)
            patched.setattr(mostly_gone, "MOST_LEFT_OF_RECURSION", 1.0)
        stream = Stream(seed, folder if durable else None, strategy)
        for _ in range(STEPS):
            stream.step()
        for peer in stream.peers:
            beside = stream.confederation[peer].instance.recomputed()
            for name in stream.arities:
                output = beside.compiled.names.output(beside.schemas.named(f"{name[0]}.{name[1]}"))
                assert set(beside.database[output].rows()) == set(stream.rows(peer, name))
            beside.close()
        stream.confederation.close()


@given(st.integers(0, 2**32), st.sampled_from(["support", "support", "dred", "relative"]))
@settings(COMMON, max_examples=EXAMPLES)
def test_rows_reach_the_bounds_that_peers_set_on_ratings(seed, strategy):
    """Confidence and clearance: beside the worst rating of what a derivation uses, of the best derivation."""
    stream = Stream(seed, None, strategy, rated=0.7)
    for _ in range(STEPS):
        stream.step()
    stream.confederation.close()
