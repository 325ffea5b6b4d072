"""What rules are called for as long as they are defined.

A rule keeps its label. One without is called by its relation and a number that no other rule of the relation had
before: `reach#2`; an active one by its event: `on-alarm#1`. Ids are given when a text is defined, and written to the
log and to checkpoints, so none changes when others go. A state without them was written when rules were numbered in
order each time: that gives the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headwater.language.program import Program, Rule


def identified(program: Program, numbers: Mapping[str, int]) -> tuple[Program, dict[str, int]]:
    """The program with an id for each rule; `numbers` has the highest number given so far, by relation.

    >>> from headwater.language.datalog import parse
    >>> program, numbers = identified(parse("p(X) :- q(X). r1 p(X) :- s(X). p(X) :- t(X)."), {"p": 2})
    >>> [rule.id for rule in program.rules], numbers
    (['p#3', 'r1', 'p#4'], {'p': 4})
    """
    if not program.rules and not program.active:
        return program, dict(numbers)
    given = dict(numbers)
    rules: list[Rule] = []
    for rule in program.rules:
        if rule.body and rule.label is None:
            relation = rule.heads[0].relation
            given[relation] = given.get(relation, 0) + 1
            rule = _called(rule, f"{relation}#{given[relation]}")
        elif rule.body:
            rule = _called(rule, rule.label)
        rules.append(rule)
    active = []
    for one in program.active:
        name = f"on-{one.event.relation}"
        if one.label is None:
            given[name] = given.get(name, 0) + 1
        active.append(replace(one, id=one.label or f"{name}#{given[name]}"))
    return replace(program, rules=tuple(rules), active=tuple(active)), given


def _called(rule: Rule, id: str | None) -> Rule:
    """The same rule with an id; what was found out about it (see `text_index.mentioned`) stays known."""
    found = object.__new__(Rule)
    found.__dict__.update(rule.__dict__, id=id)
    return found


def ids_of(program: Program) -> list[str]:
    """The ids of the program's rules, in order; active ones come last."""
    ids = (*(rule.id for rule in program.rules), *(rule.id for rule in program.active))
    return [id for id in ids if id is not None]


def recalled(program: Program, ids: Sequence[str]) -> Program:
    """The program with ids that were written down for its rules, in order."""
    left = iter(ids)
    return replace(
        program,
        rules=tuple(_called(rule, next(left)) if rule.body else rule for rule in program.rules),
        active=tuple(replace(rule, id=next(left)) for rule in program.active),
    )


def numbered(numbers: Mapping[str, int], ids: Sequence[str]) -> dict[str, int]:
    """The highest number given so far, by relation, with those of some more ids.

    >>> numbered({"p": 2}, ["p#1", "near", "q#3"])
    {'p': 2, 'q': 3}
    """
    found = dict(numbers)
    for id in ids:
        relation, _, number = id.partition("#")
        if number:
            found[relation] = max(found.get(relation, 0), int(number))
    return found
