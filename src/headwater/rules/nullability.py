"""Which columns and variables can be null: for schemas, and for plans that go backwards through a sum.

A base relation's column takes nulls if its declaration, its facts or its first rows say so. A column of a view can be
null if some rule can put a null there; a variable, if every premise it stands in can hold one there, or what it is
computed from gives one. What is found holds for all data, so it may be more than the data shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntFlag

from headwater.errors import RuleError
from headwater.language.program import Call, Constant, Declaration, Term, Variable
from headwater.rules.checked import Compute, Premise, Test
from headwater.rules.draft import Draft, DraftRule
from headwater.values.functions import Functions, is_label
from headwater.values.special import LabelledNull, is_untyped

Nullable = tuple[bool | None, ...]
"""Of each column of a base relation: whether it takes nulls, or `None` if nobody has said so far."""


class Nulls(IntFlag):
    """Which nulls a column or a variable can be."""

    NONE = 0
    NULL = 1
    LABELLED = 2
    ANY = 3


@dataclass
class Nullability:
    """What can be null: columns by relation, variables by rule; and what base relations were said to take."""

    functions: Functions
    base: dict[str, Nullable] = field(default_factory=dict)
    columns: dict[str, list[Nulls]] = field(default_factory=dict)
    untold: Nulls = Nulls.NONE
    """What a column of a base relation can hold of which nobody has said so."""

    def column(self, relation: str, position: int) -> Nulls:
        """What a column can hold."""
        found = self.columns.get(relation)
        return found[position] if found is not None else self.untold

    def variables(self, rule: DraftRule) -> dict[str, Nulls]:
        """What each variable of a rule can be, where the rule derives something."""
        found: dict[str, Nulls] = {}
        for item in rule.body:
            if isinstance(item, Premise):
                for position, arg in enumerate(item.args):
                    if isinstance(arg, Variable):
                        held = self.column(item.relation, position)
                        found[arg.name] = found.get(arg.name, Nulls.ANY) & held
        _narrowed(rule, found)
        for item in rule.body:
            if isinstance(item, Compute):
                value = self.term(item.value, found)
                found[item.variable.name] = found.get(item.variable.name, Nulls.ANY) & value
        _narrowed(rule, found)
        return found

    def term(self, term: Term, variables: Mapping[str, Nulls]) -> Nulls:
        """What a term can be."""
        if isinstance(term, Variable):
            return variables.get(term.name, Nulls.NONE)
        if isinstance(term, Constant):
            if isinstance(term.value, LabelledNull):
                return Nulls.LABELLED
            return Nulls.NULL if term.value is None else Nulls.NONE
        if not isinstance(term, Call) or self.functions.is_generator(term.function):
            return Nulls.NONE
        if is_label(term.function):
            return Nulls.LABELLED
        of_arguments = Nulls.NONE
        for arg in term.args:
            of_arguments |= self.term(arg, variables)
        if self.functions.gives_null(term.function) or of_arguments:
            return Nulls.NULL
        return Nulls.NONE

    def head(self, rule: DraftRule) -> list[Nulls]:
        """What the columns of a rule's head can be."""
        variables = self.variables(rule)
        found = [self.term(arg, variables) for arg in rule.head.args]
        aggregate = rule.aggregate
        if aggregate is not None:
            of_argument = Nulls.NONE
            if aggregate.function != "count" and aggregate.argument is not None:
                of_argument = variables.get(aggregate.argument.name, Nulls.NONE)
            found[aggregate.position] = Nulls.NULL if of_argument else Nulls.NONE
        return found


def _narrowed(rule: DraftRule, variables: dict[str, Nulls]) -> None:
    """Take out what tests keep away: a null is neither below nor above anything."""
    for item in rule.body:
        if not isinstance(item, Test):
            continue
        for side, other in ((item.left, item.right), (item.right, item.left)):
            if not isinstance(side, Variable) or side.name not in variables:
                continue
            if item.op in ("<", "<=", ">", ">="):
                variables[side.name] = Nulls.NONE
            elif item.op == "!=" and isinstance(other, Constant) and other.value is None:
                variables[side.name] &= Nulls.LABELLED


def infer_nullability(draft: Draft, untold: Nulls = Nulls.NONE) -> Nullability:
    """What can be null in a draft whose bodies are items; `untold` is for base columns that nobody has told of."""
    found = Nullability(draft.functions, _base(draft), untold=untold)
    derived = {rule.relation for rule in draft.rules}
    for relation, nullable in found.base.items():
        if relation not in derived:
            found.columns[relation] = [
                untold if each is None else Nulls.ANY if each else Nulls.NONE for each in nullable
            ]
    for rule in draft.rules:
        found.columns.setdefault(rule.relation, [Nulls.NONE] * len(rule.head.args))
    readers = _readers(draft.rules)
    waiting = dict.fromkeys(range(len(draft.rules)))  # in the order of writing, each once
    while waiting:
        number = next(iter(waiting))
        del waiting[number]
        rule = draft.rules[number]
        known = found.columns[rule.relation]
        joined = [before | nulls for before, nulls in zip(known, found.head(rule), strict=True)]
        if joined != known:
            found.columns[rule.relation] = joined
            waiting.update(dict.fromkeys(readers.get(rule.relation, ())))
    return found


def _readers(rules: Sequence[DraftRule]) -> dict[str, list[int]]:
    """For each relation, the numbers of the rules that read it."""
    found: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        for relation in {item.relation for item in rule.body if isinstance(item, Premise)}:
            found.setdefault(relation, []).append(number)
    return found


def _base(draft: Draft) -> dict[str, Nullable]:
    """What declarations, rows and facts say of relations that take rows, twins of views among them."""
    said: dict[str, Nullable] = dict(draft.nullable)
    for declaration in draft.program.declarations:
        said[declaration.relation] = _declared(declaration, said.get(declaration.relation))
    for relation, twin in draft.facades.items():
        if relation in said:
            said[twin] = said[relation]
    for relation, facts in draft.facts.items():
        said[relation] = _with_facts(relation, said.get(relation), facts)
    return said


def _declared(declaration: Declaration, known: Nullable | None) -> Nullable:
    result: list[bool | None] = []
    for position, column in enumerate(declaration.columns):
        has = known[position] if known is not None and position < len(known) else None
        without = column.type is not None and not column.nullable
        result.append(has or (False if without else column.nullable or None))
    return tuple(result)


def _with_facts(relation: str, said: Nullable | None, facts: Sequence) -> Nullable:  # type: ignore[type-arg]
    result = list(said or (None,) * len(facts[0].args))
    for fact in facts:
        for position, arg in enumerate(fact.args):
            if isinstance(arg, Constant) and is_untyped(arg.value):
                if result[position] is False:
                    raise RuleError(
                        "null-value",
                        f"there is no value (null) in column {position + 1} of {relation}, which is declared without",
                        place=arg.place or fact.place,
                        hint="declare the column with a question mark, as in x: int?",
                    )
                result[position] = True
    return tuple(result)
