"""Let everybody follow each change; compare their rows; keep the times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from headwater.demo.contenders import Contender, HeadwaterViews
from headwater.demo.scenario import VIEWS, LinkFailure, Row
from headwater.version.changes import Changes

REPEATS = 7


@dataclass
class Timings:
    """One change: what it did (the first time), the best times by contender in seconds, rows compared."""

    failure: LinkFailure
    fails: bool
    changes: Changes
    seconds: dict[str, float]
    compared: int = 0

    @property
    def title(self) -> str:
        """What happened, for a table."""
        return f"{self.failure.what} fails" if self.fails else f"  {self.verb}"

    @property
    def verb(self) -> str:
        """What the links do."""
        return "fails" if self.fails else "is back"


class DisagreementError(AssertionError):
    """Two contenders have different rows: a bug."""


def follow(failure: LinkFailure, headwater: HeadwaterViews, others: Sequence[Contender]) -> list[Timings]:
    """Let links fail and come back, several times; compare all rows the first time."""
    contenders: list[Contender] = [headwater, *others]
    times: dict[tuple[bool, str], list[float]] = {}
    outcomes: list[Timings] = []
    for repeat in range(REPEATS):
        for fails in (True, False):
            delete: list[Row] = failure.rows if fails else []
            insert: list[Row] = [] if fails else failure.rows
            for contender in contenders:
                started = perf_counter()
                result = contender.change(delete, insert)
                times.setdefault((fails, contender.name), []).append(perf_counter() - started)
                if repeat == 0 and isinstance(result, Changes) and contender is headwater:
                    outcomes.append(Timings(failure, fails, result, {}))
            if repeat == 0:
                outcomes[-1].compared = compare(headwater, others)
    for outcome in outcomes:
        outcome.seconds = {c.name: min(times[outcome.fails, c.name]) for c in contenders}
    return outcomes


def compare(headwater: HeadwaterViews, others: Sequence[Contender]) -> int:
    """The number of rows in all views; raises `DisagreementError` unless all contenders have the same."""
    total = 0
    for view in VIEWS:
        rows = headwater.rows(view)
        total += len(rows)
        for other in others:
            if other.rows(view) != rows:
                raise DisagreementError(f"{view}: {headwater.name} and {other.name} differ")
    return total
