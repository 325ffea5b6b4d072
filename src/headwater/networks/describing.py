"""A network's plan in words: rules as nodes run them, and what each sends.

>>> from headwater.networks.node_settings import NodeSettings
>>> from headwater.values.functions import Functions
>>> text = "r1 reach(@X, @Y) :- #link(@X, @Y). r2 reach(@X, @Y) :- #link(@X, @Z), reach(@Z, @Y)."
>>> print("\\n".join(described_rules(NodeSettings(text).plan(Functions()).program)))
Rules as nodes run them, and where what they derive goes:
  r1: reach(X, Y) :- link(X, Y).   at X, stays there
  r2a: link~at_1(Z, X) :- link(X, Z).   at X -> Z: a message for each row
  r2b: reach(X, Y) :- link~at_1(Z, X), reach(Z, Y).   at Z -> X: a message for each row
2 of 3 rules send messages
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.language.program import Constant, Variable
from headwater.networks.node_settings import NodeSettings
from headwater.networks.strands.network_program import NetworkProgram
from headwater.rules.checked import CheckedRule, Kind, Premise
from headwater.rules.render import render_rule
from headwater.values.forms import form


def described_rules(program: NetworkProgram) -> Iterator[str]:
    """A line for each rule, with where it runs and where its head goes; what passes on and what is published."""
    yield "Rules as nodes run them, and where what they derive goes:"
    sending = 0
    for rule in program.rules:
        here, there = rule_places(program, rule)
        if here == there:
            what = "stays there"
        else:
            sending += 1
            what = f"-> {there}: a message for each row"
        place = f"at {here}{' ' if here != there else ', '}" if here else ""
        yield f"  {render_rule(rule)}   {place}{what}"
    yield f"{sending} of {len(program.rules)} rules send messages"
    for passing in program.passing:
        owner = program.relations[passing.relation].owner
        best = " and ".join(f"{each.best} of column {each.value + 1}" for each in passing.selections)
        yield f"of {owner}, only best rows go on in its recursion (aggregate selection): {best}"


def described_roles(program: NetworkProgram) -> Iterator[str]:
    """What relations are, where rules update tables or events happen; and the rules that do so."""
    if not program.reactive:
        return
    yield "What relations are:"
    words = {
        Kind.BASE: "base tables",
        Kind.STORED: "views, maintained",
        Kind.STATE: "state, updated by rules",
        Kind.EVENT: "events, never stored",
    }
    for kind, word in words.items():
        names = [name for name in program.views if program.relations[name].kind is kind]
        if names:
            yield f"  {word}: {', '.join(names)}"
    yield "Rules that events and new rows fire:"
    for update in program.updates:
        yield f"  {update.kind.value} {render_rule(update.rule)}"


def described_settings(settings: NodeSettings) -> Iterator[str]:
    """A line for each optimisation, with what it is set to."""
    yield f"rows carry: {settings.scheme}; evaluation: {settings.order}"
    yield f"aggregate selections: {_on(settings.aggregate_selections)}"
    several = settings.aggregate_selections and settings.multi_aggregates
    yield f"for several aggregates at once: {_on(several)}"
    period = settings.selection_period
    yield f"periodic aggregate selections: {f'every {period:g} s' if period else 'off'}"
    delay = settings.sharing_delay
    yield f"message sharing: {f'after {delay:g} s' if delay else 'off'}"
    yield f"magic sets and predicate reordering: {f'for {settings.goal}' if settings.goal else 'off'}"
    along = settings.deletions_along_links
    yield f"deletions: {'from neighbour to neighbour, along links' if along else 'told to all nodes'}"
    if settings.service_time:
        yield f"a simulated node takes {settings.service_time:g} s for a message"


def _on(switched: bool) -> str:
    return "on" if switched else "off"


def rule_places(program: NetworkProgram, rule: CheckedRule) -> tuple[str, str]:
    """Where a rule's premises live, and where its head does, as the rule names it."""
    here = ""
    for item in rule.body:
        if isinstance(item, Premise):
            location = program.relations[item.relation].location
            if location is not None:
                here = _named(item.args[location])
                break
    location = program.relations[rule.relation].location
    return here, here if location is None else _named(rule.head[location])


def _named(term: object) -> str:
    if isinstance(term, Variable):
        return term.name
    return form(term.value) if isinstance(term, Constant) else "?"
