"""Several goals in one program: what one of them needs is not evaluated before that one is asked.

Where a relation is called without values it is derived whole, and where it is called with a constant that constant is
asked for, from the start: for one goal, which is asked at once, that is as well. With several goals it must wait for
those that need it. So such rules get a premise without columns, a *gate*, that holds once there is a seed of a goal
that needs the relation. Gates rest on seeds alone, which are base relations: what was stratified stays so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headwater.language.program import Wildcard
from headwater.plan.goals.magic import Magic
from headwater.rules.checked import UNIT, Absent, CheckedRule, Kind, Premise, RelationInfo
from headwater.rules.strata import reachable


def gate(magic: Magic, goals: Sequence[str], seeds: Mapping[str, str]) -> None:
    """Let the rules of a rewriting that hold from the start wait for the seeds of the goals that need them."""
    graph: dict[str, list[str]] = {}
    for rule in magic.rules:
        read = [item.relation for item in rule.body if isinstance(item, Premise | Absent)]
        graph.setdefault(rule.relation, []).extend(read)
    needed = {goal: reachable(graph, goal) for goal in goals}
    kept = set(goals).union(
        *needed.values()
    )  # what is asked only by rules of views without rows is in no goal
    gated = {rule.relation for rule in magic.rules if _holds_always(rule)} - set(goals)
    magic.rules = [
        _behind(rule) if rule.relation in gated else rule for rule in magic.rules if rule.relation in kept
    ]
    for goal in goals:
        for name in sorted(gated & needed[goal]):
            _open(magic, name, seeds[goal])


def _holds_always(rule: CheckedRule) -> bool:
    return any(isinstance(item, Premise) and item.relation == UNIT for item in rule.body)


def _behind(rule: CheckedRule) -> CheckedRule:
    """The rule with the gate of its relation in place of what always holds."""
    return replace(
        rule,
        body=tuple(
            Premise(_name(rule.relation), ()) if isinstance(item, Premise) and item.relation == UNIT else item
            for item in rule.body
        ),
    )


def _open(magic: Magic, relation: str, seed: str) -> None:
    """A rule that opens the gate of a relation when a seed is there."""
    name = _name(relation)
    magic.infos[name] = RelationInfo(name, (), (), Kind.HELPER, owner=relation)
    anything = (Wildcard(),) * magic.defined.infos[seed].arity
    magic.rules.append(CheckedRule(f"{name}#{len(magic.rules)}", name, (), (Premise(seed, anything),), {}))


def _name(relation: str) -> str:
    return f"gate {relation}"
