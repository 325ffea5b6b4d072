"""`headwater what-if`: what a change would do to a state, without applying it."""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import header_option, memory_option, nan_option, on_null_option, state_option


@click.command("what-if")
@state_option
@memory_option
@click.argument(
    "paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[FOLDER_OR_FILE]..."
)
@click.option(
    "--insert", multiple=True, metavar="ROWS", help="Rows that would come: link=more.csv, or 'link(a, b)'."
)
@click.option(
    "--delete", multiple=True, metavar="ROWS", help="Rows that would go: link=gone.csv, or 'link(a, b)'."
)
@header_option
@on_null_option
@nan_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Print so many rows each."
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON.")
def what_if(
    state: Path,
    paths: tuple[Path, ...],
    insert: tuple[str, ...],
    delete: tuple[str, ...],
    header: bool | None,
    on_null: str,
    nan: str,
    limit: int,
    as_json: bool,
) -> None:
    """Print what `headwater apply` would change with the same arguments, and apply nothing.

    \b
    Examples:
      headwater what-if -s state/ --delete 'link(a, b)'
      headwater what-if -s state/ changes/ --json
    """
    from headwater.cli.apply import read_given
    from headwater.cli.given import from_option, from_path
    from headwater.cli.missing import MissingValues
    from headwater.cli.report import changes_as_json, print_changes
    from headwater.cli.state import blaming, open_state

    if not (paths or insert or delete):
        raise click.UsageError("nothing to suppose: give --insert, --delete, or a folder of changes")
    with open_state(state, mode="r") as database:
        given = [found for path in paths for found in from_path(database, path, header)]
        given += [from_option(database, "delete", text, header) for text in delete]
        given += [from_option(database, "insert", text, header) for text in insert]
        changes, contents = read_given(database, given, MissingValues(on_null, nan))
        with blaming(contents):
            supposed = database.what_if(insert=changes["insert"], delete=changes["delete"])
        if as_json:
            click.echo(changes_as_json(database, supposed, with_rows=True, rows=None))
        else:
            print_changes(database, supposed, rows=limit, supposed=True)
