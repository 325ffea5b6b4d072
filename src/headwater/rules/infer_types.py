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
from headwater.language.program import Call, Constant, HeadAggregate, Term, Variable
from headwater.rules.checked import Absent, Compute, Item, Premise, Test
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.fit_constants import (
    beside,
    beside_decimals,
    fit,
    has_int,
    has_number,
    is_weak,
    open_numbers,
    takes,
)
from headwater.rules.render import render_part, render_value
from headwater.rules.terms import aggregate_hint
from headwater.rules.type_classes import ColumnOf, Node, Origin, TypeClasses, VariableOf
from headwater.values.decimal_types import average_type, sum_type
from headwater.values.functions import FunctionMismatch, Functions
from headwater.values.special import is_untyped
from headwater.values.types import (
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    Type,
    TypeClash,
    list_of,
    type_of,
    unify,
)
from headwater.values.volatile import VOLATILE
from headwater.values.volatile import result_type as volatile_type

AGGREGATED = {"sum": sum_type, "avg": average_type}
"""The type of an aggregate of decimals."""
LITERAL_EXAMPLES = {
    "date": "2024-01-31", "time": 'time("10:30:00")', "timestamp": 'timestamp("2024-01-31T10:30:00")',
    "timestamp_ntz": 'timestamp_ntz("2024-01-31T10:30:00")', "interval": 'interval("2 days")',
}  # fmt: skip


@dataclass
class Typing:
    """What is known about types; `weak` are the int constants that stand in a node, `owners` whom relations serve."""

    functions: Functions
    classes: TypeClasses = field(default_factory=TypeClasses)
    weak: list[tuple[Node, Constant]] = field(default_factory=list)
    owners: Mapping[str, str] = field(default_factory=dict)
    digits: dict[ColumnOf, Type] = field(default_factory=dict)

    def slot(self, relation: str, position: int) -> ColumnOf:
        """A column, with the name that users know it by."""
        return ColumnOf(relation, position, self.owners.get(relation, relation))

    def column(self, relation: str, position: int) -> Type | None:
        """The type of a column; decimals of one that rows come into have the digits that are declared."""
        column = ColumnOf(relation, position)
        return self.digits.get(column) or self.classes.type(column)

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
        if rule.update is not None and term.function in VOLATILE:
            return volatile_type(term.function, len(term.args))
        args = [self.term(rule, arg) for arg in term.args]
        fitted = beside_decimals(term, args)
        if fitted is not term:
            args = [self.term(rule, arg) for arg in fitted.args]
        elif None in args:
            args = open_numbers(term, args)
        try:
            return self.functions.result_type(term.function, args)
        except FunctionMismatch as mismatch:
            hint = aggregate_hint(term.function, term.args)
            place = term.place or rule.place
            raise RuleError("function-mismatch", str(mismatch), place=place, hint=hint) from None


def infer_types(draft: Draft) -> Typing:
    """Unify all that must have one type; raises `type-clash` where two types meet."""
    typing = Typing(draft.functions, owners=draft.internal)
    classes = typing.classes
    derived = {rule.relation for rule in draft.rules}
    for declaration in draft.program.declarations:
        for i, column in enumerate(declaration.columns):
            if column.type is not None:
                origin = Origin("as declared", column.place or declaration.place)
                classes.give(ColumnOf(declaration.relation, i), column.type, origin)
                if column.type.name == "decimal" and declaration.relation not in derived:
                    typing.digits[ColumnOf(declaration.relation, i)] = column.type
    for relation, types in draft.known.items():
        for i, known_type in enumerate(types):
            if known_type is not None:
                classes.give(ColumnOf(relation, i), known_type, Origin(f"in the data of {relation}"))
    for rule in draft.rules:
        _same_types(typing, rule)
    _fact_types(typing, draft)
    _twins(typing, draft)
    _settle(typing, draft.rules)
    typing.weak.sort(key=lambda weak: has_int(_weak_type(weak[1])))
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
    for place_, aggregate in rule.head_aggregates():
        _same_as_aggregate(typing, rule, typing.slot(rule.relation, place_), aggregate)
    if rule.aggregate is not None:
        result = rule.head.args[rule.aggregate.position]
        assert isinstance(result, Variable)
        node = VariableOf(rule.label, result.name)
        if rule.aggregate.function in ("min", "max") and rule.aggregate.argument is not None:
            argument = VariableOf(rule.label, rule.aggregate.argument.name)
            classes.unite(node, argument, result.place or rule.place)
        elif rule.aggregate.function == "count":
            classes.give(node, INT, Origin("the result of count", result.place))


def _same_as_aggregate(typing: Typing, rule: DraftRule, column: ColumnOf, aggregate: HeadAggregate) -> None:
    """What an aggregate of an update rule gives; those of views are none by now."""
    origin = Origin(f"the result of {aggregate.function}", aggregate.place or rule.place)
    if aggregate.function in ("count", "countdistinct"):
        typing.classes.give(column, INT, origin)
    elif aggregate.function == "avg":
        typing.classes.give(column, FLOAT, origin)
    elif aggregate.argument is not None and aggregate.function != "list":
        typing.classes.unite(column, VariableOf(rule.label, aggregate.argument.name), origin.place)


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
    if type is None:
        return  # a null says nothing of its column's type
    if is_weak(type) and constant.type is None:
        typing.weak.append((node, replace(constant, place=constant.place or place)))
    else:
        origin = Origin(f"the constant {render_value(constant.value)}", constant.place or place)
        typing.classes.give(node, type, origin)


def _weak_type(constant: Constant) -> Type:
    type = _own_type(constant, None)
    assert type is not None, "a null is not weak"
    return type


def _own_type(constant: Constant, place: Place | None) -> Type | None:
    type = constant.type or type_of(constant.value)
    if type is None and not is_untyped(constant.value):
        raise RuleError(
            "type-clash",
            f"{render_value(constant.value)} holds values of different types",
            place=constant.place or place,
            hint="a list has elements of one type",
        )
    return type


def _settle(typing: Typing, rules: Sequence[DraftRule]) -> None:
    """Repeat what depends on other types until nothing more is learned."""
    typing.classes.changed = True
    while typing.classes.changed:
        typing.classes.changed = False
        for rule in rules:
            _learn_from_aggregate(typing, rule)
            _learn_from_lists(typing, rule)
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


def _learn_from_aggregate(typing: Typing, rule: DraftRule) -> None:
    """What sum and avg give depends on what they take: of decimals, decimals with more digits."""
    aggregate = rule.aggregate
    if aggregate is None or aggregate.function not in ("sum", "avg") or aggregate.argument is None:
        return
    result = rule.head.args[aggregate.position]
    assert isinstance(result, Variable)
    node, argument = VariableOf(rule.label, result.name), VariableOf(rule.label, aggregate.argument.name)
    taken, given = typing.classes.type(argument), typing.classes.type(node)
    origin = Origin(f"the result of {aggregate.function}", result.place)
    if taken is not None and taken.name == "decimal":
        typing.classes.give(node, AGGREGATED[aggregate.function](taken), origin)
    elif aggregate.function == "avg" and taken is not None:
        typing.classes.give(node, FLOAT, origin)
    elif aggregate.function == "sum" and taken is not None:
        typing.classes.give(node, taken, origin)
    elif given in (INT, FLOAT) and aggregate.function == "sum":
        typing.classes.give(argument, given, typing.classes.origin(node) or origin)


def _learn_from_lists(typing: Typing, rule: DraftRule) -> None:
    """A list of values has their type."""
    for place, aggregate in rule.head_aggregates():
        if aggregate.function == "list" and aggregate.argument is not None:
            items = typing.variable(rule, aggregate.argument.name)
            origin = Origin("the result of list", aggregate.place or rule.place)
            typing.classes.give(typing.slot(rule.relation, place), list_of(items), origin)


def _learn_from_test(typing: Typing, rule: DraftRule, test: Test) -> None:
    """A variable compared with a value that is no number has the type of that value."""
    for one, other in ((test.left, test.right), (test.right, test.left)):
        type = typing.term(rule, other)
        if not isinstance(one, Variable) or type is None or has_number(type):
            continue
        if typing.variable(rule, one.name) is None:
            origin = Origin(f"compared in `{render_part(test)}`", test.place or rule.place)
            typing.classes.give(VariableOf(rule.label, one.name), type, origin)


def _next_weak(typing: Typing) -> bool:
    """Let one int constant decide the type of its class, if nothing else has; refuse what cannot fit."""
    while typing.weak:
        node, constant = typing.weak.pop(0)
        own = _weak_type(constant)
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
            if typing.classes.changed:  # it told a part that was open, such as that of a null
                return True
        elif not takes(type, own):
            typing.classes.give(node, own, words)  # which refuses it
    return False


def _check_rule(typing: Typing, rule: DraftRule) -> None:
    """Refuse comparisons of different types, and sums of what is no number."""
    for item in rule.body:
        if isinstance(item, Test):
            left, right = typing.term(rule, item.left), typing.term(rule, item.right)
            if _is_beside(item.left, right, left) or _is_beside(item.right, left, right):
                continue
            try:
                typing.functions.check_comparable(item.op, left, right)
            except FunctionMismatch:
                raise RuleError(
                    "type-clash",
                    f"`{render_part(item)}` compares {_worded(typing, rule, item.left, left)} "
                    f"with {_worded(typing, rule, item.right, right)}",
                    place=item.place or rule.place,
                    hint=_comparison_hint(left, right),
                ) from None
    aggregate = rule.aggregate
    if aggregate is not None and aggregate.argument is not None and aggregate.function in ("sum", "avg"):
        type = typing.variable(rule, aggregate.argument.name)
        summed = aggregate.function == "sum" and type in (INTERVAL, INTERVAL_MONTHS)
        if type not in (None, INT, FLOAT) and type.name != "decimal" and not summed:
            origin = typing.classes.origin(VariableOf(rule.label, aggregate.argument.name))
            raise RuleError(
                "type-clash",
                f"{aggregate.function} needs numbers, but {aggregate.argument.name} is {type} ({origin})",
                place=aggregate.argument.place or rule.place,
                hint="count, min and max take values of any type",
            )


def _is_beside(term: Term, other: Type | None, own: Type | None) -> bool:
    """Whether it is a constant that will be written as the type on the other side."""
    return isinstance(term, Constant) and other is not None and own is not None and takes(other, own)


def _comparison_hint(left: Type | None, right: Type | None) -> str:
    names = {"" if type is None else type.name for type in (left, right)}
    moments = names & {
        "date",
        "time",
        "timestamp",
        "timestamp_ntz",
        "timestamp_ns",
        "timestamp_ntz_ns",
        "interval",
    }
    if "string" in names and moments:
        (name,) = moments
        return f"write the value as {LITERAL_EXAMPLES[name.removesuffix('_ns')]}, or convert it: {name}(X)"
    if moments >= {"timestamp", "timestamp_ntz"}:
        return "say that the time without a zone is one in UTC: timestamp(X)"
    if "date" in names and len(moments) == 2:
        return "take the day of the time, or the midnight of the day: date(X), timestamp(X)"
    if "date" in names and "int" in names:
        return 'a date is written 2024-01-31 or date("2024-01-31")'
    return "compare values of one type; int, float and decimal may be mixed"


def _worded(typing: Typing, rule: DraftRule, term: Term, type: Type | None) -> str:
    origin = typing.classes.origin(VariableOf(rule.label, term.name)) if isinstance(term, Variable) else None
    return f"{type} ({origin})" if origin is not None else str(type)


# ------------------------------------------------------------------ writing constants as their column needs


def fit_item(typing: Typing, rule: DraftRule, item: Item) -> Item:
    """The item with its constants written as their columns need."""
    if isinstance(item, (Premise, Absent)):
        args = tuple(fit_term(typing, item.relation, i, term) for i, term in enumerate(item.args))
        return replace(item, args=args)  # type: ignore[arg-type]
    if isinstance(item, Compute) and isinstance(item.value, Constant):
        return replace(item, value=_fitted(item.value, typing.variable(rule, item.variable.name)))
    if isinstance(item, Compute):
        return replace(item, value=_fitted_call(typing, rule, item.value))
    left, right = _fitted_call(typing, rule, item.left), _fitted_call(typing, rule, item.right)
    left_type, right_type = typing.term(rule, left), typing.term(rule, right)
    return replace(item, left=beside(left, right_type), right=beside(right, left_type))


def _fitted_call(typing: Typing, rule: DraftRule, term: Term) -> Term:
    """A call whose numbers are written as decimals where they stand beside such."""
    if not isinstance(term, Call):
        return term
    args = tuple(_fitted_call(typing, rule, arg) for arg in term.args)
    return beside_decimals(replace(term, args=args), [typing.term(rule, arg) for arg in args])


def fit_term(typing: Typing, relation: str, position: int, term: Term) -> Term:
    """An argument with its constant written as its column needs."""
    return _fitted(term, typing.column(relation, position)) if isinstance(term, Constant) else term


def _fitted(constant: Constant, type: Type | None) -> Constant:
    return replace(constant, value=fit(constant.value, type, constant.place))
