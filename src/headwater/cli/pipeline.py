"""`headwater pipeline`: run a pipeline from its file, and see where it stands."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from headwater.pipeline import Pipeline, Report

file_argument = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE.toml"
)


@click.group()
def pipeline() -> None:
    """Tables, files, feeds and streams in, views and their changes out, through Spark (headwater[spark]).

    \b
    Examples:
      headwater pipeline run network.toml
      headwater pipeline status network.toml
    """


@pipeline.command()
@file_argument
@click.option("-c", "--continuous", is_flag=True, help="Go on until stopped (Ctrl-C or SIGTERM).")
@click.option(
    "--every",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --continuous, the least time between two turns. [default: as in the file, or 1]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON after each version.")
def run(file: Path, continuous: bool, every: float | None, as_json: bool) -> None:
    """Read all that has changed since the last run, apply it, and publish the views.

    Stopped or killed, it goes on where it was the next time: nothing is lost and nothing is there twice.

    \b
    Examples:
      headwater pipeline run network.toml
      headwater pipeline run network.toml --continuous --every 0.5
    """
    from headwater.pipeline.load import load
    from headwater.pipeline.settings import read_settings
    from headwater.spark.session import require_pyspark

    require_pyspark()
    settings = read_settings(file)
    with load(settings) as found, _until_stopped(found):
        with _watching(as_json) as watch:
            done = found.run(
                continuous=continuous, every=settings.every if every is None else every, watch=watch
            )
        if not as_json:
            print_report(done)


@pipeline.command()
@file_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(file: Path, as_json: bool) -> None:
    """Where a pipeline stands: how far its sources are read, and what its sinks are still owed.

    Starts no Spark and takes no lock: it can be asked while the pipeline runs.
    """
    from headwater.cli.state import has_state
    from headwater.pipeline.load import load
    from headwater.pipeline.settings import read_settings

    settings = read_settings(file)
    if not has_state(settings.state):
        click.echo(json.dumps({"version": 0}) if as_json else f"{file} has not been run yet")
        return
    with load(settings, mode="r") as found:
        report = found.report(look=True)
        if as_json:
            click.echo(json.dumps(report.to_json()))
        else:
            print_report(report, ran=False)


def print_report(report: Report, *, ran: bool = True) -> None:
    """Tables of sources and sinks, then the version."""
    from headwater.cli.screen import print_table, seconds
    from headwater.wording import counted

    if report.sources:
        headings = (
            "source",
            "relation",
            *(("rows read", "changes") if ran else ()),
            "is at",
            *(() if ran else ("waiting",)),
        )
        print_table(
            headings,
            [
                (
                    s.name,
                    s.relation,
                    *((f"{s.read:,}", f"{s.changes:,}") if ran else ()),
                    position(s.mark),
                    *(() if ran else (s.behind or "-",)),
                )
                for s in report.sources
            ],
            numbers=("rows read", "changes"),
        )
        click.echo()
    if report.sinks:
        headings = ("sink", "view", *(("changes",) if ran else ()), "published", "owed")
        print_table(
            headings,
            [
                (
                    s.name,
                    s.view,
                    *((f"{s.changes:,}",) if ran else ()),
                    f"version {s.published}" if s.published else "nothing",
                    counted(s.owed, "version") if s.owed else "-",
                )
                for s in report.sinks
            ],
            numbers=("changes",),
        )
    sys.stdout.flush()
    words = f"version {report.version}"
    if ran:
        words += f", {counted(report.versions, 'new version')}, {counted(report.changes, 'change')}"
        words += f" from {counted(report.read, 'row')} read, published in {seconds(report.lag)}"
    click.echo(words, err=True)
    for source in report.sources:
        if source.refused:
            click.echo(
                f"  {counted(source.refused, 'row')} of {source.name} left out: a value is missing", err=True
            )
    for note in report.notes:
        click.echo(f"  {note}", err=True)


def position(mark: Any) -> str:
    """How far a source is read, in words.

    >>> position(None), position({"batch": 3}), position({"version": 7, "schema": "a int"})
    ('never read', 'batch 3', 'version 7')
    """
    if not mark:
        return "never read"
    for key in ("commit", "version", "batch"):
        if isinstance(mark, dict) and key in mark:
            return f"{key} {mark[key]}"
    return "the last snapshot"


@contextmanager
def _until_stopped(found: Pipeline) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the pipeline after the version at hand; the second one ends it now."""
    asked = 0

    def stop(number: int, frame: object) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise KeyboardInterrupt
        click.echo("stopping after the version at hand (once more: now)", err=True)
        found.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watching(as_json: bool) -> Iterator[Callable[[Report], None]]:
    """What is shown after each turn: JSON, a line that changes (on a terminal), or a line a version."""
    from headwater.cli.screen import console, seconds
    from headwater.wording import counted

    read = changes = 0
    shown = -1

    def line(report: Report) -> str:
        owed = sum(sink.owed for sink in report.sinks)
        waiting = f", {counted(owed, 'version')} owed" if owed else ""
        return (
            f"version {report.version}: {counted(report.read - read, 'row')} read,"
            f" {counted(report.changes - changes, 'change')}, lag {seconds(report.lag)}{waiting}"
        )

    def print_line(report: Report) -> None:
        """What is new since the last line; nothing where there was none to tell."""
        nonlocal read, changes, shown
        if as_json and report.version != shown:
            click.echo(json.dumps(report.to_json()))
            sys.stdout.flush()
        elif not as_json and report.versions > max(shown, 0):
            click.echo(line(report), err=True)
        read, changes = report.read, report.changes
        shown = report.version if as_json else report.versions

    if as_json or not sys.stderr.isatty():
        yield print_line
        return
    with console(sys.stderr).status("starting Spark") as spinner:
        yield lambda report: spinner.update(line(report))
