"""`prove`: whether a sketch on some attributes gives the right answer to a query, operator by operator.

Let D' be a union of fragments that holds the provenance of a plan over D. For each operator, R is its result over D,
R' its result over D', and S the rows of R that the answer comes from. Two invariants hold from the scans up:

- (I1) S is in R', with the same values.
- (I2) Rows of R' can be mapped to rows of R, each to another one and those of S to themselves, so that Ψ
  (`relations`) holds between each row and its image.

At the root S is R, so R' holds R and has no more rows: the answers are equal, for every such D', hence for sketches
that have more fragments than they need, too.

Beside Ψ, an operator may be *closed* by attributes A: a row of R that agrees on A with a row of R' is in R'. A scan
that is sketched by x is closed by x; groups whose keys hold all of A are whole or absent, so their aggregates are
exact.

What is not sketched, although its table is: the right sides of EXCEPT, INTERSECT and anti joins, and the side of an
outer join that NULLs are put in place of. Sums of floats are taken as exact: they are, up to the rounding that the
query itself leaves open. The rules go beyond those of Niu et al. (PVLDB 15(3)), whom the paper cites for them.
"""

from __future__ import annotations

from collections.abc import Collection

from headwater.language.sql.algebra import Operator, Scan, TopK, scans, walk
from headwater.language.sql.scalars import Scalar, Value
from headwater.sketch.safety.analysis import Analysis, Closed, Known, names_of, whole_sides
from headwater.sketch.safety.facts import KnownFacts, nothing_known
from headwater.sketch.safety.outcome import NotSafe, SafetyProof, SafetyRefusal
from headwater.sketch.safety.relations import Psi, psi_of
from headwater.sketch.safety.total_order import identity_of, with_total_orders
from headwater.sketch.sketch import Slot


def prove(
    plan: Operator, slots: Collection[Slot], known: KnownFacts = nothing_known
) -> SafetyProof | SafetyRefusal:
    """The proof that sketches on these slots are safe for a plan, or why there is none.

    Facts are asked for only if there is no proof without any; a proof rests on none that it can do without.
    """
    plan = with_total_orders(plan)
    found = _attempt(plan, frozenset(slots), nothing_known)
    if isinstance(found, SafetyProof) or not found.wanted:
        return found
    found = _attempt(plan, frozenset(slots), known)
    return found if isinstance(found, SafetyRefusal) else _with_least_facts(found)


def _attempt(plan: Operator, slots: frozenset[Slot], known: KnownFacts) -> SafetyProof | SafetyRefusal:
    premises = _Sketched(plan, slots)
    analysis = Analysis(plan, premises, known)
    try:
        premises.check(analysis)
        analysis.visit(plan, whole=True)
    except NotSafe as stop:
        return stop.refusal
    facts = frozenset(analysis.bounds.relied)
    return SafetyProof(plan, premises.slots, premises.accesses, facts, tuple(analysis.steps))


def _with_least_facts(proof: SafetyProof) -> SafetyProof:
    """A proof that rests on some of the same facts, and on none that can be left out."""
    for fact in sorted(proof.facts):
        others = proof.facts - {fact}
        found = _attempt(proof.plan, proof.slots, others.__contains__)
        if isinstance(found, SafetyProof):
            proof = found
    return proof


def sketchable(plan: Operator) -> frozenset[int]:
    """The accesses of a plan that may be sketched at all."""
    without = {
        scan.access for operator in walk(plan) for side in whole_sides(operator) for scan in scans(side)
    }
    return frozenset(scan.access for scan in scans(plan) if scan.access not in without)


class _Sketched:
    """Scans of some tables read the fragments of a sketch only."""

    def __init__(self, plan: Operator, slots: frozenset[Slot]):
        self.plan = plan
        self.slots = slots
        tables = {slot.table for slot in slots}
        able = sketchable(plan)
        self.accesses = frozenset(
            scan.access for scan in scans(plan) if scan.table in tables and scan.access in able
        )

    def check(self, analysis: Analysis) -> None:
        """Each slot is of a column of a table that some sketched access reads."""
        for slot in sorted(self.slots):
            found = [scan for scan in scans(self.plan) if scan.table == slot.table]
            if not any(scan.access in self.accesses for scan in found):
                analysis.refuse("no-access", found[0] if found else self.plan, str(slot))
            if not any(each.name.lower() == slot.attribute.lower() for each in found[0].attributes):
                analysis.refuse("unknown-attribute", found[0], str(slot))

    def scan(self, plan: Scan) -> Closed:
        if plan.access not in self.accesses:
            return ()
        wanted = {slot.attribute.lower() for slot in self.slots if slot.table == plan.table}
        return tuple(frozenset({each.id}) for each in plan.attributes if each.name.lower() in wanted)

    def narrowed(self, plan: Operator) -> tuple[Scalar, ...]:
        return ()

    def top(self, analysis: Analysis, plan: TopK, below: Known, *, whole: bool) -> Known:
        """Every row that the limit keeps must be needed by the answer, and no row may come before its image."""
        if plan.limit is None and plan.offset is None or not below.touched:
            return below
        if plan.offset is not None and plan.offset != Value(0, plan.offset.type):
            analysis.refuse("top-k-offset", plan)
        if not whole:
            analysis.refuse("top-k-filtered", plan)
        for key in plan.order:
            psi = psi_of(key.expression, below.relations, analysis.positive(below))
            if psi == Psi.EQUAL:
                continue
            if psi != (Psi.AT_MOST if key.descending else Psi.AT_LEAST):
                analysis.refuse("top-k-order", plan, names_of(key.expression, below))
            never_null = analysis.bounds.is_never_null
            if key.nulls_first and not never_null(key.expression, below.enforced):
                analysis.refuse("top-k-nulls", plan, names_of(key.expression, below))
        if not below.exact and not _is_total(plan):
            analysis.refuse("top-k-ties", plan)
        relations = {attribute.id: Psi.EQUAL for attribute in plan.attributes}
        return Known(relations, (), below.enforced, touched=False)


def _is_total(plan: TopK) -> bool:
    identity = identity_of(plan.input)
    ordered = {key.expression for key in plan.order}
    return identity is not None and all(each in ordered for each in identity)
