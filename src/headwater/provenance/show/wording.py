"""Rows and rules in the user's words.

Rewriting makes relations that no text names: the twin for rows from outside, projections for `!r(X, _)`, aggregates
in bodies. A row of such a relation is shown as what it stands for: the rule's own premises with values put in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from headwater.language.program import Constant, Term, Variable, Wildcard
from headwater.maintain.engine import Engine
from headwater.plan.instances import Instances
from headwater.plan.stored_rows import Key
from headwater.rules.checked import UNIT, Absent, Checked, CheckedRule, Compute, Item, Premise
from headwater.rules.render import render_part, render_term, render_value
from headwater.rules.terms import rebuild_part
from headwater.values.keys import order_key
from headwater.values.special import is_untyped


class Fact(NamedTuple):
    """A row and the relation it is in. Equal to the plain pair.

    >>> Fact("link", ("a", 1)) == ("link", ("a", 1)), str(Fact("link", ("a", 1)))
    (True, 'link("a", 1)')
    """

    relation: str
    row: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.relation}({', '.join(render_value(value) for value in self.row)})"


def ordered(facts: Iterable[Fact]) -> list[Fact]:
    """Rows in order: by relation, then by values."""
    return sorted(facts, key=lambda fact: (fact.relation, order_key(fact.row)))


def json_fact(fact: Fact) -> dict[str, Any]:
    """A row as plain data; what JSON lacks becomes text."""
    return {"relation": fact.relation, "values": [_json(value) for value in fact.row]}


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


class Wording:
    """Decodes keys and finds the user's words for them."""

    def __init__(self, engine: Engine, checked: Checked):
        self.engine = engine
        self.codec = engine.workspace.codec
        self.infos = engine.workspace.infos
        self.given = {twin: name for name, twin in checked.facades.items()}
        self.rules: dict[str, list[CheckedRule]] = {}
        for view in engine.views:
            for rule in view.rules.rules:
                self.rules.setdefault(rule.relation, []).append(rule)

    def notes(self, instances: Instances) -> tuple[str, ...]:
        """Scans, and indexes made on first use, that a search needed so far."""
        executor = instances.executor
        said = [f"scanned {self._part(name)}" for name in executor.scans if name != UNIT]
        for name, key in executor.built:
            columns = ", ".join(self.infos[name].layout.names(key))
            said.append(f"indexed {self._part(name)} by ({columns}), once")
        return tuple(dict.fromkeys(said))

    def _part(self, relation: str) -> str:
        """The relation's name; those that rewriting made are parts of rules."""
        owner = self.infos[relation].owner
        return relation if owner is None else f"a part of {owner}"

    def shown(self, relation: str) -> bool:
        """Whether users know the relation: they named it, or gave it rows."""
        return relation in self.given or not self.infos[relation].internal

    def passes_on(self, relation: str) -> bool:
        """Whether its rows say no more than the rows they are derived from: a part of a rule's body."""
        info = self.infos[relation]
        return not self.shown(relation) and info.aggregate is None and not info.selections

    def fact(self, key: Key) -> Fact:
        """The row with its values; one of a twin is one of its relation."""
        return self.facts([key])[key]

    def key(self, relation: str, values: Sequence[Any]) -> Key | None:
        """The key of a row with these values, there or not; `None` where a column's type is not known yet."""
        layout = self.infos[relation].layout
        untyped = [value for value, type_ in zip(values, layout.types, strict=True) if type_ is None]
        if not all(map(is_untyped, untyped)):
            return None
        codes = layout.encode(self.codec, [tuple(values)], relation, asked=True)
        return relation, tuple(codes[0].tolist())

    def facts(self, keys: Iterable[Key]) -> dict[Key, Fact]:
        """Many rows at once."""
        found: dict[Key, Fact] = {}
        rows: dict[str, list[tuple[int, ...]]] = {}
        for relation, row in keys:
            rows.setdefault(relation, []).append(row)
        for relation, codes in rows.items():
            info = self.infos[relation]
            name = self.given.get(relation, relation)
            matrix = np.array(codes, np.int64).reshape(len(codes), info.layout.code_arity)
            values = info.layout.decode(self.codec, matrix)
            found.update(
                ((relation, row), Fact(name, value)) for row, value in zip(codes, values, strict=True)
            )
        return found

    # ------------------------------------------------------------------ words

    def words(self, key: Key, fact: Fact | None = None) -> str:
        """The row as users know it."""
        fact = fact or self.fact(key)
        if self.shown(key[0]):
            return str(fact)
        return self._pattern(key[0], tuple(Constant(value) for value in fact.row))

    def _pattern(self, relation: str, args: Sequence[Term]) -> str:
        """What rows of an internal relation stand for, where these are (some of) their values."""
        if self.shown(relation):
            name = self.given.get(relation, relation)
            return f"{name}({', '.join(render_term(_plain(arg)) for arg in args)})"
        ways = dict.fromkeys(self._way(rule, args) for rule in self.rules[relation])
        inside = " ; ".join(ways)
        info = self.infos[relation]
        if info.aggregate is not None:
            return _aggregate(info.aggregate.function, args[info.aggregate.position], inside)
        if info.selections:
            selection = info.selections[0]
            return _aggregate(selection.best, args[selection.value], inside)
        return inside

    def _way(self, rule: CheckedRule, args: Sequence[Term]) -> str:
        """The rule's body with the arguments of its head put in."""
        hidden = rule.aggregate.position if rule.aggregate is not None else None
        values = {
            head.name: arg
            for position, (head, arg) in enumerate(zip(rule.head, args, strict=True))
            if isinstance(head, Variable) and position != hidden
        }
        info = self.infos[rule.relation]
        for selection in info.selections:
            value = rule.head[selection.value]
            if isinstance(value, Variable):
                values.pop(value.name, None)

        def put_in(term: Term) -> Term:
            return values.get(term.name, term) if isinstance(term, Variable) else term

        asked = rule.aggregate.demand if rule.aggregate is not None else None
        items = [
            item for item in rule.body if not (isinstance(item, Premise) and item.relation in (UNIT, asked))
        ]
        return ", ".join(self.part(rebuild_part(item, put_in)) for item in items)  # type: ignore[arg-type]

    def unfolded(self, premise: Premise) -> Premise:
        """The premise itself, or the one that a projection in its place stands for."""
        rules = self.rules.get(premise.relation, ())
        while self.passes_on(premise.relation) and len(rules) == 1 and len(rules[0].body) == 1:
            inner = rules[0].body[0]
            if not isinstance(inner, Premise):
                break
            values = {
                head.name: arg
                for head, arg in zip(rules[0].head, premise.args, strict=True)
                if isinstance(head, Variable)
            }
            args = (
                values.get(arg.name, Wildcard()) if isinstance(arg, Variable) else arg for arg in inner.args
            )
            premise = Premise(inner.relation, tuple(args), inner.place)
            rules = self.rules.get(premise.relation, ())
        return premise

    def part(self, item: Item) -> str:
        """An item of a body, with whatever values were put in."""
        if isinstance(item, Premise):
            return self._pattern(item.relation, item.args)
        if isinstance(item, Absent):
            return f"!{self._pattern(item.relation, item.args)}"
        return render_part(item).replace(" := ", " = ") if isinstance(item, Compute) else render_part(item)

    def no(self, key: Key, fact: Fact | None = None) -> str:
        """Why an absent premise holds."""
        return f"no {self.words(key, fact)}"

    # ------------------------------------------------------------------ rules

    def label(self, rule: CheckedRule) -> str:
        """The label of the rule as the user wrote it."""
        if rule.relation in self.given.values() and rule.label in self.given:
            return "given"
        return rule.written or self.infos[rule.relation].owner or rule.relation

    def text(self, rule: CheckedRule) -> str:
        """The rule as the user wrote it; empty for those that no text has."""
        text = " ".join(rule.text.split())
        return text.removeprefix(self.label(rule)).lstrip(": ") if rule.text else ""


def _plain(term: Term) -> Term:
    """Variables that no text names are wildcards."""
    return Wildcard() if isinstance(term, Variable) and "~" in term.name else term


def _aggregate(function: str, value: Term, inside: str) -> str:
    """An aggregate with its result; without one, what there is to aggregate."""
    return f"{render_term(value)} = {function} : {{ {inside} }}" if isinstance(value, Constant) else inside
