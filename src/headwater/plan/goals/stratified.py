"""Rewriting a goal until it is stratified.

A relation that is negated has to be complete before its negation is asked. Rewritten, it also depends on what is
asked of it, and that may come from the very relation that negates it: `win(X) :- move(X, Y), win(Y), !lost(Y).` asks
`lost` about rows of `win`. So it is with aggregates and best rows. Balbin, Port, Ramamohanarao and Meenakshi (1991)
show how much can be saved; here what stands in the way is evaluated in a weaker way, which is always right:
- a linear recursion in the cycle keeps the calls on its way, and does not wait for what it negates to ask further;
- else the negated (or aggregated) relation is derived whole, as if it were stored: the rules as they were written are
  stratified.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headwater.plan.goals.gates import gate
from headwater.plan.goals.magic import Defined, Magic, Weaker
from headwater.plan.goals.program import GoalProgram
from headwater.plan.goals.sideways import Fanout
from headwater.rules.checked import Absent, Checked, CheckedRule, Kind, Premise, RelationInfo, Stratum
from headwater.rules.strata import components


def goal_program(
    goal: str,
    rules: Iterable[CheckedRule],
    infos: Mapping[str, RelationInfo],
    fanout: Fanout,
    generators: Iterable[str] = (),
) -> GoalProgram:
    """What has to be evaluated for the relation `goal`; `rules` are those of all relations that are not stored."""
    defined = _defined(tuple(rules), infos, frozenset(generators))
    weaker = Weaker()
    reasons = _whole_from_the_start(defined, weaker)
    while True:
        magic = Magic(defined, fanout, weaker)
        magic.goal(goal)
        if not _weaken(magic, weaker, reasons) and not _free(magic, weaker):
            break
    return _program(magic, goal, reasons)


def goals_program(
    goals: Sequence[str],
    seeds: Mapping[str, str],
    rules: Iterable[CheckedRule],
    infos: Mapping[str, RelationInfo],
    fanout: Fanout,
    generators: Iterable[str] = (),
    *,
    as_written: bool = False,
) -> GoalProgram:
    """What has to be evaluated for several goals that are asked at different times, and share what they find.

    Each goal reads one base relation, its seed (`seeds`): nothing is evaluated for a goal while its seed is empty,
    and rows that are added to it ask for more. `as_written` keeps the order of the bodies as far as it can.
    """
    defined = _defined(tuple(rules), infos, frozenset(generators))
    weaker = Weaker()
    reasons = _whole_from_the_start(defined, weaker)
    while True:
        magic = Magic(defined, fanout, weaker, as_written=as_written)
        for goal in goals:
            magic.goal(goal)
        if not _weaken(magic, weaker, reasons):
            break
    gate(magic, goals, seeds)
    return _program(magic, "", reasons)


def _whole_from_the_start(defined: Defined, weaker: Weaker) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for relations in map(defined.cycle, defined.rules):
        if any(rule.aggregate is not None for name in relations for rule in defined.rules[name]):
            weaker.whole |= relations
            reasons.update(dict.fromkeys(relations, "its recursion asks for aggregates"))
    return reasons


def _program(magic: Magic, goal: str, reasons: Mapping[str, str]) -> GoalProgram:
    checked = Checked(_relations(magic), tuple(_strata(magic)))
    whole = {name: reasons[name] for name in sorted(magic.whole & reasons.keys())}
    return GoalProgram(checked, goal, tuple(magic.calls.values()), tuple(sorted(magic.linear)), whole)


def _defined(
    rules: tuple[CheckedRule, ...], infos: Mapping[str, RelationInfo], generators: frozenset[str]
) -> Defined:
    by_relation: dict[str, list[CheckedRule]] = {}
    for rule in rules:
        by_relation.setdefault(rule.relation, []).append(rule)
    graph = _graph(rules)
    recursive = {
        name: frozenset(members)
        for members in components(graph)
        if len(members) > 1 or members[0] in graph[members[0]]
        for name in members
    }
    return Defined(by_relation, infos, recursive, generators)


def _graph(rules: Iterable[CheckedRule]) -> dict[str, list[str]]:
    """For each relation that rules derive, those that it reads."""
    graph: dict[str, dict[str, None]] = {}
    for rule in rules:
        reads = graph.setdefault(rule.relation, {})
        reads.update((item.relation, None) for item in rule.body if isinstance(item, Premise | Absent))
    return {name: list(reads) for name, reads in graph.items()}


# ------------------------------------------------------------------ what must not be


def _weaken(magic: Magic, weaker: Weaker, reasons: dict[str, str]) -> bool:
    """Whether something is not stratified; what to do about it is then in `weaker`."""
    members = components(_graph(magic.rules))
    home = {name: together for together in members for name in together}
    for rule in magic.rules:
        found = _offending(magic, rule, home)
        if found is None:
            continue
        relation, reason = found
        stepwise = {magic.calls[name].relation for name in magic.linear & set(home[rule.relation])}
        if stepwise:
            weaker.stepwise |= stepwise
        else:
            assert relation not in weaker.whole, relation
            weaker.whole.add(relation)
            reasons[relation] = reason
        return True
    return False


def _offending(
    magic: Magic, rule: CheckedRule, home: Mapping[str, tuple[str, ...]]
) -> tuple[str, str] | None:
    """The relation that cannot be evaluated by demand because of this rule, if there is one, and why."""
    together = home[rule.relation]
    call = magic.calls.get(rule.relation)
    for item in rule.body:
        if isinstance(item, Absent) and home.get(item.relation) == together:
            relation = magic.calls[item.relation].relation
            return relation, "what is asked of it depends on its negation"
        if rule.aggregate is None or call is None or not isinstance(item, Premise):
            continue
        if home.get(item.relation) == together:
            return call.relation, "what is asked of it depends on what it aggregates"
    if call is not None and magic.infos[call.name].selections and len(together) > 1:
        cycle = magic.defined.cycle(call.relation)
        if any(name not in magic.calls or magic.calls[name].relation not in cycle for name in together):
            return call.relation, "what is asked of it depends on its best rows"
    return None


def _free(magic: Magic, weaker: Weaker) -> bool:
    """Whether a relation is evaluated whole at some level, and for values too; from now on it is only whole."""
    whole = {(call.relation, call.level) for call in magic.calls.values() if not call.bound}
    both = {(c.relation, c.level) for c in magic.calls.values() if c.bound} & whole
    weaker.free |= both
    return bool(both)


# ------------------------------------------------------------------ the outcome


def _relations(magic: Magic) -> dict[str, RelationInfo]:
    """All relations of the rules; what they read and do not derive is base here, whatever it is elsewhere."""
    infos = dict(magic.infos)
    for rule in magic.rules:
        for item in rule.body:
            if isinstance(item, Premise | Absent) and item.relation not in infos:
                known = magic.defined.infos.get(item.relation)
                if known is not None:
                    infos[item.relation] = replace(
                        known,
                        kind=Kind.BASE,
                        selections=(),
                        aggregate=None,
                        key=None,
                        lifetime=None,
                        size=None,
                    )
    return infos


def _strata(magic: Magic) -> Iterable[Stratum]:
    graph = _graph(magic.rules)
    for name in magic.infos:  # asked for, and without a rule
        graph.setdefault(name, [])
    rules: dict[str, list[CheckedRule]] = {}
    for rule in magic.rules:
        rules.setdefault(rule.relation, []).append(rule)
    for members in components(graph):
        recursive = len(members) > 1 or members[0] in graph[members[0]]
        yield Stratum(members, tuple(rule for name in members for rule in rules.get(name, ())), recursive)
