"""What comes of a question about safety: a proof with its steps, or a refusal with its reason.

Both are data; sentences are made by `explain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from headwater.errors import Place
from headwater.language.sql.algebra import Operator
from headwater.sketch.safety.facts import DataFact
from headwater.sketch.safety.relations import Psi
from headwater.sketch.sketch import Slot

RefusalCode = OneOf[
    "condition-not-kept",
    "keys-differ",
    "rows-differ",
    "top-k-filtered",
    "top-k-order",
    "top-k-nulls",
    "top-k-ties",
    "top-k-offset",
    "duplicates-lost",
    "whole-side",
    "no-access",
    "unknown-attribute",
    "unclustered",
]


@dataclass(frozen=True)
class SafetyStep:
    """What is known after one operator: Ψ of its columns by name, and the attributes by which it is closed
    (`None`: by none; empty: nothing below it is sketched)."""

    operator: str
    relations: Mapping[str, Psi]
    closed: tuple[str, ...] | None
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SafetyProof:
    """The plan gives the same answer over every union of fragments that holds its provenance.

    `plan` is the plan that was asked about, with ties of a limit broken where the text leaves them open: capture and
    use this one. `accesses` are those that may read sketched fragments only; others read the whole table. `facts` are
    those that must go on to hold.
    """

    plan: Operator
    slots: frozenset[Slot]
    accesses: frozenset[int]
    facts: frozenset[DataFact]
    steps: tuple[SafetyStep, ...]

    @property
    def is_safe(self) -> bool:
        return True


@dataclass(frozen=True)
class SafetyRefusal:
    """Nobody can be sure: why, at which operator, and the facts that would have helped."""

    code: RefusalCode
    operator: str
    detail: str = ""
    place: Place | None = field(default=None, compare=False)
    wanted: frozenset[DataFact] = frozenset()

    @property
    def is_safe(self) -> bool:
        return False


class NotSafe(Exception):
    """Ends the search for a proof."""

    def __init__(self, refusal: SafetyRefusal):
        super().__init__(refusal.code)
        self.refusal = refusal
