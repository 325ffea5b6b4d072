"""`script/bench`: measure on this machine what the documentation claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.options import PARTS, BenchmarkOptions
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from benchmarks.report import BenchmarkReport
    from benchmarks.stage import Onlooker


@click.group("bench")
def command() -> None:
    """Measure Headwater against what you would use instead."""


def _measured(
    part: str, run: Callable[[Onlooker], BenchmarkReport], *, drawn: bool = False
) -> BenchmarkReport:
    """Run a benchmark under a bar, and print its table; refuses early if it is to be `drawn` and cannot be."""
    from rich.console import Console

    from benchmarks.bar import Bar
    from benchmarks.pictures import require
    from benchmarks.terminal import table

    console = Console()
    if not console.is_terminal:
        console.width = 120
    try:
        if drawn:
            require()
        with Bar(Console(stderr=True)) as bar:
            report = run(bar)
    except HeadwaterError as error:
        raise click.ClickException(str(error)) from None
    console.print(table(report, console.width, f"script/bench {part}"))
    return report


@command.command("engine")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed.")
@click.option(
    "--only", multiple=True, type=click.Choice(PARTS), help="Measure this part alone; may be repeated."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write results.json, results.md and pictures.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=None,
    help="Repetitions of loads and batches. [default: 5; 2 if quick]",
)
@click.option("--pathway/--no-pathway", default=True, help="Measure Pathway too, where it is installed.")
def engine(quick: bool, only: tuple[str, ...], out: Path | None, repeat: int | None, pathway: bool) -> None:
    """Closures, batches, cheapest paths, groups and memory, against DuckDB and Pathway.

    Every answer is compared with the rival's in the same run; a wrong one ends it.
    """
    from rich.console import Console

    from benchmarks.bar import Bar
    from benchmarks.pictures import require
    from benchmarks.results import write
    from benchmarks.suite import run
    from benchmarks.terminal import table

    chosen = tuple(part for part in PARTS if part in only) or PARTS
    options = BenchmarkOptions(
        chosen, quick, repeat or (2 if quick else BenchmarkOptions.repeat), pathway=pathway
    )
    console = Console()
    if not console.is_terminal:
        console.width = 120
    try:
        if out is not None:
            require()
        with Bar(Console(stderr=True)) as bar:
            report = run(options, bar)
    except HeadwaterError as error:
        raise click.ClickException(str(error)) from None
    console.print(table(report, console.width))
    if out is not None:
        for path in write(report, out):
            click.echo(f"wrote {path}")


@command.command("provenance")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about cost.")
@click.option(
    "--only",
    multiple=True,
    type=click.IntRange(7, 14),
    metavar="FIGURE",
    help="Measure this figure alone (7 to 14); may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write provenance.json, provenance.md and pictures.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=None,
    help="Networks that are drawn for each figure. [default: 10; 2 if quick]",
)
@click.option(
    "--resume",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="RUNS",
    help="Keep each run in this folder, and make only those that are not there yet.",
)
@click.option("--found-only", is_flag=True, help="Report what the folder of --resume has; measure no figure.")
@click.option("--scheme", multiple=True, help="Measure this scheme alone, by its name; may be repeated.")
def provenance(
    quick: bool,
    only: tuple[int, ...],
    out: Path | None,
    seeds: int | None,
    resume: Path | None,
    found_only: bool,
    scheme: tuple[str, ...],
) -> None:
    """What provenance costs and saves across nodes: figures 7 to 14 of liu-2008.

    Delete-and-rederive, relative and absorption provenance and ranked support on simulated nodes. Every view is
    compared with that of one process in the same run; a wrong one ends it.
    """
    from rich.console import Console

    from benchmarks.pictures import require
    from benchmarks.provenance.page import table
    from benchmarks.provenance.run import run, write
    from benchmarks.provenance.runs import KeptRuns

    if found_only and resume is None:
        raise click.UsageError("--found-only needs the folder of --resume")
    console, errors = Console(), Console(stderr=True)
    if not console.is_terminal:
        console.width = 120
    kept = KeptRuns(resume, found_only, scheme)
    try:
        if out is not None:
            require()
        with errors.status("measuring") as status:
            report = run(
                quick=quick, only=only, seeds=seeds, kept=kept, told=lambda what: status.update(what)
            )
    except HeadwaterError as error:
        raise click.ClickException(str(error)) from None
    console.print(table(report))
    if out is not None:
        for path in write(report, out):
            click.echo(f"wrote {path}")


@command.command("network")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about cost.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(("selections", "magic", "sharing", "updates", "growth")),
    help="Measure this part alone; may be repeated.",
)
@click.option("--nodes", type=click.IntRange(min=6), help="Nodes of the overlay. [default: 100; 16 if quick]")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write network.json, network.md and network.svg.",
)
def network(quick: bool, only: tuple[str, ...], nodes: int | None, seed: int, out: Path | None) -> None:
    """Declarative networks: figures 7 to 14 of loo-2006, and how cost grows with the number of nodes.

    Every path is compared with Dijkstra's in the same run; a wrong one ends it.
    """
    from rich.console import Console

    from benchmarks.network.page import markdown
    from benchmarks.network.run import run, write
    from benchmarks.pictures import require

    try:
        if out is not None:
            require()
        with Console(stderr=True).status("measuring") as status:
            report = run(
                quick=quick, only=only, nodes=nodes, seed=seed, told=lambda what: status.update(what)
            )
    except HeadwaterError as error:
        raise click.ClickException(str(error)) from None
    click.echo(markdown(report))
    if out is not None:
        for path in write(report, out):
            click.echo(f"wrote {path}")


@command.command("why")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed.")
@click.option(
    "--repeat", type=click.IntRange(min=1), default=5, show_default=True, help="Ten times as many questions."
)
def why(quick: bool, repeat: int) -> None:
    """Explanations of a row of a closure of 1.5 million rows, beside deleting one edge.

    Every proof is compared with a shortest path in the same run; a wrong one ends it.
    """
    from benchmarks.why import run

    _measured("why", lambda bar: run(BenchmarkOptions(quick=quick, repeat=repeat), bar))


@command.command("rules")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write rules.json, rules.md and rules.svg.",
)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Ten times as many changes."
)
def rules(quick: bool, out: Path | None, repeat: int) -> None:
    """Watching a recursive view that is not stored, and rules that come and go.

    Beside storing the view, and beside DuckDB computing it anew. What is told of the view is compared in the same
    run; a wrong answer ends it.
    """
    from benchmarks.rules.run import run, write

    report = _measured(
        "rules",
        lambda bar: run(BenchmarkOptions(quick=quick, repeat=repeat), bar),
        drawn=out is not None,
    )
    if out is not None:
        for path in write(report, out):
            click.echo(f"wrote {path}")


@command.command("exchange")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write exchange.json, exchange.md and pictures.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Repetitions of each measurement.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.IntRange(4, 10),
    metavar="FIGURE",
    help="Measure this figure alone (4 to 10), with those that are measured together with it; may be repeated.",
)
def exchange(quick: bool, out: Path | None, repeat: int, only: tuple[int, ...]) -> None:
    """Update exchange between peers: figures 4 to 10 of green-2007.

    Ranked support beside DRed, PropagateDelete and recomputation; from scratch beside Nemo. Instances are compared in
    the same run; a wrong one ends it.
    """
    from benchmarks.exchange.run import run, write

    report = _measured(
        "exchange",
        lambda bar: run(BenchmarkOptions(quick=quick, repeat=1 if quick else repeat), bar, only),
        drawn=out is not None,
    )
    if out is not None:
        for path in write(report, out):
            click.echo(f"wrote {path}")


@command.command("sketch")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write sketch.json, sketch.md and pictures.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Repetitions of each measurement.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PART",
    help="Measure this part alone; may be repeated. Other parts in FOLDER stay. 'none' for those of options.",
)
@click.option(
    "--postgres",
    metavar="URL",
    help="Measure TPC-H in this database, too, as the paper does; an empty one is filled.",
)
@click.option(
    "--postgres-scale",
    type=click.FloatRange(min=0, min_open=True),
    default=1,
    show_default=True,
    help="The scale of TPC-H there.",
)
def sketch(
    quick: bool,
    out: Path | None,
    repeat: int,
    only: tuple[str, ...],
    postgres: str | None,
    postgres_scale: float,
) -> None:
    """Provenance sketches: sections 10.2 to 10.6 of the paper.

    Maintenance beside capturing again, in DuckDB; captures, uses, and mixes of updates and queries on Spark, beside
    plain Spark. Answers are compared in the same run; a wrong one ends it.
    """
    from benchmarks.sketch.run import SKETCH_PARTS, run, write

    unknown = sorted(set(only) - set(SKETCH_PARTS) - {"none"})
    if unknown:
        raise click.UsageError(f"no part {', '.join(unknown)}; there are {', '.join(SKETCH_PARTS)}")
    options = BenchmarkOptions(quick=quick, repeat=1 if quick else repeat)

    def kept(report: BenchmarkReport) -> None:
        if out is not None:
            write(report, out)

    report = _measured(
        "sketch", lambda bar: run(options, bar, only, postgres, postgres_scale, kept), drawn=out is not None
    )
    if out is not None:
        for path in write(report, out):
            click.echo(f"wrote {path}")


@command.command("spark")
@click.option("--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write spark.json, spark.md and spark.svg.",
)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Repetitions of loads."
)
def spark(quick: bool, out: Path | None, repeat: int) -> None:
    """Recursion on nodes of an embedded Spark, against a loop of DataFrame joins and against one process.

    Every answer is compared in the same run; a wrong one ends it.
    """
    from rich.console import Console

    from benchmarks.bar import Bar
    from benchmarks.pictures import require
    from benchmarks.spark import run
    from benchmarks.spark_results import write
    from benchmarks.terminal import table

    console = Console()
    if not console.is_terminal:
        console.width = 120
    try:
        require()
        with Bar(Console(stderr=True)) as bar:
            report, shipped = run(BenchmarkOptions(quick=quick, repeat=repeat), bar)
    except HeadwaterError as error:
        raise click.ClickException(str(error)) from None
    console.print(table(report, console.width, "script/bench spark"))
    if out is not None:
        for path in write(report, shipped, out):
            click.echo(f"wrote {path}")
