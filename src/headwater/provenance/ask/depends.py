"""What depends on a row, forwards: what would fall with it, what merely uses it, what it derives alone.

- `uses`: rows that have a derivation in which the row takes part, directly or through others;
- `falls`: those of them that would not be there without it;
- `alone`: those of them that follow from this row and nothing else.

For a base row, what falls (and what would appear, through negation and aggregates) is what deleting it does; the
version is worked out and taken back. For a derived row it is asked which rows have no derivation left; what would
appear is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headwater import notebook
from headwater.calls import public_class
from headwater.plan.instances import Derivation, Instances
from headwater.plan.stored_rows import Key
from headwater.provenance.ask.asked import key_of, not_there
from headwater.provenance.evidence import Evidence
from headwater.provenance.graph.graph import by_relation
from headwater.provenance.show.lines import Line, plain
from headwater.provenance.show.wording import Fact, Wording, json_fact, ordered
from headwater.version.changes import Changes
from headwater.wording import counted

MOST_ROWS_FOLLOWED = 10_000
"""How many rows that use the row are followed unless more are asked for."""
SHOWN = 20


@public_class
class Depends:
    """What depends on a row. `more` says that there are further rows that use it, beyond the limit."""

    def __init__(
        self,
        fact: Fact,
        uses: frozenset[Fact],
        falls: frozenset[Fact],
        alone: frozenset[Fact],
        appears: frozenset[Fact] | None,
        *,
        more: bool,
    ):
        self.fact = fact
        self.uses = uses
        self.falls = falls
        self.alone = alone
        self.appears = appears
        self.more = more

    def lines(self) -> list[Line]:
        """What falls, relation by relation, then the rest."""
        lines: list[Line] = [[(str(self.fact), "bold")]]
        held = self.uses - self.falls
        more = " or more" if self.more else ""
        lines.append([(f"{counted(len(self.falls), 'row')} would fall with it", "")])
        lines += _listed(self.falls, "red", self.alone)
        if self.appears:
            lines.append([(f"{counted(len(self.appears), 'row')} would appear without it", "")])
            lines += _listed(self.appears, "green", frozenset())
        lines.append([(f"{len(held):,}{more} use it and would stand without it", "")])
        lines += _listed(held, "", frozenset())
        return lines

    def _repr_html_(self) -> str:
        return notebook.lines(self.lines())

    def __str__(self) -> str:
        return plain(self.lines())

    def __rich__(self) -> Any:
        from headwater.provenance.show.lines import rich_text

        return rich_text(self.lines())

    def __repr__(self) -> str:
        more = " or more" if self.more else ""
        return (
            f"<{self.fact}: {len(self.falls):,} fall with it, {len(self.uses):,}{more} use it,"
            f" {len(self.alone):,} hang on it alone>"
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""

        def rows(facts: Iterable[Fact]) -> list[dict[str, Any]]:
            return [json_fact(fact) for fact in ordered(facts)]

        return {
            "row": json_fact(self.fact),
            "falls": rows(self.falls),
            "alone": rows(self.alone),
            "appears": None if self.appears is None else rows(self.appears),
            "uses": rows(self.uses),
            "more": self.more,
        }


def _listed(facts: frozenset[Fact], style: str, alone: frozenset[Fact]) -> list[Line]:
    rows = ordered(facts)
    lines: list[Line] = [
        [("  ", ""), (str(fact), style), ("  needs nothing else" if fact in alone else "", "dim")]
        for fact in rows[:SHOWN]
    ]
    if len(rows) > SHOWN:
        lines.append([(f"  and {len(rows) - SHOWN:,} more", "italic")])
    return lines


def depends(
    evidence: Evidence,
    relation: str,
    row: Any,
    *,
    limit: int | None,
    suppose: Callable[..., Changes],
) -> Depends:
    """What depends on a row that is there. `suppose` works out a change and takes it back."""
    key = key_of(evidence, relation, row)
    instances = evidence.engine.instances()
    twin = evidence.program.facades.get(relation)
    if key is not None and twin is not None and instances.rows.has((twin, key[1])):
        key = (twin, key[1])
    if key is None or not instances.rows.has(key):
        raise not_there(Fact(relation, tuple(row.values()) if isinstance(row, dict) else tuple(row)))
    wording = Wording(evidence.engine, evidence.program)
    fact = wording.fact(key)
    uses, more = _uses(instances, key, limit)
    alone = _alone(instances, key)
    appears: frozenset[Fact] | None = None
    if instances.derived(key[0]):
        falls = _shown(wording, _falling(instances, key, uses))
    else:
        changes = suppose(delete={relation: [fact.row]})
        falls = frozenset(Fact(name, gone) for name in changes for gone in changes[name].deleted) - {fact}
        if twin is not None and fact.row in changes[relation].deleted:
            falls |= {fact}
        appears = frozenset(Fact(name, new) for name in changes for new in changes[name].inserted)
    everything = _shown(wording, uses) | falls
    return Depends(fact, everything, falls, _shown(wording, alone) & falls, appears, more=more)


def _shown(wording: Wording, keys: Iterable[Key]) -> frozenset[Fact]:
    return frozenset(wording.facts(key for key in keys if wording.shown(key[0])).values())


def _uses(instances: Instances, root: Key, limit: int | None) -> tuple[set[Key], bool]:
    """The rows that have a derivation in which the row takes part, and whether the limit cut the search."""
    found: set[Key] = set()
    level = {root}
    seen = {root}
    while level and (limit is None or len(found) < limit):
        following: set[Key] = set()
        for relation, rows in by_relation(level).items():
            following |= instances.heads(relation, rows)
        level = following - seen
        seen |= level
        if limit is not None and len(found) + len(level) > limit:
            kept = sorted(level)[: limit - len(found)]
            found.update(kept)
            return found, True
        found |= level
    return found, bool(level)


def _alone(instances: Instances, root: Key) -> set[Key]:
    """The rows that follow from this one and nothing else."""
    found = {root}
    level = {root}
    while level:
        following: set[Key] = set()
        for relation, rows in by_relation(level).items():
            heads = instances.heads(relation, rows) - found
            for name, candidates in by_relation(heads).items():
                derivations, _ = instances.of(name, candidates)
                following |= {d.head for d in derivations if found.issuperset(d.premises)}
        level = following - found
        found |= level
    return found - {root}


def _falling(instances: Instances, root: Key, uses: set[Key]) -> set[Key]:
    """Of the rows that use the root, those that have no derivation without it."""
    unsure = set(uses)
    waiting: dict[Key, list[Derivation]] = {}
    standing: list[Key] = []
    lacking: dict[int, set[Key]] = {}
    for relation, rows in by_relation(unsure).items():
        for derivation in instances.of(relation, rows)[0]:
            needed = {key for key in derivation.premises if key in unsure or key == root}
            if not needed:
                standing.append(derivation.head)
                continue
            lacking[id(derivation)] = needed
            for key in needed:
                waiting.setdefault(key, []).append(derivation)
    while standing:
        key = standing.pop()
        if key not in unsure:
            continue
        unsure.discard(key)
        for derivation in waiting.get(key, ()):
            needed = lacking[id(derivation)]
            needed.discard(key)
            if not needed:
                standing.append(derivation.head)
    return unsure
