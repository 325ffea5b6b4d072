"""What the text of the paper says in numbers, beside what was found here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.provenance.points import FigureReport, Point


@dataclass(frozen=True)
class Beside:
    """A statement of the paper about one of its figures, and ours."""

    figure: int
    paper: str
    here: str


def beside(figures: Sequence[FigureReport]) -> list[Beside]:
    """Those that the measured figures tell about."""
    found = {figure.number: figure for figure in figures}
    return [*_eager(found.get(7)), *_deletions(found.get(8)), *_larger(found.get(11)), *_best(found.get(14))]


def _eager(figure: FigureReport | None) -> Iterator[Beside]:
    for scheme, said in (
        ("relative eager", "relative eager: not converged after 5 minutes from 0.75 of the links on"),
        (
            "absorption eager, by sub-network",
            "absorption eager: costly, as every new derivation of a row is sent",
        ),
    ):
        if figure is not None and figure.of(scheme):
            yield Beside(7, said, _ended(figure.of(scheme)[-1]))


def _deletions(figure: FigureReport | None) -> Iterator[Beside]:
    dred, lazy = (_last(figure, scheme) for scheme in ("dred", "absorption lazy"))
    if dred is not None and lazy is not None:
        bytes_of = dred.total(lambda m: m.bytes) / lazy.total(lambda m: m.bytes)
        time_of = dred.total(lambda m: m.converged) / lazy.total(lambda m: m.converged)
        yield Beside(
            8,
            "dred: an order of magnitude more communication and time than absorption",
            f"{bytes_of:,.0f} times the bytes of absorption lazy, {time_of:,.1f} times its simulated time",
        )


def _larger(figure: FigureReport | None) -> Iterator[Beside]:
    for scheme, said in (
        ("eager dense", "eager, 800 links: not complete after 5 minutes"),
        ("lazy dense", "lazy, 800 links: less than 5 seconds"),
    ):
        if figure is not None and figure.of(scheme):
            yield Beside(11, said, _ended(figure.of(scheme)[-1]))


def _best(figure: FigureReport | None) -> Iterator[Beside]:
    for shape in ("dense", "sparse"):
        names = (f"multi, {shape}", f"single: cost, {shape}", f"single: hops, {shape}")
        multi, cost, hops = (_last(figure, name) for name in names)
        if multi is not None and cost is not None and hops is not None:
            one, two, three = (point.total(lambda m: m.bytes) for point in (multi, cost, hops))
            yield Beside(
                14,
                f"selecting by both at once costs half of selecting by each ({shape})",
                f"{one / (two + three):.0%} of the bytes of both",
            )


def _last(figure: FigureReport | None, scheme: str) -> Point | None:
    points = figure.of(scheme) if figure is not None else []
    return points[-1] if points and points[-1].given_up is None else None


def _ended(point: Point) -> str:
    if point.given_up is not None:
        return f"not converged at {point.x:g} after {point.given_up:,.0f} CPU s"
    simulated, spent = point.total(lambda m: m.converged), point.total(lambda m: m.seconds)
    return f"converged at {point.x:g}: {simulated:,.1f} simulated s, {spent:,.1f} CPU s"
