"""`headwater define`: let a program be the definition of a state folder, or add it to what is defined."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.options import (
    database_options,
    memory_option,
    preprocessor_options,
    program_text,
    strict_option,
    strictness,
)

if TYPE_CHECKING:
    from headwater.database import Database
    from headwater.database.difference import DefinitionDifference

COLOURS = {"+": "green", "-": "red", "~": "yellow", "!": "cyan"}
ROWS_SHOWN = 20
_FOLDER = click.Path(file_okay=False, path_type=Path)
_PROGRAM = click.Path(exists=True, dir_okay=False, allow_dash=True)


@click.command()
@click.option("-s", "--state", type=_FOLDER, help="The state folder; the program is then added, as by --add.")
@memory_option
@click.argument("given", nargs=-1, required=True, metavar="[STATE] PROGRAM")
@preprocessor_options
@strict_option
@click.option(
    "--add/--whole",
    default=None,
    help="Add the program to what is defined, or let it be all that is defined."
    " [default: --whole with STATE PROGRAM, --add with -s]",
)
@click.option("-y", "--yes", is_flag=True, help="Apply the difference without asking.")
@click.option("--dry-run", is_flag=True, help="Print the difference, and change nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Print the rows that come and go.")
@click.pass_context
def define(
    context: click.Context,
    state: Path | None,
    given: tuple[str, ...],
    include: tuple[Path, ...],
    macros: tuple[str, ...],
    strict: bool | None,
    add: bool | None,
    yes: bool,
    dry_run: bool,
    verbose: bool,
) -> None:
    """Let a program be all that is defined in a state folder; print the difference, ask, and apply it as one version.

    The difference: rules that would come, go and change, other statements, relations, how many rows of each relation
    would come and go, and which views would have to be derived again, and why. Whatever texts the state was defined
    by, the program takes the place of all of them together. Rules that are written alike stay, with their ids.
    Relations that the program does not mention go, with their rows. Facts that earlier texts state and this one does
    not are deleted; those that both state are left as they are.

    With -s, or --add, the program's rules, declarations and facts are added to what is defined, and nothing is asked.
    The folder is made if there is none. Fact files are not read: that is for `run` and `apply`.

    \b
    Examples:
      headwater define state/ program.dl
      headwater define state/ program.dl --dry-run
      headwater define state/ program.dl --yes
      headwater define -s state/ more.dl
    """
    add = state is not None if add is None else add
    state, program = _folder_and_program(context, state, given)
    text, source = program_text(program, include, macros)
    options = {"strict": strictness(strict), **database_options()}
    import headwater
    from headwater.cli.state import has_state

    if dry_run:
        there = has_state(state)
        with headwater.connect(state if there else None, mode="r" if there else "w", **options) as database:
            difference = database.difference(text, source=source, whole=not add)
            _print_difference(difference, rows=ROWS_SHOWN if verbose else 0)
            click.echo(
                f"{'nothing was applied' if difference else 'no difference'}, it is still version {database.version}",
                err=True,
            )
        return
    with headwater.connect(state, **options) as database:
        if add or not database.texts:
            _apply(database, text, source, add, verbose)
        elif _agreed(database, text, source, yes, verbose):
            _apply(database, text, source, add, verbose, shown=True)


def _folder_and_program(
    context: click.Context, state: Path | None, given: tuple[str, ...]
) -> tuple[Path, str]:
    """The state folder and the program, as they are given: with -s, or both as arguments."""
    if len(given) != (1 if state is not None else 2):
        what = "one PROGRAM" if state is not None else "STATE and PROGRAM (or -s STATE and PROGRAM)"
        raise click.UsageError(f"expected {what}, found {len(given)} arguments")
    if state is None:
        found: Path = _FOLDER.convert(given[0], None, context)
        state = context.params["state"] = found
    return state, str(_PROGRAM.convert(given[-1], None, context))


def _agreed(database: Database, text: str, source: str, yes: bool, verbose: bool) -> bool:
    """Show the difference, if there is one, and say whether to go on; whoever does not want to ends the command."""
    from headwater.errors import DataError

    difference = database.difference(text, source=source)
    _print_difference(difference, rows=ROWS_SHOWN if verbose else 0)
    if not difference:
        click.echo(f"nothing to change, it is still version {database.version}", err=True)
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        raise DataError(
            "not-confirmed",
            "nothing was changed: there is no terminal to ask whether to apply this",
            hint="--yes applies it, --dry-run only prints it; --add adds the program to what is defined",
        )
    if not click.confirm("Apply this?", default=False, err=True):
        click.echo(f"nothing was changed, it is still version {database.version}", err=True)
        raise click.exceptions.Exit(1)
    return True


def _apply(
    database: Database, text: str, source: str, add: bool, verbose: bool, *, shown: bool = False
) -> None:
    """Apply it, and print what that did, unless it was `shown` before."""
    from headwater.cli.report import print_changes
    from headwater.cli.screen import seconds
    from headwater.cli.state import settle

    before = database.version
    changes = (database.define if add else database.redefine)(text, source=source)
    settle(database, before)
    if shown:
        click.echo(f"version {changes.version}, {seconds(changes.statistics.seconds)}", err=True)
    else:
        print_changes(database, changes, rows=ROWS_SHOWN if verbose else 0)


def _print_difference(difference: DefinitionDifference, *, rows: int) -> None:
    """Rules, statements and relations by sign; the rows that would come and go; what would be derived again."""
    from headwater.cli.report import print_row_changes
    from headwater.cli.screen import print_table

    for sign, words in difference.lines():
        if sign in ("+", "-", "~"):
            click.secho(f"{sign} {words}", fg=COLOURS[sign])
    counts = {name: difference.changes[name].counts for name in difference.changes}
    if counts:
        lines = [(name, f"+{come:,}", f"-{go:,}") for name, (come, go) in counts.items()]
        print_table(("relation", "would come", "would go"), lines, numbers=("would come", "would go"))
    print_row_changes(difference.changes, rows)
    for sign, words in difference.lines():
        if sign == "!":
            click.secho(f"{sign} {words}", fg=COLOURS[sign])
    sys.stdout.flush()
