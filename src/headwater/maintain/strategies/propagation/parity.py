"""Which rows have to be propagated at all (dependency graph analysis, rules 1 to 3 of section 4).

Somebody who listens only to rows that come into a view is not told of those that go. So of what the view reads
positively only what comes matters, and of what it negates only what goes: along a path with an even number of
negations the type stays, along one with an odd number it is the other. Through an aggregate, or a choice of
best rows, either may lead to either. A stored view has to know both.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.maintain.strategies.propagation.queries import Sign, Wanted
from headwater.maintain.strategies.propagation.sides import Rules
from headwater.rules.checked import Absent, Kind, Premise

SIGNS = {"+": frozenset({Sign.ADDED}), "-": frozenset({Sign.REMOVED}), "±": frozenset(Sign)}
"""What a view's `told` means."""


def wanted(old: Rules, new: Rules, followed: Iterable[str]) -> Wanted:
    """The types of rows that matter, of each relation that watched and stored views depend on."""
    found: dict[str, set[Sign]] = {}
    todo: list[tuple[str, Sign]] = []

    def want(relation: str, signs: Iterable[Sign]) -> None:
        known = found.setdefault(relation, set())
        for sign in signs:
            if sign not in known:
                known.add(sign)
                todo.append((relation, sign))

    for name in followed:
        info = new.infos[name]
        if name not in new.unstored:
            want(name, Sign)
        elif info.kind is Kind.WATCHED:
            want(name, SIGNS[info.told])
    while todo:
        relation, sign = todo.pop()
        for rules in (old, new):
            grouped = relation in rules.infos and rules.grouped(relation)
            for rule in rules.by_relation.get(relation, ()):
                for item in rule.body:
                    if isinstance(item, Premise | Absent):
                        other = sign.other if isinstance(item, Absent) else sign
                        want(item.relation, Sign if grouped else (other,))
    return Wanted({name: frozenset(signs) for name, signs in found.items()})
