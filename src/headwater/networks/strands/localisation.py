"""Rules with local bodies out of any rule (loo-2006 algorithm 2).

The premises of a rule are grouped by their locations. While there are several groups, one is *shipped*: a rule of its
own derives what the others need of it into a relation that lives at the location of another group. A group can be
shipped where its own variables say, so `link(@S, @Z, C)` goes to `Z` to meet `path(@Z, @D, ...)`:

    sp2a  link~at_1(@Z, @S, C) :- link(@S, @Z, C).
    sp2b  path(@S, @D, @Z, ...) :- link~at_1(@Z, @S, C1), path(@Z, @D, ...), ...

Groups that do not change in every round are shipped rather than those of the recursion. (The paper adds `#link(@Z,
@S)` to the second rule, for messages to have a link to go back on; here that is the transport's affair.) Where no
group says where another one is, split rows meet at a variable that both have, or all in one place; addresses have
to be known, and such a rule is refused.

`!q(args)` is where `q` is: bindings are shipped there, *ask* for `args`, and join what is published as `q~missing`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from headwater.errors import RuleError
from headwater.language.program import Constant, Variable
from headwater.networks.strands.network_program import NOWHERE, Located, Missing
from headwater.rules.checked import UNIT, Absent, CheckedRule, Compute, Item, Premise
from headwater.rules.terms import part_variables, variables
from headwater.values.types import Type

Site = Variable | Constant | None
"""The location of a premise: a variable, a constant, or `NOWHERE`."""


@dataclass
class Group:
    """Premises at one location, and what can be decided there."""

    site: Site
    items: list[Item]

    def bound(self) -> set[str]:
        """The variables that have a value here."""
        return _names(self.items)


@dataclass
class Localiser:
    """A program while its rules are localised: the relations and rules that come about."""

    relations: dict[str, Located]
    addressed: bool
    rules: list[CheckedRule] = field(default_factory=list)
    missing: dict[str, Missing] = field(default_factory=dict)
    links: frozenset[str] = frozenset()
    """The relations of links: what is joined with one goes along it (claim 1)."""

    def add(self, rule: CheckedRule, own: frozenset[str]) -> None:
        """Localise one rule; `own` are the relations of its recursion."""
        _Localising(self, rule, own).run()

    # ------------------------------------------------------------------ helping relations

    def helper(self, name: str, like: str, types: Sequence[Type | None], location: int | None) -> str:
        """A new relation that serves the same user's relation as `like`."""
        while name in self.relations:
            name += "~"
        owner = self.relations[like].owner or like
        self.relations[name] = Located(name, tuple(types), location, owner=owner)
        return name

    def asks(self, relation: str) -> Missing:
        """What is asked of a relation, and what is published as missing from it."""
        if relation not in self.missing:
            known = self.relations[relation]
            asked = self.helper(f"{relation}~asked", relation, known.types, known.location)
            missing = self.helper(f"{relation}~missing", relation, known.types, known.location)
            self.missing[relation] = Missing(missing, asked, relation)
        return self.missing[relation]


class _Localising:
    """One rule on its way."""

    def __init__(self, program: Localiser, rule: CheckedRule, own: frozenset[str]):
        self.program = program
        self.rule = rule
        self.own = own
        self.parts = 0
        self.pending: list[Item] = []
        self.groups: list[Group] = []
        for item in rule.body:
            if isinstance(item, Premise):
                self._join(self._site(item), [item])
            else:
                self.pending.append(item)
        if not self.groups:
            self._join(NOWHERE, [Premise(UNIT, ())])

    def run(self) -> None:
        while True:
            for group in self.groups:
                self._decide(group)
            if len(self.groups) > 1:
                self._bring_together()
            elif self.pending:
                self._ship(self.groups[0], self._site(self._next_absent()))
            else:
                break
        self.program.rules.append(
            replace(self.rule, label=self._label(last=True), body=tuple(self.groups[0].items))
        )

    # ------------------------------------------------------------------ groups

    def _site(self, item: Premise | Absent) -> Site:
        column = self.program.relations[item.relation].location
        term = NOWHERE if column is None else item.args[column]
        assert term is None or isinstance(term, Variable | Constant)
        return term

    def _join(self, site: Site, items: list[Item], *, first: bool = False) -> None:
        for group in self.groups:
            if _same(group.site, site):
                group.items[:] = [*items, *group.items] if first else [*group.items, *items]
                return
        self.groups.append(Group(site, items))

    def _decide(self, group: Group) -> None:
        """Take in what can be tested, computed or asked at the group's location."""
        bound = group.bound()
        waiting = self.pending
        self.pending = []
        for item in waiting:
            if not is_ready(item, bound):
                self.pending.append(item)
            elif isinstance(item, Absent):
                if _same(self._site(item), group.site):
                    self._ask(group, item)
                else:
                    self.pending.append(item)
            else:
                group.items.append(item)
                bound |= _names([item])

    def _ask(self, group: Group, item: Absent) -> None:
        missing = self.program.asks(item.relation)
        asking = replace(
            self.rule,
            label=f"{self.rule.label}~asks_{item.relation}",
            relation=missing.asked,
            head=item.args,
            body=tuple(group.items),
            aggregate=None,
        )
        self.program.rules.append(asking)
        group.items.append(Premise(missing.relation, item.args, item.place))

    def _next_absent(self) -> Absent:
        found = next((item for item in self.pending if isinstance(item, Absent)), None)
        assert found is not None, f"{self.rule.label}: {self.pending}"
        return found

    def _bring_together(self) -> None:
        choices = [
            ((not self._has_link(group), self._cost(group)), number, group, other)
            for number, group in enumerate(self.groups)
            for other in self.groups
            if other is not group and self._leads(group, other.site)
        ]
        if choices:
            _, _, group, other = min(choices, key=lambda choice: choice[:2])
            self._ship(group, other.site)
            return
        if self.program.addressed:
            raise self._refusal()
        first = self.groups[0]
        shared = [name for other in self.groups[1:] for name in sorted(first.bound() & other.bound())]
        self._ship(first, Variable(shared[0]) if shared else NOWHERE)

    def _has_link(self, group: Group) -> bool:
        return any(isinstance(item, Premise) and item.relation in self.program.links for item in group.items)

    def _cost(self, group: Group) -> int:
        """What is shipped in every round comes last."""
        return sum(isinstance(item, Premise) and item.relation in self.own for item in group.items)

    def _leads(self, group: Group, site: Site) -> bool:
        return not isinstance(site, Variable) or site.name in group.bound()

    # ------------------------------------------------------------------ shipping

    def _ship(self, group: Group, site: Site) -> None:
        """Derive what others need of a group into a relation that lives at `site`."""
        self.groups.remove(group)
        needed = _names(self.pending) | {v.name for v in self.rule.head if isinstance(v, Variable)}
        for other in self.groups:
            needed |= other.bound()
        columns: dict[str, Variable] = {}
        if isinstance(site, Variable):
            columns[site.name] = site
        for item in group.items:
            for variable in part_variables(item):
                if variable.name in needed:
                    columns.setdefault(variable.name, variable)
        head: tuple[Variable | Constant, ...] = tuple(columns.values())
        if isinstance(site, Constant):
            head = (site, *head)
        location = NOWHERE if site is None else 0
        self._join(site, [Premise(self._shipped(group, head, location), head)], first=True)

    def _shipped(self, group: Group, head: tuple[Variable | Constant, ...], location: int | None) -> str:
        copied = _copied(group, head)
        if copied is not None:
            relation, columns = copied
            name = f"{relation}~at_{columns[0]}" if location == 0 else f"{relation}~in_one_place"
            if columns[:1] + tuple(sorted(columns[1:])) != columns or len(columns) < self._arity(relation):
                name += "_with_" + "_".join(map(str, columns))
            if name in self.program.relations:
                return name
        else:
            relation = self.rule.relation
            name = f"{self.rule.label}~part"
        types = [self.rule.types.get(term.name) if isinstance(term, Variable) else term.type for term in head]
        name = self.program.helper(name, relation, types, location)
        shipping = replace(
            self.rule,
            label=self._label(),
            relation=name,
            head=head,
            body=tuple(group.items),
            aggregate=None,
        )
        self.program.rules.append(shipping)
        return name

    def _arity(self, relation: str) -> int:
        return self.program.relations[relation].arity

    def _label(self, *, last: bool = False) -> str:
        if last and not self.parts:
            return self.rule.label
        self.parts += 1
        return self.rule.label + chr(ord("a") + self.parts - 1)

    def _refusal(self) -> RuleError:
        places = " and ".join(sorted(f"@{g.site.name}" for g in self.groups if isinstance(g.site, Variable)))
        return RuleError(
            "not-link-restricted",
            f"no premise of rule {self.rule.label} leads from one of {places} to another",
            place=self.rule.place,
            hint="join them by a link: #link(@S, @D, ...) with the other premises at S or at D",
        )


def _same(one: Site, other: Site) -> bool:
    if isinstance(one, Variable) and isinstance(other, Variable):
        return one.name == other.name
    if isinstance(one, Constant) and isinstance(other, Constant):
        return one.value == other.value
    return one is None and other is None


def _names(items: Iterable[Item]) -> set[str]:
    return {variable.name for item in items for variable in part_variables(item)}


def is_ready(item: Item, bound: Collection[str]) -> bool:
    """Whether all that an item reads has a value: all its variables, but for the one that it computes."""
    read = variables(item.value) if isinstance(item, Compute) else part_variables(item)
    return all(variable.name in bound for variable in read)


def _copied(group: Group, head: tuple[Variable | Constant, ...]) -> tuple[str, tuple[int, ...]] | None:
    """The relation and the columns, if the group is one premise with a variable for each column that is shipped.

    The same copy then serves all rules.
    """
    if len(group.items) != 1 or not head or not all(isinstance(term, Variable) for term in head):
        return None
    (item,) = group.items
    assert isinstance(item, Premise)
    names = [arg.name if isinstance(arg, Variable) else None for arg in item.args]
    if None in names or len(set(names)) != len(names):
        return None
    return item.relation, tuple(names.index(term.name) for term in head if isinstance(term, Variable))
