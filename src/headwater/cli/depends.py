"""`headwater depends`: what would fall with a row of a state, and what else uses it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headwater.cli.options import memory_option, state_option


@click.command()
@state_option
@memory_option
@click.argument("row")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Follow at most so many rows that use it.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def depends(state: Path, row: str, limit: int, form: str) -> None:
    """Say what depends on ROW, such as 'link(a, b)': what would fall with it, and what else uses it.

    Nothing is applied, and the state is not locked.

    \b
    Examples:
      headwater depends -s state/ 'link(a, b)'
      headwater depends -s state/ 'link(a, b)' --format json
    """
    from headwater.cli.asked import asked_row, hinting_at_commands
    from headwater.cli.screen import print_lines
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database, hinting_at_commands(row):
        found = database.depends(*asked_row(database, row), limit=limit)
        if form == "json":
            click.echo(json.dumps(found.to_json(), ensure_ascii=False))
        else:
            print_lines(found.lines())
