"""A proof or a refusal in words."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.sketch.safety.outcome import RefusalCode, SafetyProof, SafetyRefusal, SafetyStep
from headwater.sketch.safety.relations import Psi

OPERATORS = {
    "Scan": "table",
    "Inline": "rows of the text",
    "Select": "condition",
    "Project": "columns",
    "ThetaJoin": "join",
    "UnionAll": "UNION ALL",
    "Except": "EXCEPT",
    "Intersect": "INTERSECT",
    "Distinct": "DISTINCT",
    "GroupBy": "groups",
    "Window": "window",
    "TopK": "order and limit",
}
REASONS: dict[RefusalCode, str] = {
    "condition-not-kept": "a group with missing rows could fulfil the condition, though the whole one does not",
    "keys-differ": "rows would be grouped by values that missing rows change",
    "rows-differ": "rows are compared by values that missing rows change",
    "top-k-filtered": "what comes above the limit drops rows, so rows that the limit kept may be missing",
    "top-k-order": "a group with missing rows could come before others, though the whole one does not",
    "top-k-nulls": "a group with missing rows could be NULL, which comes first",
    "top-k-ties": "which of several equal rows the limit keeps is left open",
    "top-k-offset": "rows that OFFSET passes over are not in the provenance, and would be missing",
    "duplicates-lost": "it counts duplicates, some of which may be missing",
    "whole-side": "rows are missing where all must be there",
    "no-access": "no access of the table may be sketched: it is not read, or must be whole where it is",
    "unknown-attribute": "the table has no such column",
    "unclustered": "a sketch would be safe, and save nothing that is known of: most fragments may be in most blocks",
}
WORDS = {Psi.EQUAL: "exact", Psi.AT_MOST: "at most", Psi.AT_LEAST: "at least", Psi.ANYTHING: "anything"}


def explain_safety(outcome: SafetyProof | SafetyRefusal) -> str:
    """The proof, operator by operator from the tables up, or the reason why there is none."""
    if isinstance(outcome, SafetyRefusal):
        return _refusal(outcome)
    slots = ", ".join(map(str, sorted(outcome.slots)))
    lines = [f"safe: the answer over every sketch on {slots} is the answer"]
    lines += [f"  {line}" for line in map(_step, outcome.steps)]
    if outcome.facts:
        lines.append(f"as long as {_listed(map(str, sorted(outcome.facts)))}")
    return "\n".join(lines)


def _step(step: SafetyStep) -> str:
    at = "" if step.place is None else f" (line {step.place.line})"
    loose = [f"{name} {WORDS[psi]}" for name, psi in step.relations.items() if psi != Psi.EQUAL]
    known = _listed(loose) if loose else "all columns exact"
    if step.closed:
        known += f"; whole by {_listed(step.closed)}"
    elif step.closed is not None:
        known += "; whole"
    return f"{OPERATORS[step.operator]}{at}: {known}"


def _refusal(refusal: SafetyRefusal) -> str:
    at = "" if refusal.place is None else f", line {refusal.place.line}"
    about = f" ({refusal.detail})" if refusal.detail else ""
    verdict = "of no use" if refusal.code == "unclustered" else "not safe"
    where = f"at {OPERATORS[refusal.operator]}{at}{about}"
    lines = [f"{verdict} [{refusal.code}] {where}: {REASONS[refusal.code]}"]
    if refusal.wanted:
        lines.append(f"facts about data that could help: {_listed(map(str, sorted(refusal.wanted)))}")
    return "\n".join(lines)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
