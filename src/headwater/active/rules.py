"""The active rules of a catalog, checked: which rows each of their actions is about.

An `insert` or a `delete` gives rows of a base relation, in the state after the event. A `delete` names rows that are
there: `_` stands for any value. A relation that nothing else describes takes its types from the action that inserts
into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headwater.active.trigger import Armed, Trigger, armed, named
from headwater.catalog import Catalog
from headwater.catalog.catalog import Stored
from headwater.catalog.definitions import Types
from headwater.errors import Place, RuleError
from headwater.language.datalog.active import message_variables
from headwater.language.program import ActiveRule, Atom, Positive, RuleAction, Variable, Wildcard
from headwater.rules.checked import RelationInfo
from headwater.rules.terms import part_variables, variables

NOWHERE = "give it a value in the condition: X = 3, or an atom that has it"
"""What to do about a variable of an action that nothing binds."""


@dataclass(frozen=True)
class ArmedAction:
    """An action of an active rule, and the question that tells its rows. `target` is the base relation that it
    changes, if it changes any."""

    rule: ActiveRule
    action: RuleAction
    armed: Armed
    target: RelationInfo | None = None

    @property
    def id(self) -> str:
        """The rule's."""
        return str(self.rule.id)


def trigger_of(rule: ActiveRule) -> Trigger:
    """Event and condition of an active rule."""
    return Trigger(rule.sign, rule.event, rule.condition)


def armed_actions(catalog: Catalog) -> tuple[ArmedAction, ...]:
    """All actions of all active rules; refuses those that do not fit what is defined."""
    return tuple(armed_action(rule, action, catalog) for rule in catalog.active for action in rule.actions)


def armed_action(rule: ActiveRule, action: RuleAction, catalog: Catalog) -> ArmedAction:
    """One of them."""
    trigger = trigger_of(rule)
    if action.kind in ("append", "run"):
        return ArmedAction(rule, action, armed(trigger, catalog))
    if action.kind == "refuse":
        told = tuple(Variable(name) for name in message_variables(action.text))
        _refuse_unbound(rule, told, action.place, NOWHERE)
        args = named(rule.event.args)
        whole = replace(trigger, event=replace(rule.event, args=args))
        return ArmedAction(rule, action, armed(whole, catalog, (*told, *args)))
    assert action.atom is not None
    if action.kind == "call":
        _refuse_wildcards(action.atom)
        _refuse_unbound(rule, _variables(action.atom), action.atom.place, NOWHERE)
        return ArmedAction(rule, action, armed(trigger, catalog, action.atom.args))
    target = _target(action.atom, catalog)
    if action.kind == "insert":
        _refuse_wildcards(action.atom)
        _refuse_unbound(rule, _variables(action.atom), action.atom.place, NOWHERE)
        return ArmedAction(rule, action, armed(trigger, catalog, action.atom.args, target.layout), target)
    _refuse_unbound(
        rule, _variables(action.atom), action.atom.place, "write _ to delete rows with any value there"
    )
    there = replace(action.atom, args=named(action.atom.args))
    trigger = replace(trigger, condition=(*trigger.condition, Positive(there)))
    return ArmedAction(rule, action, armed(trigger, catalog, there.args, target.layout), target)


def completed(catalog: Catalog, stored: Stored) -> Catalog:
    """With the types that actions tell of relations they insert into, where nothing else does."""
    while True:
        told = next(_told(catalog), None)
        if told is None:
            return catalog
        definitions = catalog.definitions
        name, types, nullable = told
        known = {**definitions.known, name: types}
        more = replace(definitions, known=known, nullable={**definitions.nullable, name: nullable})
        catalog = catalog.following(more, stored)


def _told(catalog: Catalog) -> Iterator[tuple[str, Types, tuple[bool, ...]]]:
    """Relations of which an action tells more types than are known."""
    for rule in catalog.active:
        for action in rule.actions:
            if action.kind != "insert" or action.atom is None:
                continue
            target = catalog.program.relations.get(action.atom.relation)
            if target is None or not target.base or None not in target.types:
                continue
            if len(action.atom.args) != target.arity:
                continue
            found = armed(trigger_of(rule), catalog, action.atom.args).layout
            types = tuple(old or new for old, new in zip(target.types, found.types, strict=True))
            if types != target.types:
                yield target.name, types, found.nullable


def _target(atom: Atom, catalog: Catalog) -> RelationInfo:
    """The base relation whose rows an action changes."""
    program = catalog.program
    info = program.relations.get(program.facades.get(atom.relation, atom.relation))
    assert info is not None, "relations that texts mention are there"
    if not info.base:
        raise RuleError(
            "derived-relation",
            f"{atom.relation} is derived by rules; an action cannot insert or delete its rows",
            place=atom.place,
            hint=f"change the relations it is derived from, or declare `.input {atom.relation}` to give it rows",
        )
    return info


def _refuse_wildcards(atom: Atom) -> None:
    for arg in atom.args:
        if isinstance(arg, Wildcard):
            raise RuleError(
                "unsafe-variable",
                f"_ is any value, and {atom.relation} needs one",
                place=arg.place or atom.place,
                hint="write a value, a variable of the event or the condition, or null",
            )


def _variables(atom: Atom) -> list[Variable]:
    return [variable for arg in atom.args for variable in variables(arg)]


def _refuse_unbound(rule: ActiveRule, used: Iterable[Variable], place: Place | None, hint: str) -> None:
    """Variables of an action occur in event or condition: nothing else gives them values, and a slip would delete
    everything."""
    parts = (Positive(rule.event), *rule.condition)
    known = {variable.name for part in parts for variable in part_variables(part)}
    for variable in used:
        if variable.name not in known:
            raise RuleError(
                "unsafe-variable",
                f"{variable.name} occurs neither in the event nor in the condition",
                place=variable.place or place,
                hint=hint,
            )
