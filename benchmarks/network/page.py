"""The report in words: what the paper says, what was found, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.network.points import NetworkReport


def markdown(report: NetworkReport) -> str:
    """The page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: NetworkReport) -> Iterator[str]:
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    yield "# Networks: figures 7 to 14 of Loo et al. 2006"
    yield ""
    yield (
        f"{report.nodes} simulated nodes, seed {report.seed}; {machine.cpu}, {machine.cores} cores, load"
        f" {machine.load[0]:.1f} to {machine.load[1]:.1f}; {versions};"
        f" {report.started}, {report.seconds:.0f} s{'; quick: sizes are small' if report.quick else ''}."
    )
    yield ""
    yield (
        "Time is virtual and bytes are those of the messages alone, without headers of UDP and IP: both follow from"
        " the seed. Every result was compared with Dijkstra's in the same run."
    )
    yield ""
    yield "| | paper | here | |"
    yield "|---|---|---|---|"
    for each in report.comparisons:
        yield f"| {each.what} | {each.paper} | {each.here} | {each.why} |"
    if report.growth:
        yield ""
        yield "## How cost grows"
        yield ""
        yield "Costs within 3 hops on transit-stub networks; then a tenth of the links change by up to a tenth."
        yield ""
        yield "| nodes | links | rows | messages | CPU s | messages of a burst | CPU s | both, wall s | MB held |"
        yield "|---|---|---|---|---|---|---|---|---|"
        for grown in report.growth:
            yield (
                f"| {grown.nodes:,} | {grown.links:,} | {grown.rows:,} | {grown.messages:,} | {grown.seconds:.1f} |"
                f" {grown.burst_messages:,} | {grown.burst_seconds:.1f} | {grown.wall:.1f} |"
                f" {grown.resident / 1e6:.0f} |"
            )
    for note in report.notes:
        yield ""
        yield note
