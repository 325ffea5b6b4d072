"""Update rules with local bodies: what an event takes along on its way.

A rule whose premises live at several places is cut where it moves: the event, with what has been joined so far, is
raised again at the next place, as an event of a helping relation. A rule that no event fires moves the rows of its
tables instead: as a view where they are there for good, and as soft state of the same lifetime where they are not, so
that saying them again refreshes what follows from them at the other place, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import Constant, Variable
from headwater.networks.strands.localisation import Localiser, is_ready
from headwater.plan.templates import with_named_wildcards
from headwater.rules.checked import Absent, Item, Kind, Premise, UpdateKind, UpdateRule
from headwater.rules.terms import part_variables

Site = Variable | Constant | None


def localised_updates(updates: Iterable[UpdateRule], program: Localiser) -> tuple[UpdateRule, ...]:
    """The rules with local bodies; helping relations and views are added to the program."""
    found: list[UpdateRule] = []
    for update in updates:
        _Moving(update, program, found).run()
    return tuple(found)


class _Moving:
    def __init__(self, update: UpdateRule, program: Localiser, found: list[UpdateRule]):
        self.update = update
        self.program = program
        self.found = found
        self.rule = with_named_wildcards(update.rule)
        self.parts = 0

    def run(self) -> None:
        body = list(self.rule.body)
        premises = [item for item in body if isinstance(item, Premise)]
        if not premises:
            raise RuleError(
                "no-premise",
                f"nothing fires {self.rule.label}: its body has no event and no table",
                place=self.rule.place,
                hint="let a timer fire it: periodic(@N, E, 0, 1)",
            )
        first = premises[self.update.event or 0]
        while True:
            site = self._site(first)
            if all(self._is_at(item, site) for item in body if isinstance(item, Premise | Absent)):
                break
            body, first = self._move(body, first, site)
        premises = [item for item in body if isinstance(item, Premise)]
        event = (
            next(i for i, item in enumerate(premises) if item is first)
            if self.update.event is not None
            else None
        )
        rule = replace(self.rule, label=self._label(last=True), body=tuple(body))
        self.found.append(replace(self.update, rule=rule, event=event))

    def _site(self, item: Premise | Absent) -> Site:
        column = self.program.relations[item.relation].location
        term = None if column is None else item.args[column]
        assert term is None or isinstance(term, Variable | Constant)
        return term

    def _is_at(self, item: Premise | Absent, site: Site) -> bool:
        return _key(self._site(item)) == _key(site)

    def _move(self, body: list[Item], first: Premise, site: Site) -> tuple[list[Item], Premise]:
        """Join what is here, and take it to the next place that it leads to."""
        here: list[Item] = [item for item in body if isinstance(item, Premise) and self._is_at(item, site)]
        bound = {v.name for item in here for v in part_variables(item)}
        left: list[Item] = []
        for item in body:
            if any(item is other for other in here):
                continue
            decided = not isinstance(item, Premise) and is_ready(item, bound)
            if decided and (not isinstance(item, Absent) or self._is_at(item, site)):
                here.append(item)
                bound |= {v.name for v in part_variables(item)}
            else:
                left.append(item)
        target = self._next(left, bound)
        kept = {v.name for item in left for v in part_variables(item)} | _head_names(self.update)
        columns = dict.fromkeys([target, *sorted(name for name in kept & bound if name != target)])
        head = tuple(Variable(name) for name in columns)
        helper = self._helper(here, head)
        moved = Premise(helper, head, first.place)
        return [moved, *left], moved

    def _next(self, left: list[Item], bound: set[str]) -> str:
        for item in left:
            if isinstance(item, Premise | Absent):
                site = self._site(item)
                if isinstance(site, Variable) and site.name in bound:
                    return site.name
        places = sorted({f"@{s.name}" for i in left if isinstance(i, Premise | Absent)
                         if isinstance(s := self._site(i), Variable)})  # fmt: skip
        raise RuleError(
            "not-link-restricted",
            f"nothing in rule {self.rule.label} leads to {' or '.join(places)}",
            place=self.rule.place,
            hint="join them by a link: #link(@S, @D, ...) with the other premises at S or at D",
        )

    def _helper(self, here: list[Item], head: tuple[Variable, ...]) -> str:
        """The relation that carries what is joined here; the rule that fills it is added."""
        types = [self.rule.types.get(variable.name) for variable in head]
        owner = next(item.relation for item in here if isinstance(item, Premise))
        name = self.program.helper(f"{self.rule.label}~part", owner, types, 0)
        rule = replace(
            self.rule, label=self._label(), relation=name, head=head, body=tuple(here), aggregate=None
        )
        if self.update.event is not None:
            self._relation(name, Kind.EVENT, None)
            premises = [item for item in here if isinstance(item, Premise)]
            event = next(i for i, item in enumerate(premises) if self.program.relations[item.relation].event)
            self.found.append(UpdateRule(rule, UpdateKind.RAISE, head, event))
            return name
        lifetimes = [self.program.relations[i.relation].lifetime for i in here if isinstance(i, Premise)]
        soft = [lifetime for lifetime in lifetimes if lifetime is not None]
        if soft:
            self._relation(name, Kind.STATE, min(soft))
            self.found.append(UpdateRule(rule, UpdateKind.INSERT, head, None))
        else:
            self.program.add(rule, frozenset())
        return name

    def _relation(self, name: str, kind: Kind, lifetime: float | None) -> None:
        known = self.program.relations[name]
        self.program.relations[name] = replace(known, kind=kind, base=True, lifetime=lifetime)

    def _label(self, *, last: bool = False) -> str:
        if last and not self.parts:
            return self.rule.label
        self.parts += 1
        return self.rule.label + chr(ord("a") + self.parts - 1)


def _key(site: Site) -> object:
    return ("variable", site.name) if isinstance(site, Variable) else None if site is None else site.value


def _head_names(update: UpdateRule) -> set[str]:
    found = {term.name for term in update.head if isinstance(term, Variable)}
    return found | {term.argument.name for term in update.aggregates if term.argument is not None}
