"""`headwater watch`: follow the rows of a goal in the terminal, also while another process changes the state."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.options import memory_option
from headwater.errors import DataError

if TYPE_CHECKING:
    from headwater.active.event import WatchEvent

EVERY = 0.5
"""Seconds between two looks at the state."""
MOST_ROWS = 20
"""Rows of a sign that are printed of a version."""


@click.command()
@click.argument("state", type=click.Path(file_okay=False, path_type=Path))
@click.argument("goal", required=False)
@memory_option
@click.option(
    "--on",
    type=click.Choice(["added", "removed", "changed"]),
    default="changed",
    show_default=True,
    help="Rows that come, that go, or both.",
)
@click.option("--when", metavar="CONDITION", help="Only rows for which this holds: 'X > 3, owner(X, Y)'.")
@click.option(
    "--from-version",
    type=click.IntRange(min=0),
    metavar="VERSION",
    help="Begin with what came after this version, as far as the log has it. [default: with what comes now]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each version.")
@click.option(
    "--limit", type=click.IntRange(min=0), help="At most so many rows of each sign. [default: 20; JSON: all]"
)
@click.option(
    "--count", type=click.IntRange(min=1), help="End after so many versions that changed such rows."
)
@click.option("--once", is_flag=True, help="Show what is there to show, and end.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.01),
    default=EVERY,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
def watch(
    state: Path,
    goal: str | None,
    on: str,
    when: str | None,
    from_version: int | None,
    as_json: bool,
    limit: int | None,
    count: int | None,
    once: bool,
    every: float,
) -> None:
    """Print the rows of a relation, or of a goal, that come and go with each version of a state folder.

    Without a goal: print who watches the state, and what they are owed.

    Does not lock the folder: another process may be changing it. Ctrl-C ends it.

    \b
    Examples:
      headwater watch state/
      headwater watch state/ reach
      headwater watch state/ "alarm(X, 'high')" --on added --when 'X > 3'
      headwater watch state/ 'reach(a, X)' --from-version 7 --once --json
    """
    from headwater.cli.state import open_state

    if goal is None:
        _list(state)
        return
    events: list[WatchEvent] = []
    with (
        contextlib.suppress(KeyboardInterrupt),
        open_state(state, mode="r", version=from_version) as database,
    ):
        watching = database.watch(goal, events.append, on=on, when=when)  # type: ignore[arg-type]
        if sys.stderr.isatty():
            click.echo(f"version {database.version}; Ctrl-C ends", err=True)
        left = count
        while True:
            database.refresh()
            for event in events[:left]:
                _print(event, as_json, limit)
            left = None if left is None else left - len(events)
            events.clear()
            if watching.state == "parked":
                raise DataError("watch-parked", f"{goal} cannot be followed any more: {watching.error}")
            if once or (left is not None and left <= 0):
                return
            time.sleep(every)


def _list(state: Path) -> None:
    """The watches of the state; those that act are in the process that writes it."""
    from headwater.cli.screen import print_table
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database:
        rows = [
            (
                watch.name,
                watch.goal,
                watch.on,
                watch.when or "",
                f"{watch.delivered:,}",
                f"{len(watch.owed):,}",
            )
            for watch in database.watches.values()
        ]
        headings = ("watch", "goal", "on", "when", "delivered", "owed")
        print_table(headings, rows, numbers=headings[4:])
        click.echo(f"version {database.version}", err=True)


def _print(event: WatchEvent, as_json: bool, limit: int | None) -> None:
    """What a version did, at once: whoever reads may be another program."""
    from headwater.cli.report import event_as_json, print_signed

    if as_json:
        click.echo(event_as_json(event, limit))
    else:
        counts = f"+{len(event.inserted):,} -{len(event.deleted):,}"
        click.secho(f"version {event.version}  {event.view}  {counts}", bold=True)
        most = MOST_ROWS if limit is None else limit
        print_signed("-", "red", event.view, event.deleted, most)
        print_signed("+", "green", event.view, event.inserted, most)
    sys.stdout.flush()
