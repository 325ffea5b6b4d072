"""`headwater why-not`: why a row of a state is not there, and what would bring it about."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headwater.cli.options import memory_option, state_option


@click.command("why-not")
@state_option
@memory_option
@click.argument("row")
@click.option(
    "--depth", type=click.IntRange(min=1), default=3, show_default=True, help="Look so many levels deep."
)
@click.option(
    "--repairs", type=click.IntRange(min=0), default=3, show_default=True, help="At most so many repairs."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def why_not(state: Path, row: str, depth: int, repairs: int, form: str) -> None:
    """Say why ROW, such as 'reach(c, a)', is not there: what each rule lacks, and the smallest repairs.

    Repairs are tried in memory; nothing is applied, and the state is not locked.

    \b
    Examples:
      headwater why-not -s state/ 'reach(c, a)'
      headwater why-not -s state/ 'reach(c, a)' --format json
    """
    from headwater.cli.asked import asked_row, hinting_at_commands, print_notes
    from headwater.cli.screen import print_lines
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database, hinting_at_commands(row):
        found = database.why_not(*asked_row(database, row), depth=depth, repairs=repairs)
        if form == "json":
            click.echo(json.dumps(found.to_json(), ensure_ascii=False))
        else:
            print_lines(found.lines())
            print_notes(found.notes)
