"""New rules of strata that are checked: those that stay are taken as they are, and only new ones are checked.

That is sound where types and nulls of the relations are the same without the new rules and without those that go: no
column takes nulls, and where rules go, one of those that stay reads each column's type off others. Elsewhere, and
where a new rule might be one that is there already, the answer is `None`: the strata are to be checked whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from headwater.errors import HeadwaterError
from headwater.language.program import Declaration, Program, Rule, Variable
from headwater.rules.check import check
from headwater.rules.checked import Absent, Checked, CheckedRule, Premise, RelationInfo, Stratum
from headwater.rules.plain_joins import plain_join
from headwater.rules.strata import components
from headwater.rules.terms import atoms
from headwater.values.functions import Functions


def lone_rules(
    before: Checked,
    strata: Sequence[Stratum],
    dropped: Collection[str],
    new: Sequence[Rule],
    functions: Functions,
) -> list[Stratum] | None:
    """Some strata without the rules of some ids, and with some that are new. Each rule of theirs is one that is
    written, and no column of their relations takes nulls."""
    kept = [rule for stratum in strata for rule in stratum.rules if rule.written not in dropped]
    group = {name for stratum in strata for name in stratum.relations}
    if dropped and not all(
        any(_grounded(rule, group) for rule in kept if rule.relation == name) for name in group
    ):
        return None
    found = _checked(before, new, functions) if new else []
    if found is None or any(_like(one, other) for one in found for other in kept) or _alike(found):
        return None
    made = [_stratum(stratum, [*kept, *found]) for stratum in strata]
    return None if None in made else [stratum for stratum in made if stratum is not None]


def plainly_typed(info: RelationInfo) -> bool:
    """Whether a text names the relation, all types are known, and rows are all alike: none is chosen or labelled."""
    return not (info.internal or info.selections or any(info.labelled) or None in info.types)


def _grounded(rule: CheckedRule, group: set[str]) -> bool:
    """Whether the values of all columns come from relations outside of the group."""
    given = {
        arg.name
        for item in rule.body
        if isinstance(item, Premise) and item.relation not in group
        for arg in item.args
        if isinstance(arg, Variable)
    }
    return rule.aggregate is None and all(
        isinstance(arg, Variable) and arg.name in given for arg in rule.head
    )


def _checked(before: Checked, new: Sequence[Rule], functions: Functions) -> list[CheckedRule] | None:
    """New rules, over relations that are as declared; `None` if there is more to them than rules."""
    infos = before.relations
    joins = [plain_join(rule, infos, functions) for rule in new]
    if None not in joins:
        return [rule for rule in joins if rule is not None]
    heads = {head.relation for rule in new for head in rule.heads}
    read = {atom.relation for rule in new for atom, _ in atoms(rule.body)}
    if not all(name in infos and plainly_typed(infos[name]) for name in read):
        return None
    program = Program(
        rules=tuple(new),
        declarations=tuple(Declaration(name, infos[name].declared) for name in sorted(heads | read)),
    )
    try:
        part = check(program, functions, known={name: infos[name].types for name in read - heads})
    except HeadwaterError:
        return None  # the whole is checked, and says what is wrong in its own words
    found = [rule for stratum in part.strata for rule in stratum.rules]
    plain = (
        not part.notes
        and not part.facades
        and not any(info.internal for info in part.relations.values())
        and sorted(rule.written for rule in found) == sorted(str(rule.id) for rule in new)
        and all(rule.aggregate is None for rule in found)
        and all(part.relations[name].types == infos[name].types for name in heads)
        and not any(any(part.relations[name].nullable) for name in heads)
        and not any(part.relations[name].selections for name in heads)
        and all(info.location is None for info in part.relations.values())
    )
    order = [rule.id for rule in new]
    return sorted(found, key=lambda rule: order.index(rule.written)) if plain else None


def _like(one: CheckedRule, other: CheckedRule) -> bool:
    """Whether two rules might be the same but for their variables."""
    return (
        one.relation == other.relation
        and len(one.body) == len(other.body)
        and _outline(one) == _outline(other)
    )


def _alike(rules: Sequence[CheckedRule]) -> bool:
    """Whether two of these might be the same but for their variables."""
    return len({(rule.relation, *_outline(rule)) for rule in rules}) < len(rules)


def _outline(rule: CheckedRule) -> list[str]:
    return sorted(
        item.relation if isinstance(item, Premise | Absent) else type(item).__name__ for item in rule.body
    )


def _stratum(before: Stratum, rules: Iterable[CheckedRule]) -> Stratum | None:
    """A stratum with other rules; `None` if it falls apart, or negates itself."""
    own = [rule for name in before.relations for rule in rules if rule.relation == name]
    inside = set(before.relations)
    graph: dict[str, list[str]] = {name: [] for name in before.relations}
    for rule in own:
        for item in rule.body:
            if isinstance(item, Absent) and item.relation in inside:
                return None
            if isinstance(item, Premise) and item.relation in inside:
                graph[rule.relation].append(item.relation)
    if len(inside) > 1 and len(components(graph)) != 1:
        return None
    first = before.relations[0]
    return Stratum(before.relations, tuple(own), len(inside) > 1 or first in graph[first])
