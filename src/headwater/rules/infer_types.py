"""The type of every column and of every variable, from declarations, data, constants and functions.

A variable has the type of every column it stands in, through all rules at once. What a function gives
depends on what it takes, so that is repeated until nothing more is learned. What nothing determines stays
`None`. An int constant is weak: it may stand where a float is expected and is then written as one; only where
nothing else is known does it make its column int.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headwater.errors import Place, RuleError
from headwater.language.program import Call, Constant, Term, Variable
from headwater.rules.checked import Absent, Compute, Item, Premise, Test
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.render import render_part, render_value
from headwater.rules.type_classes import ColumnOf, Node, Origin, TypeClasses, VariableOf
from headwater.values.functions import FunctionMismatch, Functions
from headwater.values.types import FLOAT, INT, Type, TypeClash, type_of, unify


@dataclass
class Typing:
    """What is known about types; `weak` are the int constants that stand in a node, `owners` whom relations serve."""

    functions: Functions
    classes: TypeClasses = field(default_factory=TypeClasses)
    weak: list[tuple[Node, Constant]] = field(default_factory=list)
    owners: Mapping[str, str] = field(default_factory=dict)

    def slot(self, relation: str, position: int) -> ColumnOf:
        """A column, with the name that users know it by."""
        return ColumnOf(relation, position, self.owners.get(relation, relation))

    def column(self, relation: str, position: int) -> Type | None:
        """The type of a column."""
        return self.classes.type(ColumnOf(relation, position))

    def variable(self, rule: DraftRule, name: str) -> Type | None:
        """The type of a variable in a rule."""
        return self.classes.type(VariableOf(rule.label, name))

    def term(self, rule: DraftRule, term: Term) -> Type | None:
        """The type of a term in a rule; refuses calls that no function takes."""
        if isinstance(term, Variable):
            return self.variable(rule, term.name)
        if isinstance(term, Constant):
            return _own_type(term, rule.place)
        if not isinstance(term, Call):
            return None
        args = [self.term(rule, arg) for arg in term.args]
        try:
            return self.functions.result_type(term.function, args)
        except FunctionMismatch as mismatch:
            raise RuleError("function-mismatch", str(mismatch), place=term.place or rule.place) from None


def infer_types(draft: Draft) -> Typing:
    """Unify all that must have one type; raises `type-clash` where two types meet."""
    typing = Typing(draft.functions, owners=draft.internal)
    classes = typing.classes
    for declaration in draft.program.declarations:
        for i, column in enumerate(declaration.columns):
            if column.type is not None:
                origin = Origin("as declared", column.place or declaration.place)
                classes.give(ColumnOf(declaration.relation, i), column.type, origin)
    for relation, types in draft.known.items():
        for i, known_type in enumerate(types):
            if known_type is not None:
                classes.give(ColumnOf(relation, i), known_type, Origin(f"in the data of {relation}"))
    for rule in draft.rules:
        _same_types(typing, rule)
    _fact_types(typing, draft)
    _twins(typing, draft)
    _settle(typing, draft.rules)
    while _next_weak(typing):
        _settle(typing, draft.rules)
    for rule in draft.rules:
        _check_rule(typing, rule)
    return typing


def _fact_types(typing: Typing, draft: Draft) -> None:
    """Facts may be many: of each column, the first constant of each type speaks for the others."""
    seen: set[tuple[str, int, Type | None]] = set()
    for relation, facts in draft.facts.items():
        for atom in facts:
            for i, constant in enumerate(atom.args):
                assert isinstance(constant, Constant)
                key = (relation, i, type_of(constant.value))
                if key not in seen:
                    seen.add(key)
                    _constant(typing, typing.slot(relation, i), constant, atom.place)


def _twins(typing: Typing, draft: Draft) -> None:
    """Data for a relation that has rules arrives in its twin, and was typed under the relation's own name."""
    arity = {rule.relation: len(rule.head.args) for rule in draft.rules}
    for relation, twin in draft.facades.items():
        for i in range(arity[relation]):
            typing.classes.unite(typing.slot(twin, i), typing.slot(relation, i), None)


def _same_types(typing: Typing, rule: DraftRule) -> None:
    """What must have one type whatever the functions are."""
    classes = typing.classes
    node: Node
    for node, term in _slots(typing, rule):
        place = term.place or rule.place
        if isinstance(term, Variable):
            classes.unite(VariableOf(rule.label, term.name), node, place)
        elif isinstance(term, Constant):
            _constant(typing, node, term, place)
    for item in rule.body:
        if isinstance(item, Compute):
            node = VariableOf(rule.label, item.variable.name)
            if isinstance(item.value, Variable):
                classes.unite(node, VariableOf(rule.label, item.value.name), item.place or rule.place)
            elif isinstance(item.value, Constant):
                _constant(typing, node, item.value, item.place or rule.place)
    if rule.aggregate is not None:
        result = rule.head.args[rule.aggregate.position]
        assert isinstance(result, Variable)
        node = VariableOf(rule.label, result.name)
        if rule.aggregate.function in ("sum", "min", "max") and rule.aggregate.argument is not None:
            argument = VariableOf(rule.label, rule.aggregate.argument.name)
            classes.unite(node, argument, result.place or rule.place)
        else:
            type = INT if rule.aggregate.function == "count" else FLOAT
            classes.give(node, type, Origin(f"the result of {rule.aggregate.function}", result.place))


def _slots(typing: Typing, rule: DraftRule) -> Iterator[tuple[ColumnOf, Term]]:
    """Every argument of the head, the premises and the absent premises, with its column."""
    for i, term in enumerate(rule.head.args):
        yield typing.slot(rule.relation, i), term
    for item in rule.body:
        if isinstance(item, (Premise, Absent)):
            for i, term in enumerate(item.args):
                yield typing.slot(item.relation, i), term


def _constant(typing: Typing, node: Node, constant: Constant, place: Place | None) -> None:
    type = _own_type(constant, place)
    if _has_int(type):
        typing.weak.append((node, replace(constant, place=constant.place or place)))
    else:
        origin = Origin(f"the constant {render_value(constant.value)}", constant.place or place)
        typing.classes.give(node, type, origin)


def _own_type(constant: Constant, place: Place | None) -> Type:
    type = type_of(constant.value)
    if type is None:
        raise RuleError(
            "type-clash",
            f"{render_value(constant.value)} holds values of different types",
            place=constant.place or place,
            hint="a list has elements of one type",
        )
    return type


def _has_int(type: Type) -> bool:
    return type == INT or (type.element is not None and _has_int(type.element))


def _has_number(type: Type) -> bool:
    return _has_int(type) or type == FLOAT


def _settle(typing: Typing, rules: Sequence[DraftRule]) -> None:
    """Repeat what depends on other types until nothing more is learned."""
    typing.classes.changed = True
    while typing.classes.changed:
        typing.classes.changed = False
        for rule in rules:
            for item in rule.body:
                if isinstance(item, Compute) and isinstance(item.value, Call):
                    type = typing.term(rule, item.value)
                    if type is not None:
                        origin = Origin(
                            f"the result of {item.value.function}", item.value.place or item.place
                        )
                        typing.classes.give(VariableOf(rule.label, item.variable.name), type, origin)
                elif isinstance(item, Test):
                    _learn_from_test(typing, rule, item)


def _learn_from_test(typing: Typing, rule: DraftRule, test: Test) -> None:
    """A variable compared with a value that is no number has the type of that value."""
    for one, other in ((test.left, test.right), (test.right, test.left)):
        type = typing.term(rule, other)
        if not isinstance(one, Variable) or type is None or _has_number(type):
            continue
        if typing.variable(rule, one.name) is None:
            origin = Origin(f"compared in `{render_part(test)}`", test.place or rule.place)
            typing.classes.give(VariableOf(rule.label, one.name), type, origin)


def _next_weak(typing: Typing) -> bool:
    """Let one int constant decide the type of its class, if nothing else has; refuse what cannot fit."""
    while typing.weak:
        node, constant = typing.weak.pop(0)
        own = _own_type(constant, None)
        words = Origin(f"the constant {render_value(constant.value)}", constant.place)
        type = typing.classes.type(node)
        if type is None:
            typing.classes.give(node, own, words)
            return True
        try:
            wider = unify(type, own)
        except TypeClash:
            wider = None
        if wider is not None:
            typing.classes.give(node, own, words)
        elif not takes(type, own):
            typing.classes.give(node, own, words)  # which refuses it
    return False


def takes(column: Type, constant: Type) -> bool:
    """Whether an int constant (or a list of such) can be written as a constant of the column's type."""
    if column.element is not None and constant.element is not None:
        return takes(column.element, constant.element)
    return column == constant or (column == FLOAT and constant == INT)


def _check_rule(typing: Typing, rule: DraftRule) -> None:
    """Refuse comparisons of different types, and sums of what is no number."""
    for item in rule.body:
        if isinstance(item, Test):
            left, right = typing.term(rule, item.left), typing.term(rule, item.right)
            try:
                typing.functions.check_comparable(item.op, left, right)
            except FunctionMismatch:
                raise RuleError(
                    "type-clash",
                    f"`{render_part(item)}` compares {_worded(typing, rule, item.left, left)} "
                    f"with {_worded(typing, rule, item.right, right)}",
                    place=item.place or rule.place,
                    hint="compare values of one type; int and float may be mixed",
                ) from None
    aggregate = rule.aggregate
    if aggregate is not None and aggregate.argument is not None and aggregate.function in ("sum", "avg"):
        type = typing.variable(rule, aggregate.argument.name)
        if type not in (None, INT, FLOAT):
            origin = typing.classes.origin(VariableOf(rule.label, aggregate.argument.name))
            raise RuleError(
                "type-clash",
                f"{aggregate.function} needs numbers, but {aggregate.argument.name} is {type} ({origin})",
                place=aggregate.argument.place or rule.place,
                hint="count, min and max take values of any type",
            )


def _worded(typing: Typing, rule: DraftRule, term: Term, type: Type | None) -> str:
    origin = typing.classes.origin(VariableOf(rule.label, term.name)) if isinstance(term, Variable) else None
    return f"{type} ({origin})" if origin is not None else str(type)


# ------------------------------------------------------------------ writing constants as their column needs


def fit(value: object, type: Type | None, place: Place | None = None) -> object:
    """The value as a column of this type holds it: an int as a float where one is expected.

    >>> from headwater.values.types import list_of
    >>> fit(1, FLOAT), fit((1, 2), list_of(FLOAT)), fit("a", FLOAT)
    (1.0, (1.0, 2.0), 'a')
    """
    if type is None or isinstance(value, bool):
        return value
    if isinstance(value, tuple):
        return tuple(fit(item, type.element, place) for item in value)
    if type == FLOAT and isinstance(value, int):
        if abs(value) >= 2**63 or int(float(value)) != value:
            raise RuleError("type-clash", f"no float equals {value}", place=place, hint="write it as a float")
        return float(value)
    return value


def fit_item(typing: Typing, rule: DraftRule, item: Item) -> Item:
    """The item with its constants written as their columns need."""
    if isinstance(item, (Premise, Absent)):
        args = tuple(fit_term(typing, item.relation, i, term) for i, term in enumerate(item.args))
        return replace(item, args=args)  # type: ignore[arg-type]
    if isinstance(item, Compute) and isinstance(item.value, Constant):
        return replace(item, value=_fitted(item.value, typing.variable(rule, item.variable.name)))
    return item


def fit_term(typing: Typing, relation: str, position: int, term: Term) -> Term:
    """An argument with its constant written as its column needs."""
    return _fitted(term, typing.column(relation, position)) if isinstance(term, Constant) else term


def _fitted(constant: Constant, type: Type | None) -> Constant:
    return replace(constant, value=fit(constant.value, type, constant.place))
