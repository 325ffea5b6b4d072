"""A part of a body that only has to hold somehow becomes a relation of its own.

`q(1) :- a(_), b(_), c(_).` asks whether there are rows, and joining them would find every combination. What it
costs is not the number of results but that of their derivations, which multiply where parts of a body have
nothing in common beyond variables that are wanted anyway.

A *part*, given some variables, is a set of items that hang together by other variables. Given the head, and given
each single variable besides, all parts but one that have variables of their own are projected. So is a premise
alone, given all that others mention: `reach(Y, _)`. One part may stay where it is, as its derivations are no more
than those of its own relation would be: the one that would keep most of its columns.

When it does not pay, nothing is projected. A relation costs its rows once more, and a change of it passes through
one more view:
- a part whose columns that are left determine the others (a key, the group of an aggregate) gives one row each;
- a premise that is joined and keeps more than half of its columns, `link(X, Z, _), reach(Z, Y)`, is likely to.

What must stay: parts with a function that fails for some values, as other premises may keep those out; parts that
do not bind all they use. Rules that count, sum or average range over all bindings and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwater.language.program import Constant, Term, Variable, Wildcard
from headwater.rules.checked import Item, Premise
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.rewrites.project_negation import project
from headwater.rules.safety import may_fail, schedule
from headwater.rules.strata import components, dependencies
from headwater.rules.terms import binding, names, part_variables, variables


def project_parts(draft: Draft) -> Draft:
    """No result is derived once for each combination of rows that only have to exist.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> text = "p(X) :- a(X, _), b(X, U), U > 3, c(_)."
    >>> print(render_draft(project_parts(orient_equalities(begin(parse(text), Functions())))))
    p#1: p(X) :- a(X, _), p#1~part(X), c~any(1).
    p#1~part: p#1~part(X) :- b(X, U), U > 3.
    c~any: c~any(1) :- c(_).
    """
    if all(rule.aggregate is not None or _joined_throughout(rule) for rule in draft.rules):
        return draft
    unique = _unique(draft)
    cycle = {
        name: number for number, part in enumerate(components(dependencies(draft.rules))) for name in part
    }
    rules: list[DraftRule] = []
    todo = list(reversed(draft.rules))
    while todo:
        rule = todo.pop()
        if rule.aggregate is None and not _joined_throughout(rule):
            draft, rule, made = _Body(draft, rule, unique, cycle).projected()
            todo += reversed(made)
        rules.append(rule)
    return draft.with_rules(rules)


def _joined_throughout(rule: DraftRule) -> bool:
    """Whether every premise has all the variables that the head does not: then no part is apart from the others."""
    premises = [item.args for item in rule.body if isinstance(item, Premise)]
    head = {v.name for arg in rule.head.args for v in variables(arg)}
    own = [{arg.name for arg in args if isinstance(arg, Variable)} - head for args in premises]
    wildcards = any(isinstance(arg, Wildcard) for args in premises for arg in args)
    return len(premises) < 2 or (not wildcards and all(some == own[0] for some in own))


def _unique(draft: Draft) -> dict[str, frozenset[int]]:
    """Columns that tell the rows of a relation apart, where something says so."""
    derived = {rule.relation: len(rule.head.args) for rule in draft.rules}
    found = {
        table.relation: frozenset(table.keys)
        for table in draft.program.tables
        if table.keys and table.relation not in derived
    }
    for relation, aggregate in draft.aggregates.items():
        found[relation] = frozenset(range(derived[relation])) - {aggregate.position}
    for relation, selections in draft.selections.items():
        if len(selections) == 1 and len(selections[0].group) + 1 == derived[relation]:
            found[relation] = frozenset(selections[0].group)
    return found


@dataclass(frozen=True)
class _Part:
    """Items of a body that hang together, and the variables through which they do with the others.

    `kept` counts the shared variables and constants of its premises: the columns that are not its own affair.
    """

    items: tuple[Item, ...]
    shared: frozenset[str]
    kept: int
    columns: int

    @property
    def premises(self) -> list[Premise]:
        """Those of its items that are premises."""
        return [item for item in self.items if isinstance(item, Premise)]


class _Body:
    """One rule's body, and what becomes of it."""

    def __init__(
        self, draft: Draft, rule: DraftRule, unique: dict[str, frozenset[int]], cycle: dict[str, int]
    ):
        self.draft = draft
        self.rule = rule
        self.unique = unique
        self.cycle = cycle
        self.made: list[DraftRule] = []
        self.head = frozenset(v.name for arg in rule.head.args for v in variables(arg))

    def projected(self) -> tuple[Draft, DraftRule, list[DraftRule]]:
        """The draft with new relations, the rule that reads them, and their rules."""
        while (part := self._next()) is not None:
            self._project(part)
        return self.draft, self.rule, self.made

    @property
    def items(self) -> tuple[Item, ...]:
        """The body as it is now."""
        return self.rule.body  # type: ignore[return-value]

    # ------------------------------------------------------------------ which

    def _next(self) -> _Part | None:
        """A part to project, if there is one that pays."""
        return self._given_head() or self._given_one_more() or self._alone()

    def _given_head(self) -> _Part | None:
        parts = self._multiplying(self.head)
        if len(parts) == 1:
            return self._first(part for part in parts if self._apart(part))
        return self._all_but_one(parts)

    def _given_one_more(self) -> _Part | None:
        """Of the parts that hang on one variable alone, all but one."""
        for name in sorted(names(self.items) - self.head):
            parts = [part for part in self._multiplying(self.head | {name}) if part.shared <= {name}]
            if len(parts) > 1:
                found = self._all_but_one(parts)
                if found is not None:
                    return found
        return None

    def _alone(self) -> _Part | None:
        """Premises with columns that nothing else mentions: all but one, and the last one if it pays."""
        premises = [names([item]) for item in self.items if isinstance(item, Premise)]
        mentioned = {name for i, own in enumerate(premises) for other in premises[:i] for name in own & other}
        parts = [part for part in self._multiplying(self.head | mentioned) if len(part.premises) == 1]
        if len(parts) != 1:
            return self._all_but_one(parts)
        others = names(
            item for item in self.items if isinstance(item, Premise) and item not in parts[0].items
        )
        pays = 2 * parts[0].kept <= parts[0].columns and not others <= parts[0].shared
        return self._first(parts if pays else ())

    def _multiplying(self, given: Iterable[str]) -> list[_Part]:
        """The parts that may hold in several ways for the same values of the given variables."""
        return [part for part in _parts(self.items, frozenset(given)) if self._multiplies(part)]

    def _multiplies(self, part: _Part) -> bool:
        premises = part.premises
        if not premises or len(part.items) == len(self.items) or part.kept == part.columns:
            return False
        if len(premises) > 1 or premises[0].relation not in self.unique:
            return True
        kept = {i for i, arg in enumerate(premises[0].args) if _kept(arg, part.shared)}
        return not self.unique[premises[0].relation] <= kept

    def _apart(self, part: _Part) -> bool:
        """Whether the part is multiplied with premises that it shares nothing with."""
        others = names(item for item in self.items if isinstance(item, Premise) and item not in part.items)
        return bool(others) and others.isdisjoint(part.shared)

    def _all_but_one(self, parts: Sequence[_Part]) -> _Part | None:
        if len(parts) < 2:
            return None
        movable = [part for part in parts if self._movable(part)]
        if len(movable) == len(parts):
            movable.remove(max(movable, key=lambda part: (self._recursive(part), part.kept)))
        return self._first(movable)

    def _first(self, parts: Iterable[_Part]) -> _Part | None:
        return next((part for part in parts if self._movable(part)), None)

    @staticmethod
    def _movable(part: _Part) -> bool:
        return not any(may_fail(item) for item in part.items) and names(part.items) <= binding(part.items)

    def _recursive(self, part: _Part) -> bool:
        """A projection inside a recursion takes a round more for each of its own."""
        home = self.cycle.get(self.rule.relation, -1)
        return any(self.cycle.get(premise.relation) == home for premise in part.premises)

    # ------------------------------------------------------------------ how

    def _project(self, part: _Part) -> None:
        place = next(i for i, item in enumerate(self.items) if item in part.items)
        rest = [item for item in self.items if item not in part.items]
        rest.insert(place, self._plain(part) or self._relation(part))
        self.rule = replace(self.rule, body=tuple(rest))

    def _plain(self, part: _Part) -> Premise | None:
        """A projection that others may share, if the part is a premise without further conditions."""
        premise = part.items[0]
        if len(part.items) > 1 or not isinstance(premise, Premise):
            return None
        own = [arg.name for arg in premise.args if isinstance(arg, Variable) and arg.name not in part.shared]
        if len(set(own)) < len(own) or any(isinstance(arg, Constant) for arg in premise.args):
            return None
        kept = tuple(i for i, arg in enumerate(premise.args) if _kept(arg, part.shared))
        self.draft, name, made = project(self.draft, premise.relation, kept, len(premise.args), premise.place)
        self.made += [replace(rule, body=schedule(rule.body)) for rule in made]
        return Premise(name, tuple(premise.args[i] for i in kept) or (Constant(1),), premise.place)

    def _relation(self, part: _Part) -> Premise:
        """A relation of the values that the part's shared variables have."""
        self.draft, name = self.draft.helper(f"{self.rule.label}~part", self.rule.relation)
        ordered = [v for item in part.items for v in part_variables(item) if v.name in part.shared]
        head = helper_atom(name, ordered, part.premises[0].place)
        self.made.append(replace(self.rule, label=name, heads=(head,), body=part.items))
        return Premise(name, head.args, part.premises[0].place)  # type: ignore[arg-type]


def _kept(arg: Term, shared: frozenset[str]) -> bool:
    return isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in shared)


def _parts(items: Sequence[Item], given: frozenset[str]) -> list[_Part]:
    """The items that hang together by variables that are not given, in order of writing."""
    groups: list[tuple[list[int], set[str]]] = []
    for place, item in enumerate(items):
        own = names([item]) - given
        places = [place]
        apart = []
        for group in groups:
            if own & group[1]:
                places += group[0]
                own |= group[1]
            else:
                apart.append(group)
        groups = [*apart, (places, own)]
    return [
        _part([items[place] for place in sorted(places)], given)
        for places, _ in sorted(groups, key=lambda g: min(g[0]))
    ]


def _part(items: Sequence[Item], given: frozenset[str]) -> _Part:
    shared = frozenset(names(items) & given)
    args = [arg for item in items if isinstance(item, Premise) for arg in item.args]
    return _Part(tuple(items), shared, sum(_kept(arg, shared) for arg in args), len(args))
