"""Where each relation of a program lives: at the addresses that the text marks, or split by a column's value.

A program with `@` lives at addresses. Relations that rewriting added to it have no mark of their own: they live where
a column holds an address by which a premise of their rules is located. A program without `@` is split by hash, by
the columns that `rules/localise` would choose for nodes in lockstep: those that make most rules local.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.errors import RuleError
from headwater.language.program import Variable
from headwater.networks.strands.network_program import NOWHERE
from headwater.rules.checked import Checked, CheckedRule, Premise, RelationInfo
from headwater.rules.localise import choose_homes

Locations = Mapping[str, int | None]
"""The location column of each relation, or `NOWHERE`."""

_NEVER_EVERYWHERE = -1  # rows, up to which a base relation would be copied to all nodes


def is_addressed(checked: Checked) -> bool:
    """Whether the text says where rows live."""
    return any(info.location is not None for info in checked.relations.values())


def locations_of(checked: Checked, fixed: Locations | None = None) -> dict[str, int | None]:
    """The location of each relation; `fixed` ones are taken as they are."""
    found = _addresses(checked) if is_addressed(checked) else _hashed(checked)
    return {**found, **{name: column for name, column in (fixed or {}).items() if name in found}}


def _hashed(checked: Checked) -> dict[str, int | None]:
    homes = choose_homes(checked, {}, _NEVER_EVERYWHERE)
    return {name: home.column if home.split else NOWHERE for name, home in homes.items()}


def _addresses(checked: Checked) -> dict[str, int | None]:
    found: dict[str, int | None] = {
        name: info.location for name, info in checked.relations.items() if info.location is not None
    }
    for stratum in checked.strata:
        for name in stratum.relations:
            if name not in found:
                rules = [rule for rule in stratum.rules if rule.relation == name]
                readers = [rule for other in checked.strata for rule in other.rules]
                found[name] = _inferred(checked.relations[name], rules, readers, found)
    for name, info in checked.relations.items():
        if name not in found:
            raise _unlocated(info)
    return found


def _inferred(
    info: RelationInfo, rules: list[CheckedRule], readers: list[CheckedRule], known: Locations
) -> int | None:
    """The first column that holds, in every rule, an address at which a premise lives; else one by which those who
    read the relation find another of their premises: the other end of a link, of which nothing else is needed."""
    for column in range(info.arity):
        if all(_is_address(rule, column, known) for rule in rules):
            return column
    for column in range(info.arity):
        if any(_meets(rule, info.name, column, known) for rule in readers):
            return column
    raise _unlocated(info)


def _meets(rule: CheckedRule, relation: str, column: int, known: Locations) -> bool:
    """Whether a rule reads a relation whose column holds the address of another premise, or of the head."""
    sites = {
        arg.name
        for item in rule.body
        if isinstance(item, Premise) and item.relation != relation
        and (place := known.get(item.relation)) is not None
        and isinstance(arg := item.args[place], Variable)
    }  # fmt: skip
    place = known.get(rule.relation)
    if place is not None and isinstance(head := rule.head[place], Variable):
        sites.add(head.name)
    return any(
        isinstance(item, Premise)
        and item.relation == relation
        and isinstance(arg := item.args[column], Variable)
        and arg.name in sites
        for item in rule.body
    )


def _is_address(rule: CheckedRule, column: int, known: Locations) -> bool:
    term = rule.head[column]
    if not isinstance(term, Variable):
        return False
    return any(
        isinstance(item, Premise)
        and (place := known.get(item.relation)) is not None
        and isinstance(arg := item.args[place], Variable)
        and arg.name == term.name
        for item in rule.body
    )


def _unlocated(info: RelationInfo) -> RuleError:
    return RuleError(
        "no-location",
        f"nothing says where rows of {info.name} live: other relations have a column with @, this one has none, or"
        " not the same one everywhere",
        hint=f"mark the address in every {info.name}(...), as in {info.name}(@X, ...)",
    )
