"""`headwater why`: why a row of a state is there."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headwater.cli.options import memory_option, state_option


@click.command()
@state_option
@memory_option
@click.argument("row")
@click.option("--all", "everything", is_flag=True, help="Every derivation of every row, not only a proof.")
@click.option(
    "--terms", type=click.IntRange(min=0), default=5, show_default=True, help="So many minimal explanations."
)
@click.option("--depth", type=click.IntRange(min=1), help="Look so many levels deep. [default: all]")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="At most so many derivations.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "dot", "svg"]),
    default="text",
    show_default=True,
    help="json has all of it; dot is for Graphviz; svg is a picture.",
)
def why(
    state: Path, row: str, everything: bool, terms: int, depth: int | None, limit: int, form: str
) -> None:
    """Say why ROW, such as 'reach(a, c)', is there: a shortest proof, and from which base rows it follows.

    Nothing has to be stored for that. The state is not locked.

    \b
    Examples:
      headwater why -s state/ 'reach(a, c)'
      headwater why -s state/ 'reach(a, c)' --all
      headwater why -s state/ 'reach(a, c)' --format svg > why.svg
    """
    from headwater.cli.asked import asked_row, hinting_at_commands, print_notes
    from headwater.cli.screen import print_lines
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database, hinting_at_commands(row):
        found = database.why(*asked_row(database, row), depth=depth, limit=limit)
        if form == "json":
            click.echo(json.dumps(found.to_json(), ensure_ascii=False))
        elif form == "dot":
            click.echo(found.graph.dot(), nl=False)
        elif form == "svg":
            click.echo(found.graph.svg(), nl=False)
        else:
            lines = found.graph.lines() if everything else found.lines(terms=terms)
            print_lines(lines)
            print_notes(found.notes)
