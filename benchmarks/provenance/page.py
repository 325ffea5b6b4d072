"""A report as a page, and on a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.provenance.points import FigureReport, Point, ProvenanceReport

HEADS = ("scheme", "rows", "pv, B/row", "messages", "MB", "state, MB/node", "CPU s")
TARGET = 100


def cells(point: Point) -> list[str]:
    """A point's metrics as text."""
    if point.given_up:
        return [point.scheme, "–", "–", "–", "–", "–", f"> {point.seconds:.0f}"]
    return [
        point.scheme,
        f"{point.rows:,}",
        f"{point.provenance:.1f}",
        f"{point.messages:,}",
        f"{point.bytes / 1e6:.3f}",
        f"{point.state / point.nodes / 1e6:.3f}",
        f"{point.seconds:.2f}",
    ]


def verdict(report: ProvenanceReport) -> str:
    """How lazy absorption and dred compare on deletions."""
    if report.saved is None:
        return ""
    judged = (
        ""
        if report.quick
        else f" (wanted: at least {TARGET}; {'met' if report.saved >= TARGET else 'MISSED'})"
    )
    return f"On deletions lazy absorption ships {report.saved:,.0f} times fewer messages than dred{judged}."


def circumstances(report: ProvenanceReport) -> str:
    """Where and with what it was measured."""
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    quick = "; quick sizes, which say nothing" if report.quick else ""
    return (
        f"{report.started[:10]}, {machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 2**30:.0f} GiB, "
        f"load {machine.load[0]:.1f} before and {machine.load[1]:.1f} after; {versions}. {report.seconds:,.0f} s, "
        f"{report.compared} views compared with ranked support's and equal{quick}."
    )


def ends(figure: FigureReport) -> list[Point]:
    """The last point of each scheme; for a figure over sizes, all points."""
    if figure.number >= 11:
        return [point for scheme in figure.schemes for point in figure.of(scheme)]
    return [figure.of(scheme)[-1] for scheme in figure.schemes]


def markdown(report: ProvenanceReport) -> str:
    """All points, a table for each figure."""
    lines = ["# script/bench provenance", "", circumstances(report), ""]
    if verdict(report):
        lines += [verdict(report), ""]
    lines += [
        "Figures are numbered as in Liu et al. 2008 (Recursive Computation of Regions and Connectivity in Networks).",
        "One process plays all nodes: seconds are CPU seconds, the work of all",
        "nodes together. `ranked support` is Headwater's default in one process; it keeps no provenance and sends",
        "nothing.",
        "Communication and seconds count from the first change of a figure on; a dash is a scheme that was given up:",
        "each got the same CPU seconds for a step. Nodes of networks are named by addresses as text.",
        "",
    ]
    for figure in report.figures:
        lines += [f"## Figure {figure.number}: {figure.title}", ""]
        lines += [
            f"| {figure.x_label} | " + " | ".join(HEADS) + " |",
            "|---:|---|" + "---:|" * (len(HEADS) - 1),
        ]
        for scheme in figure.schemes:
            lines += [f"| {point.x:g} | " + " | ".join(cells(point)) + " |" for point in figure.of(scheme)]
        lines.append("")
    lines += [f"- {note}" for note in report.notes]
    return "\n".join(lines).rstrip() + "\n"


def table(report: ProvenanceReport) -> RenderableType:
    """The ends of all figures, and below them what they say."""
    parts: list[RenderableType] = []
    for figure in report.figures:
        title = f"Figure {figure.number}: {figure.title}"
        shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        shown.add_column(figure.x_label, justify="right")
        for i, head in enumerate(HEADS):
            shown.add_column(
                head, justify="right" if i else "left", no_wrap=True, min_width=22 if not i else 7
            )
        for point in ends(figure):
            shown.add_row(f"{point.x:g}", *cells(point))
        parts.append(shown)
    parts.append(Text(circumstances(report), style="dim"))
    parts += [Text(note, style="yellow") for note in report.notes]
    return Group(*parts, Text(verdict(report), style="bold"))
