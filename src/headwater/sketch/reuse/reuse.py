"""`reusable`: whether the sketch of one query holds the provenance of another one.

Both queries are of one template, and safe for the sketch's attributes. It is enough that the provenance of the
second is part of that of the first: the sketch then holds it, and the second query is safe over any sketch that
does.

That is shown as safety is (`safety/analysis`), with R the results of the first query and R' those of the second:
its conditions imply those of the first, so rows of R' have images in R from the same or more rows of tables. A
condition that is strictly narrower is closed by the columns that it reads: one on keys of groups leaves groups
whole or out, and whatever is asked of their aggregates holds of the first query's too. One on other columns
leaves groups with fewer rows, which is harmless only for conditions that more rows keep true. A limit must have
the same input, and no more rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

from headwater.errors import Place
from headwater.language.sql.algebra import Operator, Project, Scan, Select, TopK, walk
from headwater.language.sql.scalars import Scalar, Value, conjuncts
from headwater.sketch.reuse.implication import implies
from headwater.sketch.reuse.templates import template_of
from headwater.sketch.safety.analysis import Analysis, Closed, Known
from headwater.sketch.safety.facts import DataFact, KnownFacts, nothing_known
from headwater.sketch.safety.outcome import NotSafe, RefusalCode, SafetyProof
from headwater.sketch.safety.relations import Psi

ReuseCode = OneOf[
    "other-template", "other-slots", "not-implied", "more-rows", "other-input", "inner-limit", "not-contained"
]


@dataclass(frozen=True)
class Reusable:
    """The sketch of the first query answers the second, as long as these facts hold."""

    facts: frozenset[DataFact]


@dataclass(frozen=True)
class NotReusable:
    """Why the sketch of the first query may miss rows of the second. `cause` is what the analysis says, if it
    does."""

    code: ReuseCode
    operator: str = ""
    detail: str = ""
    cause: RefusalCode | None = None
    place: Place | None = field(default=None, compare=False)


class _Refused(Exception):
    def __init__(self, refusal: NotReusable):
        super().__init__(refusal.code)
        self.refusal = refusal


def reusable(
    first: SafetyProof, second: SafetyProof, known: KnownFacts = nothing_known
) -> Reusable | NotReusable:
    """Whether a sketch of the first query, at one version and by some ranges, answers the second one there."""
    if first.slots != second.slots or first.accesses != second.accesses:
        return NotReusable("other-slots")
    if template_of(first.plan) != template_of(second.plan):
        return NotReusable("other-template")
    try:
        premises = _Narrowed(first.plan, second.plan)
        analysis = Analysis(second.plan, premises, known)
        analysis.visit(second.plan, whole=True)
    except _Refused as stop:
        return stop.refusal
    except NotSafe as stop:
        refusal = stop.refusal
        return NotReusable("not-contained", refusal.operator, refusal.detail, refusal.code, refusal.place)
    return Reusable(frozenset(analysis.bounds.relied) | second.facts)


class _Narrowed:
    """Conditions of the second plan are stricter than those of the first; scans read all rows."""

    def __init__(self, first: Operator, second: Operator):
        self._stricter: dict[int, tuple[Scalar, ...]] = {}
        self._last = _last_limit(second)
        self._limits: dict[int, TopK] = {}
        for one, other in zip(walk(first), walk(second), strict=True):
            if isinstance(one, Select) and isinstance(other, Select):
                self._stricter[id(other)] = _stricter(one, other)
            if isinstance(one, TopK) and isinstance(other, TopK):
                self._limits[id(other)] = one

    def scan(self, plan: Scan) -> Closed:
        return ()

    def narrowed(self, plan: Operator) -> tuple[Scalar, ...]:
        return self._stricter.get(id(plan), ())

    def top(self, analysis: Analysis, plan: TopK, below: Known, *, whole: bool) -> Known:
        """Identical input and order, and no more rows than the first query had."""
        if plan.limit is None and plan.offset is None:
            return below
        if below.touched:
            raise _Refused(NotReusable("other-input", "TopK", place=plan.place))
        first = self._limits[id(plan)]
        if first.limit == plan.limit and first.offset == plan.offset:
            return below
        if plan is not self._last or first.offset != plan.offset:
            raise _Refused(NotReusable("inner-limit", "TopK", place=plan.place))
        if not _at_most(plan.limit, first.limit):
            raise _Refused(NotReusable("more-rows", "TopK", place=plan.place))
        relations = {attribute.id: Psi.EQUAL for attribute in plan.attributes}
        return Known(relations, None, below.enforced, touched=True)


def _stricter(first: Select, second: Select) -> tuple[Scalar, ...]:
    """The conditions of the second selection that differ; each must imply that of the first."""
    pairs = zip(conjuncts(second.condition), conjuncts(first.condition), strict=True)
    found = []
    for condition, other in pairs:
        if condition == other:
            continue
        if not implies(condition, other):
            raise _Refused(NotReusable("not-implied", "Select", place=second.place))
        found.append(condition)
    return tuple(found)


def _last_limit(plan: Operator) -> Operator | None:
    while isinstance(plan, Project):
        plan = plan.input
    return plan if isinstance(plan, TopK) else None


def _at_most(limit: object, other: object) -> bool:
    if not isinstance(limit, Value) or not isinstance(other, Value):
        return False
    return isinstance(limit.value, int) and isinstance(other.value, int) and limit.value <= other.value
