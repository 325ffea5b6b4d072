"""What is known of the result of a plan over less data, operator by operator from the scans up.

R is the result of an operator over all data and R' that over less, which is less because scans read fewer rows
(safety: `rules`) or because conditions are narrower (another query: `reuse`). Rows of R' are mapped to rows of R,
each to another one, so that Ψ (`relations`) holds between them. Beside Ψ, a result may be *closed* by attributes A:
a row of R that agrees on A with a row of R' is in R'. Groups whose keys hold all of A are whole or absent, so their
aggregates are exact.

What makes data less is said by `Premises`; rules of operators are the same for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, Protocol

from headwater.language.sql.algebra import (
    AggregateCall,
    Distinct,
    Except,
    GroupBy,
    Inline,
    Intersect,
    Operator,
    Project,
    Scan,
    Select,
    ThetaJoin,
    TopK,
    UnionAll,
    Window,
    children,
)
from headwater.language.sql.scalars import Attribute, Compare, Scalar, Value, attributes_in, conjuncts
from headwater.sketch.safety.bounds import Bounds, meanings, padded
from headwater.sketch.safety.facts import KnownFacts
from headwater.sketch.safety.outcome import NotSafe, RefusalCode, SafetyRefusal, SafetyStep
from headwater.sketch.safety.relations import IsSigned, Psi, is_kept, psi_of

Closed = tuple[frozenset[int], ...] | None
"""For each attribute by which an operator is closed, the attributes that are equal to it; `None`: not closed."""


@dataclass(frozen=True)
class Known:
    """What is known of an operator's result: Ψ by attribute, what it is closed by, conditions that all rows fulfil.

    `touched`: whether anything below is sketched. If not, R' is R.
    """

    relations: Mapping[int, Psi]
    closed: Closed
    enforced: tuple[Scalar, ...]
    touched: bool

    @property
    def exact(self) -> bool:
        """Whether all columns are equal."""
        return all(psi == Psi.EQUAL for psi in self.relations.values())


class Premises(Protocol):
    """Where R' comes to be less than R."""

    def scan(self, plan: Scan) -> Closed:
        """By what a scan is closed; empty if it reads all rows."""
        ...

    def narrowed(self, plan: Operator) -> tuple[Scalar, ...]:
        """The conditions of an operator over R' that are stricter than those over R, which they imply."""
        ...

    def top(self, analysis: Analysis, plan: TopK, below: Known, *, whole: bool) -> Known:
        """What is known of a limit over an input of which something may be missing."""
        ...


def whole_sides(operator: Operator) -> tuple[Operator, ...]:
    """The inputs of an operator that must be whole."""
    match operator:
        case Except() | Intersect():
            return (operator.right,)
        case ThetaJoin(kind="left" | "anti"):
            return (operator.right,)
        case ThetaJoin(kind="right"):
            return (operator.left,)
        case ThetaJoin(kind="full"):
            return (operator.left, operator.right)
        case _:
            return ()


class Analysis:
    """One walk over a plan. It ends with `NotSafe` where nothing can be known."""

    def __init__(self, plan: Operator, premises: Premises, known: KnownFacts):
        self.premises = premises
        self.bounds = Bounds(meanings(plan), padded(plan), known)
        self.steps: list[SafetyStep] = []

    def refuse(self, code: RefusalCode, operator: Operator, detail: str = "") -> NoReturn:
        """Give up at an operator."""
        wanted = frozenset(self.bounds.wanted)
        raise NotSafe(SafetyRefusal(code, type(operator).__name__, detail, operator.place, wanted))

    # -------------------------------------------------------------- operators

    def visit(self, plan: Operator, *, whole: bool) -> Known:
        """What is known of an operator. `whole`: all of its rows are in the provenance of the answer."""
        inputs = children(plan)
        passes = whole and isinstance(plan, Project | UnionAll | Distinct | GroupBy | Window | TopK)
        if isinstance(plan, TopK) and plan.limit is not None:
            passes = False
        below = tuple(self.visit(each, whole=passes) for each in inputs)
        for side, input_known in zip(inputs, below, strict=True):
            if input_known.touched and any(side is each for each in whole_sides(plan)):
                self.refuse("whole-side", plan)
        always = isinstance(plan, Scan | TopK) or bool(self.premises.narrowed(plan))
        if not any(each.touched for each in below) and not always:
            known = self._untouched(plan, below)
        else:
            known = self._ruled(plan, below, whole=whole)
        self._note(plan, known)
        return known

    def _untouched(self, plan: Operator, below: tuple[Known, ...]) -> Known:
        enforced = tuple(condition for each in below for condition in each.enforced)
        relations = {attribute.id: Psi.EQUAL for attribute in plan.attributes}
        return Known(relations, (), enforced + _enforced(plan), touched=False)

    def _ruled(self, plan: Operator, below: tuple[Known, ...], *, whole: bool) -> Known:
        match plan:
            case Scan():
                return self._scan(plan)
            case Select():
                return self._select(plan, below[0], plan.condition)
            case Project():
                return self._project(plan, below[0])
            case ThetaJoin(kind="inner"):
                return self._inner_join(plan, *below)
            case ThetaJoin(kind="semi"):
                return self._semi_join(plan, *below)
            case ThetaJoin():
                return self._outer_or_anti_join(plan, *below)
            case UnionAll():
                return self._union(plan, below)
            case Except() | Intersect():
                return self._difference(plan, below[0])
            case Distinct():
                self._all_equal(plan, below[0])
                return below[0]
            case GroupBy():
                return self._group(plan, below[0])
            case Window():
                return self._window(plan, below[0])
            case TopK():
                return self.premises.top(self, plan, below[0], whole=whole)
            case Inline():
                raise AssertionError("rows of the text are never sketched")

    def _scan(self, plan: Scan) -> Known:
        relations = {attribute.id: Psi.EQUAL for attribute in plan.attributes}
        closed = self.premises.scan(plan)
        return Known(relations, closed, (), touched=closed != ())

    def _select(self, plan: Operator, below: Known, condition: Scalar | None) -> Known:
        for each in conjuncts(condition):
            if not is_kept(each, below.relations, self.positive(below)):
                self.refuse("condition-not-kept", plan, names_of(each, below))
        narrowed = self.premises.narrowed(plan)
        if narrowed:
            read = {each.id for scalar in narrowed for each in attributes_in(scalar)}
            closed = (
                None if below.closed is None else (*below.closed, *(frozenset({id}) for id in sorted(read)))
            )
            below = replace(below, closed=closed, touched=True)
        return _with_conditions(below, conjuncts(condition))

    def _project(self, plan: Project, below: Known) -> Known:
        positive = self.positive(below)
        relations = {
            each.attribute.id: psi_of(each.expression, below.relations, positive) for each in plan.columns
        }
        shown: dict[int, set[int]] = {}
        for each in plan.columns:
            if isinstance(each.expression, Attribute):
                shown.setdefault(each.expression.id, set()).add(each.attribute.id)
        return replace(below, relations=relations, closed=_renamed(below.closed, shown))

    def _inner_join(self, plan: ThetaJoin, left: Known, right: Known) -> Known:
        return self._select(plan, _both(left, right), plan.condition)

    def _semi_join(self, plan: ThetaJoin, left: Known, right: Known) -> Known:
        both = self._select(plan, _both(left, right), plan.condition)
        here = {attribute.id for attribute in plan.attributes}
        closed = _renamed(both.closed, {id: {id} for id in here})
        relations = {id: psi for id, psi in both.relations.items() if id in here}
        return Known(relations, closed, both.enforced, both.touched)

    def _outer_or_anti_join(self, plan: ThetaJoin, left: Known, right: Known) -> Known:
        """The other side is whole: a row keeps its partners, if what the condition reads of it is equal."""
        kept = right if plan.kind == "right" else left
        read = attributes_in(plan.condition) if plan.condition is not None else ()
        if any(kept.relations.get(each.id, Psi.EQUAL) != Psi.EQUAL for each in read):
            self.refuse("rows-differ", plan)
        if plan.kind == "anti":
            return left
        return Known({**left.relations, **right.relations}, kept.closed, kept.enforced, touched=True)

    def _union(self, plan: UnionAll, below: tuple[Known, ...]) -> Known:
        """What all inputs imply. Not closed: what one input has whole, another may have in part."""
        relations: dict[int, Psi] = {}
        for at, attribute in enumerate(plan.attributes):
            psi = Psi.EQUAL
            for each, known in zip(plan.inputs, below, strict=True):
                psi = psi | known.relations[each.attributes[at].id]
            relations[attribute.id] = psi
        enforced = tuple(condition for known in below for condition in known.enforced)
        return Known(relations, None, enforced, touched=True)

    def _difference(self, plan: Except | Intersect, left: Known) -> Known:
        if plan.all:
            self.refuse("duplicates-lost", plan)
        self._all_equal(plan, left)
        pairs = zip(plan.left.attributes, plan.attributes, strict=True)
        names = {old.id: {new.id} for old, new in pairs}
        relations = {attribute.id: Psi.EQUAL for attribute in plan.attributes}
        return replace(left, relations=relations, closed=_renamed(left.closed, names))

    def _all_equal(self, plan: Operator, below: Known) -> None:
        if not below.exact:
            differing = [
                each for each in children(plan)[0].attributes if below.relations[each.id] != Psi.EQUAL
            ]
            self.refuse("rows-differ", plan, ", ".join(each.name for each in differing))

    # -------------------------------------------------------------- groups

    def _group(self, plan: GroupBy, below: Known) -> Known:
        self._equal_keys(plan, tuple(key.expression for key in plan.keys), below)
        shown: dict[int, set[int]] = {}
        for key in plan.keys:
            if isinstance(key.expression, Attribute):
                shown.setdefault(key.expression.id, set()).add(key.attribute.id)
        closed = _renamed(below.closed, shown)
        relations = {key.attribute.id: Psi.EQUAL for key in plan.keys}
        for each in plan.aggregates:
            exact = closed is not None
            relations[each.attribute.id] = Psi.EQUAL if exact else self._aggregate(each.call, below)
        return Known(relations, closed, below.enforced, touched=True)

    def _window(self, plan: Window, below: Known) -> Known:
        """As groups by PARTITION BY; what an order adds is known only where partitions are whole. Where they are not,
        rows have other values than over all data, so that none of these is there."""
        relations = dict(below.relations)
        for each in plan.calls:
            call = each.call
            self._equal_keys(plan, call.partition, below)
            held = {part.id for part in call.partition if isinstance(part, Attribute)}
            whole = below.closed is not None and all(each & held for each in below.closed)
            exact = whole and all(
                psi_of(scalar, below.relations, self.positive(below)) == Psi.EQUAL
                for scalar in (*call.arguments, *(key.expression for key in call.order))
            )
            relations[each.attribute.id] = Psi.EQUAL if exact else Psi.ANYTHING
        exact_calls = all(relations[each.attribute.id] == Psi.EQUAL for each in plan.calls)
        return replace(below, relations=relations, closed=below.closed if exact_calls else None)

    def _equal_keys(self, plan: Operator, keys: tuple[Scalar, ...], below: Known) -> None:
        for key in keys:
            if psi_of(key, below.relations, self.positive(below)) != Psi.EQUAL:
                self.refuse("keys-differ", plan, names_of(key, below))

    def _aggregate(self, call: AggregateCall, below: Known) -> Psi:
        """Ψ of an aggregate of a group of which some rows may be missing."""
        if call.argument is None:
            return Psi.AT_MOST
        argument = psi_of(call.argument, below.relations, self.positive(below))
        if call.distinct and argument != Psi.EQUAL and call.function in ("count", "sum"):
            return Psi.ANYTHING
        grows, falls = argument in (Psi.EQUAL, Psi.AT_MOST), argument in (Psi.EQUAL, Psi.AT_LEAST)
        match call.function:
            case "count":
                return Psi.ANYTHING if argument == Psi.ANYTHING else Psi.AT_MOST
            case "max":
                return Psi.AT_MOST if grows else Psi.ANYTHING
            case "min":
                return Psi.AT_LEAST if falls else Psi.ANYTHING
            case "sum" if grows and self.bounds.is_bounded(call.argument, ">=", 0, below.enforced):
                return Psi.AT_MOST
            case "sum" if falls and self.bounds.is_bounded(call.argument, "<=", 0, below.enforced):
                return Psi.AT_LEAST
            case _:
                return Psi.ANYTHING

    # -------------------------------------------------------------- saying so

    def positive(self, below: Known) -> IsSigned:
        """What says whether a scalar over an input is never negative."""
        return _IsPositive(self.bounds, below.enforced)

    def _note(self, plan: Operator, known: Known) -> None:
        names = {attribute.id: attribute.name for attribute in plan.attributes}
        relations = {attribute.name: known.relations[attribute.id] for attribute in plan.attributes}
        closed = None
        if known.closed is not None:
            closed = tuple(names[min(each)] for each in known.closed)
        self.steps.append(SafetyStep(type(plan).__name__, relations, closed, plan.place))


@dataclass(frozen=True)
class _IsPositive:
    bounds: Bounds
    enforced: tuple[Scalar, ...]

    def __call__(self, scalar: Scalar) -> bool:
        return self.bounds.is_bounded(scalar, ">=", 0, self.enforced)


def _both(left: Known, right: Known) -> Known:
    closed = None if left.closed is None or right.closed is None else left.closed + right.closed
    relations = {**left.relations, **right.relations}
    return Known(relations, closed, left.enforced + right.enforced, left.touched or right.touched)


def _renamed(closed: Closed, names: Mapping[int, set[int]]) -> Closed:
    """What an operator that shows attributes under other names is closed by; each must be shown."""
    if closed is None:
        return None
    renamed = tuple(frozenset(new for old in each for new in names.get(old, ())) for each in closed)
    return renamed if all(renamed) else None


def _with_conditions(below: Known, conditions: tuple[Scalar, ...]) -> Known:
    """Attributes that a condition makes equal stand for each other; those that it makes constant agree anyway."""
    closed = below.closed
    if closed is not None:
        pairs, constants = _equalities(conditions)
        closed = tuple(_spread(each, pairs) for each in closed)
        closed = tuple(each for each in closed if not each & constants)
    return replace(below, closed=closed, enforced=below.enforced + conditions)


def _spread(attributes: frozenset[int], pairs: list[tuple[int, int]]) -> frozenset[int]:
    found = set(attributes)
    grown = True
    while grown:
        grown = False
        for one, other in pairs:
            if (one in found) != (other in found):
                found |= {one, other}
                grown = True
    return frozenset(found)


def _equalities(conditions: tuple[Scalar, ...]) -> tuple[list[tuple[int, int]], frozenset[int]]:
    """The pairs of attributes that conditions make equal, and the attributes that they make constant."""
    pairs: list[tuple[int, int]] = []
    constants: set[int] = set()
    for condition in conditions:
        if not isinstance(condition, Compare) or condition.operator not in ("=", "<=>"):
            continue
        match condition.left, condition.right:
            case Attribute() as one, Attribute() as other if one.type == other.type:
                pairs.append((one.id, other.id))
            case (Attribute() as one, Value() as value) | (Value() as value, Attribute() as one):
                if one.type == value.type:
                    constants.add(one.id)
    return pairs, frozenset(constants)


def _enforced(plan: Operator) -> tuple[Scalar, ...]:
    if isinstance(plan, Select) or (isinstance(plan, ThetaJoin) and plan.kind == "inner"):
        return conjuncts(plan.condition)
    return ()


def names_of(scalar: Scalar, below: Known) -> str:
    """The columns of a scalar that are not equal."""
    names = [each.name for each in attributes_in(scalar) if below.relations[each.id] != Psi.EQUAL]
    return ", ".join(dict.fromkeys(names))
