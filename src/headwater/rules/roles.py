"""What the relations of a network's program are: tables, views that rules maintain, state that rules update, events.

P2's reading of a text (loo-2006 and its language's manual), as data:
- an *event* is a relation that is never materialised, in a text that materialises some, or has timers. It is there
  for one local fixpoint. Link relations (`#link`) and declared ones are stored, and so is all of a text that
  materialises nothing;
- *state* is a table that some rule updates: a rule with an event in its body, a `delete` rule, or any rule where the
  table has a lifetime or a size, or an aggregate that views do not have (`a_LIST<X>`). Rows are inserted by key and
  stay, whatever becomes of what fired the rule;
- all other tables with rules are *views*: their rows follow the rules exactly, whatever the network's annotation;
- tables without rules are *base* tables.

All rules of state and of events are *update rules*: an event fires them, or, where the body has none, a row that a
table gains. A body has at most one event.

>>> from headwater.language.datalog import parse
>>> roles = roles_of(parse('''
...   materialize(link, infinity, infinity, keys(1,2)). materialize(seen, 30, infinity, keys(1,2)).
...   materialize(near, infinity, infinity, keys(1,2)).
...   r1 ping(@Y, X) :- periodic(@X, E, 5), link(@X, Y).
...   r2 seen(@X, Y) :- ping(@X, Y).
...   r3 near(@X, Y) :- link(@X, Y).
... '''))
>>> sorted(roles.events), sorted(roles.state)
(['periodic', 'ping'], ['seen'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from headwater.errors import RuleError
from headwater.language.program import Atom, HeadAggregate, Positive, Program, Rule
from headwater.rules.checked import UpdateKind
from headwater.rules.terms import atoms

OF_STATE = ("list", "countdistinct")
"""Aggregates that views do not have: a table with one is state, computed anew when a row of a group comes or goes."""
PERIODIC = "periodic"
"""The relation of timers."""


@dataclass(frozen=True)
class Roles:
    """The relations that are events, and those that rules update; none in databases."""

    events: frozenset[str] = frozenset()
    state: frozenset[str] = frozenset()
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The keys that tables are declared with."""
    network: bool = False
    """Whether the text is read as networks read it at all."""

    @property
    def any(self) -> bool:
        """Whether something is updated or raised at all."""
        return bool(self.events or self.state)

    def known(self) -> Iterable[str]:
        """All relations that the roles speak of."""
        return self.events | self.state

    def updates(self, rule: Rule) -> UpdateKind | None:
        """What a rule does, if it is an update rule."""
        head = rule.heads[0].relation
        if head in self.events:
            return UpdateKind.RAISE
        if head not in self.state:
            return None
        return UpdateKind.DELETE if rule.delete else UpdateKind.INSERT


NO_EVENTS = Roles()


def roles_of(
    program: Program, is_function: Callable[[str], bool] = lambda name: False, timers: Iterable[str] = ()
) -> Roles:
    """The roles of a program's relations; refuses bodies with two events, and events where rows are looked for."""
    events = _events(program, is_function, frozenset(timers))
    limited = {t.relation for t in program.tables if t.lifetime is not None or t.size is not None}
    ruled = [rule for rule in program.rules if rule.body]
    state: set[str] = set()
    for rule in ruled:
        for head in rule.heads:
            fired = any(atom.relation in events for atom, _ in atoms(rule.body))
            limits = head.relation in limited or any(
                isinstance(term, HeadAggregate) and term.function in OF_STATE for term in head.args
            )
            if head.relation not in events and (fired or rule.delete or limits):
                state.add(head.relation)
    keys = {table.relation: table.keys for table in program.tables if table.keys}
    roles = Roles(frozenset(events), frozenset(state), keys, network=True)
    for rule in ruled:
        _check(rule, roles)
    return roles


def _events(program: Program, is_function: Callable[[str], bool], timers: frozenset[str]) -> set[str]:
    mentioned: dict[str, Atom] = {}
    links: set[str] = set()
    for rule in program.rules:
        for atom in (*rule.heads, *(atom for atom, _ in atoms(rule.body))):
            mentioned.setdefault(atom.relation, atom)
            if atom.link:
                links.add(atom.relation)
    if not program.tables and not timers and PERIODIC not in mentioned:
        return set()
    heads = {atom.relation for rule in program.rules for atom in rule.heads}
    tables = {t.relation for t in program.tables}
    stored = links | tables | {d.relation for d in program.declarations}
    return {
        name
        for name in mentioned
        if name not in stored and (name in heads or name == PERIODIC or not is_function(name))
    }


def _check(rule: Rule, roles: Roles) -> None:
    found: list[Atom] = []
    plain = {id(part.atom) for part in rule.body if isinstance(part, Positive)}
    for atom, positive in atoms(rule.body):
        if atom.relation not in roles.events:
            continue
        if not positive or id(atom) not in plain:
            raise RuleError(
                "event-not-stored",
                f"{atom.relation} is an event: it is not stored, so nothing can look for it",
                place=atom.place or rule.place,
                hint=f"materialize({atom.relation}, ...) makes it a table; an event stands as a premise by itself",
            )
        found.append(atom)
    if len(found) > 1:
        one, other = found[:2]
        raise RuleError(
            "two-events",
            f"{one.relation} and {other.relation} are both events, and no two of them happen at once",
            place=other.place or rule.place,
            hint=f"materialize one of them: materialize({other.relation}, 10, infinity, keys(...)).",
        )
    if rule.delete and any(head.relation in roles.events for head in rule.heads):
        name = rule.heads[0].relation
        raise RuleError(
            "event-not-stored",
            f"{name} is an event: there are no rows to delete",
            place=rule.heads[0].place or rule.place,
            hint=f"materialize({name}, ...) makes it a table",
        )
