"""A report as a page, and on a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.provenance.beside import beside
from benchmarks.provenance.flaps import Flaps
from benchmarks.provenance.points import FigureReport, Mean, Point, ProvenanceReport

HEADS = (
    "scheme",
    "seeds",
    "rows",
    "pv, B/row",
    "messages",
    "KB/node",
    "state, KB/node",
    "converged, s",
    "CPU s",
)


def cells(point: Point) -> list[str]:
    """A point's metrics as text, with half the width of their confidence intervals."""
    if point.given_up is not None:
        return [point.scheme, *"–––––––", f"> {point.given_up:.0f}"]
    return [
        point.scheme,
        str(len(point.measures)),
        _shown(point.mean(lambda m: m.rows), 0),
        _shown(point.mean(lambda m: m.provenance), 1),
        _shown(point.mean(lambda m: m.messages), 0),
        _shown(point.mean(lambda m: m.bytes / point.nodes / 1e3), 1),
        _shown(point.mean(lambda m: m.state / point.nodes / 1e3), 1),
        _shown(point.mean(lambda m: m.converged), 2),
        f"{point.total(lambda m: m.seconds):.2f}",
    ]


def _shown(mean: Mean, digits: int) -> str:
    """A mean and its margin.

    >>> _shown(Mean(1234.56, 7.0), 0), _shown(Mean(2.0, 0.0), 1)
    ('1,235 ± 7', '2.0')
    """
    text = f"{mean.value:,.{digits}f}"
    return f"{text} ± {mean.margin:,.{digits}f}" if mean.margin else text


def circumstances(report: ProvenanceReport) -> str:
    """Where and with what it was measured."""
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    quick = "; quick sizes, which say nothing" if report.quick else ""
    return (
        f"{report.started[:10]}, {machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 2**30:.0f} GiB, "
        f"load {machine.load[0]:.1f} before and {machine.load[1]:.1f} after; {versions}. "
        f"{report.seconds:,.0f} CPU s, {report.seeds} seeds, {report.compared:,} views compared with those of one "
        f"process and equal{quick}."
    )


def verdicts(report: ProvenanceReport) -> list[str]:
    """What was wanted and found, a line each."""
    return [
        f"{aim.what}: {aim.found}"
        + ("" if report.quick else f" (wanted: {aim.wanted}; {'met' if aim.met else 'MISSED'})")
        for aim in report.aims
    ]


def ends(figure: FigureReport) -> list[Point]:
    """The last point of each scheme; for a figure over sizes, all points."""
    if figure.number >= 11:
        return [point for scheme in figure.schemes for point in figure.of(scheme)]
    return [figure.of(scheme)[-1] for scheme in figure.schemes]


def markdown(report: ProvenanceReport) -> str:
    """All points, a table for each figure."""
    lines = ["# script/bench provenance", "", circumstances(report), ""]
    lines += [f"- {verdict}" for verdict in verdicts(report)]
    lines += [
        "",
        "Figures are numbered as in Liu et al. 2008 (Recursive Computation of Regions and Connectivity in Networks).",
        "Rules run on simulated nodes. `converged` is time in the simulated network: messages between query",
        "processing nodes take the latencies of the network (2, 10 and 50 ms links), nodes take none; for `dred`,",
        "`ranked` and `relative` it leaves out how nodes would find out that all are at rest. `CPU s` is the work of",
        "all nodes together, in one process. Eager propagation is once a second, as in the paper. Everything is",
        "counted from the first change of a figure on; ± is half the width of a 95 % confidence interval over the",
        "seeds that a scheme was measured with. A dash is a scheme that was given up: each got the same CPU seconds",
        "for a step. Nodes of networks are named by addresses, and rows are spread by a hash of these; `by",
        "sub-network` (and eager in figures 11 and 12), each query processing node looks after a part of the",
        "network, as in figure 1 of the paper, and each second what rests on links of fewest nodes is shipped. Of",
        "diagrams, bytes held are those of their nodes, each taken for as many as one had on the wire.",
        "",
    ]
    lines += _beside(report)
    for figure in report.figures:
        lines += [f"## Figure {figure.number}: {figure.title}", "", f"The paper: {figure.paper}.", ""]
        lines += [
            f"| {figure.x_label} | " + " | ".join(HEADS) + " |",
            "|---:|---|" + "---:|" * (len(HEADS) - 1),
        ]
        for scheme in figure.schemes:
            lines += [f"| {point.x:g} | " + " | ".join(cells(point)) + " |" for point in figure.of(scheme)]
        lines.append("")
    if report.flaps is not None:
        lines += _flapping(report.flaps)
    lines += [f"- {note}" for note in report.notes]
    return "\n".join(lines).rstrip() + "\n"


def _beside(report: ProvenanceReport) -> list[str]:
    found = beside(report.figures)
    if not found:
        return []
    heads = ["## The paper's numbers beside these", "", "| figure | the paper | here |", "|---:|---|---|"]
    return [*heads, *(f"| {one.figure} | {one.paper} | {one.here} |" for one in found), ""]


def _flapping(flaps: Flaps) -> list[str]:
    return [
        "## Links that flap",
        "",
        "| flaps | variables ever needed | tombstones | bytes held |",
        "|---:|---:|---:|---:|",
        *(
            f"| {one.flaps:,} | {one.variables:,} | {one.tombstones:,} | {one.state:,} |"
            for one in flaps.samples
        ),
        "",
    ]


def table(report: ProvenanceReport) -> RenderableType:
    """The ends of all figures, and below them what they say."""
    parts: list[RenderableType] = []
    for figure in report.figures:
        title = f"Figure {figure.number}: {figure.title}"
        shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        shown.add_column(figure.x_label, justify="right")
        for i, head in enumerate(HEADS):
            shown.add_column(
                head, justify="right" if i else "left", no_wrap=True, min_width=18 if not i else 7
            )
        for point in ends(figure):
            shown.add_row(f"{point.x:g}", *cells(point))
        parts.append(shown)
    parts.append(Text(circumstances(report), style="dim"))
    parts += [Text(note, style="yellow") for note in report.notes]
    return Group(*parts, *(Text(verdict, style="bold") for verdict in verdicts(report)))
