"""Random partitions of tables, sketches by lineage, and answers over what a sketch lets through."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from oracle_algebra import Database, answer, bag, provenance
from oracle_sql import TABLES

from headwater.language.sql.algebra import Operator, scans
from headwater.sketch.ranges import Ranges
from headwater.sketch.safety.facts import DataFact
from headwater.sketch.safety.outcome import SafetyProof
from headwater.sketch.sketch import Slot

COLUMN = {
    name: {column.name: at for at, column in enumerate(table.columns)} for name, table in TABLES.items()
}


def truth(*, negative: bool, nulls: bool) -> Callable[[DataFact], bool]:
    """What says of each fact whether all databases of a kind have it: see `oracle_sql.database`."""

    def known(fact: DataFact) -> bool:
        declared = not TABLES[fact.table].column(fact.column).nullable
        if fact.kind == "not null":
            return declared or not nulls
        if fact.kind == ">=":
            return fact.bound <= (-2 if negative else -1 if declared else 0)
        return fact.bound >= 3

    return known


def random_slots(rng: random.Random, plan: Operator) -> frozenset[Slot]:
    """Slots of one or two tables that a plan reads, now and then two of one table."""
    tables = sorted({scan.table for scan in scans(plan)})
    chosen = rng.sample(tables, min(len(tables), rng.choice([1, 1, 2])))
    slots = set()
    for table in chosen:
        numbers = [column.name for column in TABLES[table].columns if column.type.name == "int"]
        slots |= {Slot(table, name) for name in rng.sample(numbers, rng.choice([1, 1, 1, 2]))}
    return frozenset(slots)


def random_ranges(rng: random.Random, slots: frozenset[Slot]) -> dict[Slot, Ranges]:
    return {
        slot: Ranges(slot.attribute, tuple(sorted(rng.sample(range(-2, 4), rng.randint(1, 5)))))
        for slot in slots
    }


def fragments(
    proof: SafetyProof, ranges: Mapping[Slot, Ranges], database: Database
) -> dict[Slot, frozenset[int]]:
    """The sketch: fragments that hold rows of the provenance, all sketched accesses of a table together."""
    lineage = provenance(proof.plan, database)
    found: dict[Slot, set[int]] = {slot: set() for slot in ranges}
    for scan in scans(proof.plan):
        if scan.access not in proof.accesses:
            continue
        for slot, cut in ranges.items():
            if slot.table == scan.table:
                at = COLUMN[slot.table][slot.attribute]
                rows = (database[slot.table][number] for access, number in lineage if access == scan.access)
                found[slot] |= {cut.fragment(row[at]) for row in rows}
    return {slot: frozenset(each) for slot, each in found.items()}


def over_sketch(
    proof: SafetyProof,
    plan: Operator,
    sketch: Mapping[Slot, frozenset[int]],
    ranges: Mapping[Slot, Ranges],
    database: Database,
) -> list[tuple[Any, ...]]:
    """The answer of a plan whose sketched accesses see the rows of a sketch only."""
    hidden = {}
    for scan in scans(plan):
        if scan.access in proof.accesses:
            hidden[scan.access] = frozenset(
                number
                for number, row in enumerate(database[scan.table])
                if any(
                    ranges[slot].fragment(row[COLUMN[slot.table][slot.attribute]]) not in kept
                    for slot, kept in sketch.items()
                    if slot.table == scan.table
                )
            )
    return answer(plan, database, hidden)


def check_sketch(rng: random.Random, proof: SafetyProof, database: Database, text: str) -> None:
    """The plain answer is the answer over the sketch, and over some sketch of more fragments."""
    ranges = random_ranges(rng, proof.slots)
    exact = fragments(proof, ranges, database)
    expected = bag(answer(proof.plan, database))
    for share in (0.0, rng.random() / 2):
        sketch = {
            slot: kept | {each for each in range(ranges[slot].count) if rng.random() < share}
            for slot, kept in exact.items()
        }
        found = bag(over_sketch(proof, proof.plan, sketch, ranges, database))
        assert found == expected, f"{text}\n{sorted(proof.slots)} {ranges} {sketch}\n{dict(database)}"
