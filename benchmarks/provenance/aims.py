"""What is wanted of absorption provenance on nodes, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.provenance.flaps import Flaps
from benchmarks.provenance.one_process import OneProcessMeasure
from benchmarks.provenance.points import Aim, FigureReport, Point

FEWER_MESSAGES, FEWER_BYTES = 100, 30
"""How many times less than dred, on deletions."""
MULTI_SHARE = 0.6
"""Of the messages of selecting by each of two aggregates alone."""


MOST_BYTES_A_ROW = 500
"""In one process, with everything."""


def aims(
    figures: Sequence[FigureReport], flaps: Flaps | None, one_process: OneProcessMeasure | None
) -> tuple[Aim, ...]:
    """Those that the measured figures tell about."""
    found = {figure.number: figure for figure in figures}
    return (
        *_eager(found.get(7)),
        *_deletions(found.get(8)),
        *_multi(found.get(14)),
        *_held(one_process),
        *_flaps(flaps),
    )


def _eager(figure: FigureReport | None) -> Iterable[Aim]:
    for scheme in ("absorption eager", "absorption eager, by sub-network"):
        points = figure.of(scheme) if figure is not None else []
        if not points:
            continue
        last = points[-1]
        there = last.given_up is None and last.x == 1
        met = there and not last.failed
        how = f"given up at {last.x:g}"
        if there:
            seeds = len(last.measures)
            how = (
                f"{seeds} of {seeds + last.failed} networks, {last.total(lambda m: m.messages):,.0f} messages"
            )
        yield Aim(f"{scheme} converges on all links", "converges", how, met)


def _deletions(figure: FigureReport | None) -> Iterable[Aim]:
    lazy, dred = _last(figure, "absorption lazy"), _last(figure, "dred")
    if lazy is None or dred is None:
        return
    fewer = dred.total(lambda m: m.messages) / lazy.total(lambda m: m.messages)
    what = "lazy absorption beside dred on deletions"
    yield Aim(
        f"{what}: messages",
        f"at least {FEWER_MESSAGES} times fewer",
        f"{fewer:,.0f} times fewer",
        fewer >= FEWER_MESSAGES,
    )
    fewer = dred.total(lambda m: m.bytes) / lazy.total(lambda m: m.bytes)
    yield Aim(
        f"{what}: bytes",
        f"at least {FEWER_BYTES} times fewer",
        f"{fewer:,.0f} times fewer",
        fewer >= FEWER_BYTES,
    )


def _multi(figure: FigureReport | None) -> Iterable[Aim]:
    for shape in ("dense", "sparse"):
        cost, hops = _last(figure, f"single: cost, {shape}"), _last(figure, f"single: hops, {shape}")
        multi = _last(figure, f"multi, {shape}")
        if cost is not None and hops is not None and multi is not None:
            both = cost.total(lambda m: m.messages) + hops.total(lambda m: m.messages)
            share = multi.total(lambda m: m.messages) / both
            yield Aim(
                f"messages of selecting by both at once, of those of selecting by each ({shape})",
                f"at most {MULTI_SHARE:.0%}",
                f"{share:.0%}",
                share <= MULTI_SHARE,
            )


def _held(one_process: OneProcessMeasure | None) -> Iterable[Aim]:
    if one_process is not None:
        yield Aim(
            "state of a row under absorption in one process",
            f"at most {MOST_BYTES_A_ROW} bytes",
            f"{one_process.bytes_a_row:,.0f} bytes (a link deleted in {one_process.deletion:.0f} CPU ms, median)",
            one_process.bytes_a_row <= MOST_BYTES_A_ROW,
        )


def _flaps(flaps: Flaps | None) -> Iterable[Aim]:
    if flaps is not None:
        first, last = flaps.samples[0], flaps.samples[-1]
        met = last.variables <= 2 * first.variables and last.state <= 1.5 * first.state
        yield Aim(
            f"{flaps.flaps:,} flaps of a link without growth",
            "as much at the end as at the beginning",
            f"variables {first.variables} and {last.variables}, bytes held {first.state:,} and {last.state:,}",
            met,
        )


def _last(figure: FigureReport | None, scheme: str) -> Point | None:
    points = figure.of(scheme) if figure is not None else []
    return points[-1] if points and points[-1].given_up is None else None
