"""`headwater query`: ask a state folder by goal."""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import escape_formulas_option, memory_option, state_option


@click.command()
@state_option
@memory_option
@click.argument("goal")
@click.option(
    "--limit", type=click.IntRange(min=0), help="At most so many rows. [default: 20 in a table, else all]"
)
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@click.option(
    "--explain", "explains", is_flag=True, help="Print what was evaluated and looked at, in place of rows."
)
@escape_formulas_option
def query(
    state: Path, goal: str, limit: int | None, form: str, explains: bool, escape_formulas: bool
) -> None:
    """Print the answers to GOAL: conditions as in the body of a rule, or rules that end in `?- goal.`

    Only what the goal needs is derived, and nothing is stored. Does not lock the folder. A goal without variables is
    answered by yes or no.

    \b
    Examples:
      headwater query -s state/ 'reach(a, X), !blocked(X)'
      headwater query -s state/ 'near(X) :- link(a, X).  ?- near(X), X != "b".'
      headwater query -s state/ --explain 'reach(a, X)'
    """
    from headwater.cli.show import print_at_rest, print_rows

    if not explains and print_at_rest(state, goal, limit, form, escape_formulas):
        return
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database:
        answers = database.query(goal)
        if explains:
            click.echo(str(answers.explain()))
        else:
            print_rows(answers, f"goal ({goal})", database.version, limit, form, escape_formulas, goal=True)
