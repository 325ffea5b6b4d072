"""Why a row is not there: for each rule, how far it gets and what fails, and the smallest changes that would help.

>>> import headwater as hw
>>> db = hw.connect()
>>> _ = db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
>>> _ = db.apply(insert={"link": [("a", "b"), ("c", "d")]})
>>> print(db.why_not("reach", ("a", "d"), repairs=2))
reach("a", "d") is not there
├─ by reach#1: reach(X, Y) :- link(X, Y).
│  └─ no link("a", "d")
└─ by reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).
   ├─ link("a", "b") holds
   └─ no reach("b", "d")
      ├─ by reach#1: reach(X, Y) :- link(X, Y).
      │  └─ no link("b", "d")
      └─ by reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).
         ├─ reach("c", "d") holds
         └─ no link("b", "c")
it would appear with any of these:
  insert link("a", "d")
  insert link("a", "c")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headwater import notebook
from headwater.calls import public_class
from headwater.kernel.states import LIVE, VISIBLE
from headwater.language.program import Constant, Variable
from headwater.plan.stored_rows import Key
from headwater.provenance.ask.asked import key_of, there
from headwater.provenance.ask.attempts import Attempts
from headwater.provenance.ask.repair import Repair, tried
from headwater.provenance.ask.repairs import Repairs
from headwater.provenance.evidence import Evidence
from headwater.provenance.show.lines import Line, plain, tree
from headwater.provenance.show.wording import Fact, Wording, json_fact
from headwater.rules.checked import Absent, Premise
from headwater.version.changes import Changes

DEPTH = 3
REPAIRS = 3
NESTED = 30
"""How many rows that are missing are looked into on the way."""


@dataclass
class Reason:
    """Something that fails (or, for context, holds), in words; for a missing row, why that is not there."""

    text: str
    holds: bool = False
    because: Absence | None = None


@dataclass
class Way:
    """A rule, and what fails in the instance of it that gets furthest."""

    rule: str
    text: str
    reasons: list[Reason] = field(default_factory=list)


@dataclass
class Absence:
    """Why one row is not there: by each rule, or for a reason of its own (`note`)."""

    text: str
    ways: list[Way] = field(default_factory=list)
    note: str = ""


@public_class
@dataclass
class WhyNot:
    """The explanation, and repairs: each was tried, and the row appeared. Smallest first."""

    fact: Fact
    absence: Absence
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]

    def lines(self) -> list[Line]:
        """A tree of what fails, then the repairs."""
        lines = tree(self.absence, _line, _below)
        if len(self.repairs) > 1:
            lines.append([("it would appear with any of these:", "")])
        elif self.repairs:
            lines.append([("it would appear with this:", "")])
        else:
            lines.append([("no small change of base rows was found that brings it about", "italic")])
        return lines + [repair.line() for repair in self.repairs]

    def _repr_html_(self) -> str:
        return notebook.lines(self.lines())

    def __str__(self) -> str:
        return plain(self.lines())

    def __rich__(self) -> Any:
        from headwater.provenance.show.lines import rich_text

        return rich_text(self.lines())

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "row": json_fact(self.fact),
            "why_not": _json(self.absence),
            "repairs": [repair.to_json() for repair in self.repairs],
            "notes": list(self.notes),
        }


def _json(absence: Absence) -> dict[str, Any]:
    return {
        "row": absence.text,
        "note": absence.note,
        "rules": [
            {
                "rule": way.rule,
                "text": way.text,
                "holds": [reason.text for reason in way.reasons if reason.holds],
                "fails": [
                    {"text": reason.text}
                    | ({"why_not": _json(reason.because)} if reason.because is not None else {})
                    for reason in way.reasons
                    if not reason.holds
                ],
            }
            for way in absence.ways
        ],
    }


def _line(node: Absence | Way | Reason) -> Line:
    if isinstance(node, Absence):
        return [(f"{node.text} is not there", "bold"), (f": {node.note}" if node.note else "", "")]
    if isinstance(node, Way):
        return [(f"by {node.rule}" + (f": {node.text}" if node.text else ""), "dim")]
    if node.holds:
        return [(f"{node.text} holds", "green")]
    because = node.because
    return [(node.text, "red"), (f": {because.note}" if because is not None and because.note else "", "")]


def _below(node: Absence | Way | Reason) -> list[Any]:
    if isinstance(node, Absence):
        return list(node.ways)
    if isinstance(node, Way):
        return list(node.reasons)
    return list(node.because.ways) if node.because is not None else []


class Explainer:
    """Builds the tree, each missing row once."""

    def __init__(self, attempts: Attempts, depth: int):
        self.attempts = attempts
        self.instances = attempts.instances
        self.wording = attempts.wording
        self.depth = depth
        self.seen: set[Key] = set()

    def absence(self, key: Key, level: int = 0) -> Absence:
        """Why the row with this key is not there."""
        self.seen.add(key)
        fact = self.wording.fact(key)
        found = Absence(self.wording.words(key, fact))
        info = self.wording.infos[key[0]]
        if info.base:
            found.note = "a row of a base relation that nobody inserted"
            return found
        found.note = self._beaten(key) or self._other_value(key)
        if found.note:
            return found
        for shape in self.instances.rules.get(key[0], ()):
            label, text = self.wording.label(shape.rule), self.wording.text(shape.rule)
            if label == "given" and not text:
                found.ways.append(Way("given", "", [Reason("nobody inserted it")]))
                continue
            way = Way(label, text)
            found.ways.append(way)
            misfit = self.attempts.misfit(shape.rule, key)
            if misfit is not None:
                way.reasons.append(Reason(misfit))
                continue
            attempts = self.attempts.of(key, shape, 1)
            if not attempts:
                way.reasons.append(Reason("no instance of it comes near"))
                continue
            best = attempts[0]
            way.reasons += [Reason(self.wording.part(item), holds=True) for item in best.holds if _row(item)]
            way.reasons += [self._reason(item, level) for item in best.fails]
        return found

    def _reason(self, item: Any, level: int) -> Reason:
        if isinstance(item, Absent):
            return Reason(f"{self.wording.part(Premise(item.relation, item.args))} is there, and must not be")
        text = self.wording.part(item)
        if not isinstance(item, Premise):
            return Reason(f"{text} does not hold")
        reason = Reason(f"no {text}")
        key = self._key(self.wording.unfolded(item))
        if key is None or not self.instances.derived(key[0]) or key in self.seen:
            return reason
        if level + 1 < self.depth and len(self.seen) < NESTED:
            reason.because = self.absence(key, level + 1)
        return reason

    def _key(self, item: Premise) -> Key | None:
        values = [arg.value for arg in item.args if isinstance(arg, Constant)]
        return self.wording.key(item.relation, values) if len(values) == len(item.args) else None

    def _beaten(self, key: Key) -> str:
        """For a row that can be derived and is not the best of its group."""
        info = self.wording.infos[key[0]]
        if not info.selections:
            return ""
        stored = self.instances.relations[key[0]]
        number = int(stored.find(np.array([key[1]], np.int64))[0]) if stored.stored else -1
        if number < 0 or not stored.state[number] & LIVE or stored.state[number] & VISIBLE:
            return ""
        selection = info.selections[0]
        best = self.instances.rows.group(key, selection.group)
        words = " and ".join(self.wording.words(row) for row in best)
        return f"it can be derived, but {words} is the {selection.best}"

    def _other_value(self, key: Key) -> str:
        """For a group that has another count, sum or average."""
        info = self.wording.infos[key[0]]
        if info.aggregate is None:
            return ""
        position = info.aggregate.position
        group = [column for column in range(info.arity) if column != position]
        for row in self.instances.rows.group(key, group):
            value = self.wording.fact(row).row[position]
            return f"the {info.aggregate.function} is {value!r}"
        return ""


def _row(item: Any) -> bool:
    return isinstance(item, Premise)


def _untold(wording: Wording, fact: Fact, most: int, suppose: Callable[..., Changes]) -> WhyNot:
    """For a relation whose types nobody has told: no row of what it reads has come yet."""
    absence = Absence(str(fact), note=f"no row has told the types of {fact.relation}'s columns yet")
    found: list[Repair] = []
    for rule in wording.rules.get(fact.relation, ()):
        values = {
            arg.name: Constant(value)
            for arg, value in zip(rule.head, fact.row, strict=True)
            if isinstance(arg, Variable)
        }
        premises = [
            replace(item, args=tuple(values.get(getattr(arg, "name", ""), arg) for arg in item.args))
            for item in rule.body
            if isinstance(item, Premise)
        ]
        reasons = [Reason(f"no {wording.part(item)}") for item in premises]
        absence.ways.append(Way(wording.label(rule), wording.text(rule), reasons))
        rows = [
            Fact(wording.given.get(item.relation, item.relation), _values(item))
            for item in premises
            if wording.infos[item.relation].base and all(isinstance(arg, Constant) for arg in item.args)
        ]
        if len(rows) == len(premises) and tried(Repair(frozenset(rows), frozenset()), fact, suppose):
            found.append(Repair(frozenset(rows), frozenset()))
    return WhyNot(fact, absence, tuple(sorted(found, key=lambda repair: repair.size)[:most]), ())


def _values(item: Premise) -> tuple[Any, ...]:
    return tuple(arg.value for arg in item.args if isinstance(arg, Constant))


def why_not(
    evidence: Evidence,
    relation: str,
    row: Any,
    *,
    depth: int,
    repairs: int,
    suppose: Callable[..., Changes],
) -> WhyNot:
    """Why the row is not there; refused if it is."""
    key = key_of(evidence, relation, row, intern=True)
    fact = Fact(relation, tuple(row.values()) if isinstance(row, dict) else tuple(row))
    instances = evidence.engine.instances()
    wording = Wording(evidence.engine, evidence.program)
    if key is None:
        return _untold(wording, fact, repairs, suppose)
    fact = wording.fact(key)
    if instances.rows.has(key):
        raise there(fact)
    attempts = Attempts(instances, wording)
    absence = Explainer(attempts, depth).absence(key)
    found = Repairs(evidence, attempts, suppose, max(depth, DEPTH)).of(fact, repairs) if repairs else []
    return WhyNot(fact, absence, tuple(found), wording.notes(instances))
