"""`script/bench`: measure on this machine what the documentation claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.options import PARTS, BenchmarkOptions
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from benchmarks.bar import Bar
    from benchmarks.report import BenchmarkReport
    from benchmarks.stage import Onlooker


Option = Callable[[Callable[..., Any]], Callable[..., Any]]
ONCE_MORE = "Repetitions of each measurement."

quick_option: Option = click.option(
    "--quick", is_flag=True, help="Small sizes: does everything work? Says nothing about speed or cost."
)


def out_option(what: str) -> Option:
    """Where the report goes, besides the terminal."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help=f"Also write {what}.",
    )


def repeat_option(default: int, what: str) -> Option:
    """How often things are measured."""
    return click.option("--repeat", type=click.IntRange(min=1), default=default, show_default=True, help=what)


def figures_option(first: int, last: int, more: str = "") -> Option:
    """Figures of a paper to measure alone."""
    return click.option(
        "--only",
        multiple=True,
        type=click.IntRange(first, last),
        metavar="FIGURE",
        help=f"Measure this figure alone ({first} to {last}){more}; may be repeated.",
    )


def parts_option(parts: Iterable[str]) -> Option:
    """Parts to measure alone."""
    return click.option(
        "--only",
        multiple=True,
        type=click.Choice(tuple(parts)),
        help="Measure this part alone; may be repeated.",
    )


@click.group("bench")
def command() -> None:
    """Measure Headwater against what you would use instead."""


@contextmanager
def _said(*, drawn: bool) -> Iterator[None]:
    """Say what goes wrong on the command line; refuses early if something is to be `drawn` and cannot be."""
    from benchmarks.pictures import require

    try:
        if drawn:
            require()
        yield
    except HeadwaterError as error:
        raise click.ClickException(str(error)) from None


def _bar() -> Bar:
    from rich.console import Console

    from benchmarks.bar import Bar

    return Bar(Console(stderr=True))


def _show(part: str, report: BenchmarkReport) -> None:
    """Print the table of a report."""
    from rich.console import Console

    from benchmarks.terminal import table

    console = Console()
    if not console.is_terminal:
        console.width = 120
    console.print(table(report, console.width, f"script/bench {part}"))


def _measured(
    part: str, run: Callable[[Onlooker], BenchmarkReport], *, drawn: bool = False
) -> BenchmarkReport:
    """Run a benchmark under a bar, and print its table."""
    with _said(drawn=drawn), _bar() as bar:
        report = run(bar)
    _show(part, report)
    return report


def _wrote(paths: Iterable[Path]) -> None:
    for path in paths:
        click.echo(f"wrote {path}")


@command.command("engine")
@quick_option
@parts_option(PARTS)
@out_option("results.json, results.md and pictures")
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
    from benchmarks.results import write
    from benchmarks.suite import run

    chosen = tuple(part for part in PARTS if part in only) or PARTS
    options = BenchmarkOptions(
        chosen, quick, repeat or (2 if quick else BenchmarkOptions.repeat), pathway=pathway
    )
    report = _measured("engine", lambda bar: run(options, bar), drawn=out is not None)
    if out is not None:
        _wrote(write(report, out))


@command.command("provenance")
@quick_option
@figures_option(7, 14)
@out_option("provenance.json, provenance.md and pictures")
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

    from benchmarks.provenance.page import table
    from benchmarks.provenance.run import run, write
    from benchmarks.provenance.runs import KeptRuns

    if found_only and resume is None:
        raise click.UsageError("--found-only needs the folder of --resume")
    console, errors = Console(), Console(stderr=True)
    if not console.is_terminal:
        console.width = 120
    kept = KeptRuns(resume, found_only, scheme)
    with _said(drawn=out is not None), errors.status("measuring") as status:
        report = run(quick=quick, only=only, seeds=seeds, kept=kept, told=lambda what: status.update(what))
    console.print(table(report))
    if out is not None:
        _wrote(write(report, out))


@command.command("network")
@quick_option
@parts_option(("selections", "magic", "sharing", "updates", "growth"))
@click.option("--nodes", type=click.IntRange(min=6), help="Nodes of the overlay. [default: 100; 16 if quick]")
@click.option("--seed", type=int, default=0, show_default=True)
@out_option("network.json, network.md and network.svg")
def network(quick: bool, only: tuple[str, ...], nodes: int | None, seed: int, out: Path | None) -> None:
    """Declarative networks: figures 7 to 14 of loo-2006, and how cost grows with the number of nodes.

    Every path is compared with Dijkstra's in the same run; a wrong one ends it.
    """
    from rich.console import Console

    from benchmarks.network.page import markdown
    from benchmarks.network.run import run, write

    with _said(drawn=out is not None), Console(stderr=True).status("measuring") as status:
        report = run(quick=quick, only=only, nodes=nodes, seed=seed, told=lambda what: status.update(what))
    click.echo(markdown(report))
    if out is not None:
        _wrote(write(report, out))


@command.command("why")
@quick_option
@repeat_option(5, "Ten times as many questions.")
def why(quick: bool, repeat: int) -> None:
    """Explanations of a row of a closure of 1.5 million rows, beside deleting one edge.

    Every proof is compared with a shortest path in the same run; a wrong one ends it.
    """
    from benchmarks.why import run

    _measured("why", lambda bar: run(BenchmarkOptions(quick=quick, repeat=repeat), bar))


@command.command("rules")
@quick_option
@out_option("rules.json, rules.md and rules.svg")
@repeat_option(3, "Ten times as many changes.")
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
        _wrote(write(report, out))


@command.command("exchange")
@quick_option
@out_option("exchange.json, exchange.md and pictures")
@repeat_option(3, ONCE_MORE)
@figures_option(4, 10, ", with those that are measured together with it")
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
        _wrote(write(report, out))


@command.command("sketch")
@quick_option
@out_option("sketch.json, sketch.md and pictures")
@repeat_option(3, ONCE_MORE)
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
        _wrote(write(report, out))


@command.command("spark")
@quick_option
@out_option("spark.json, spark.md and spark.svg")
@repeat_option(3, "Repetitions of loads.")
def spark(quick: bool, out: Path | None, repeat: int) -> None:
    """Recursion on nodes of an embedded Spark, against a loop of DataFrame joins and against one process.

    Every answer is compared in the same run; a wrong one ends it.
    """
    from benchmarks.spark import run
    from benchmarks.spark_results import write

    with _said(drawn=True), _bar() as bar:
        report, shipped = run(BenchmarkOptions(quick=quick, repeat=repeat), bar)
    _show("spark", report)
    if out is not None:
        _wrote(write(report, shipped, out))
