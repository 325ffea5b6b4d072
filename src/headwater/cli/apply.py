"""`headwater apply`: change the base relations of a state, and see what that does to its views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.options import header_option, memory_option, nan_option, on_null_option, state_option
from headwater.errors import DataError

if TYPE_CHECKING:
    from headwater.cli.given import Given
    from headwater.cli.missing import MissingValues
    from headwater.database import Database


@click.command()
@state_option
@memory_option
@click.argument(
    "paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[FOLDER_OR_FILE]..."
)
@click.option(
    "--insert", multiple=True, metavar="ROWS", help="Rows that come: link=more.csv, or a row: 'link(a, b)'."
)
@click.option(
    "--delete", multiple=True, metavar="ROWS", help="Rows that go: link=gone.csv, or a row: 'link(a, b)'."
)
@click.option(
    "--advance-to", type=float, metavar="SECONDS", help="First set the time, and let rows expire (a version)."
)
@header_option
@on_null_option
@nan_option
@click.option("-v", "--verbose", is_flag=True, help="Print the rows that changed.")
@click.option(
    "--limit", type=click.IntRange(min=0), help="With -v, so many rows each. [default: 20; JSON: all]"
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each version.")
def apply(
    state: Path,
    paths: tuple[Path, ...],
    insert: tuple[str, ...],
    delete: tuple[str, ...],
    advance_to: float | None,
    header: bool | None,
    on_null: str,
    nan: str,
    verbose: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Insert and delete rows as one version (deletes first), and print what it changed.

    A folder holds files named <relation>.insert.csv and <relation>.delete.csv, and change feeds
    <relation>.csv, which have a column _change_type (insert, delete, update_preimage, update_postimage) and
    may have _commit_version. All formats of `headwater run` will do.

    \b
    Examples:
      headwater apply -s state/ --insert 'link("a", "b")' --delete link=gone.csv
      headwater apply -s state/ changes/
      headwater apply -s state/ --advance-to 60 --json
    """
    from headwater.cli.given import from_option, from_path
    from headwater.cli.missing import MissingValues
    from headwater.cli.report import changes_as_json, print_changes
    from headwater.cli.state import open_state, settle

    if not (paths or insert or delete or advance_to is not None):
        raise click.UsageError(
            "nothing to apply: give --insert, --delete, --advance-to, or a folder of changes"
        )
    with open_state(state) as database:
        given = [found for path in paths for found in from_path(database, path, header)]
        given += [from_option(database, "delete", text, header) for text in delete]
        given += [from_option(database, "insert", text, header) for text in insert]
        missing = MissingValues(on_null, nan)
        changes, contents = read_given(database, given, missing)
        before = database.version
        versions = []
        if advance_to is not None:
            versions.append(database.advance(advance_to))
        if given or not versions:
            missing.put_aside(database.version + 1)
            versions.append(_apply(database, changes, contents))
        settle(database, before)
        for version in versions:
            if as_json:
                click.echo(changes_as_json(database, version, with_rows=verbose, rows=limit))
            else:
                print_changes(database, version, rows=(20 if limit is None else limit) if verbose else 0)


def read_given(
    database: Database, given: list[Given], missing: MissingValues
) -> tuple[dict[str, dict[str, Any]], list[Any]]:
    """The rows to insert and to delete, by relation; and the files they come from."""
    from headwater.cli.given import paths_of
    from headwater.cli.progress import loading
    from headwater.cli.state import types_of
    from headwater.files.contents import Contents
    from headwater.files.feed import changes_of
    from headwater.files.load import load, together_by_relation
    from headwater.files.read import read

    contents: list[Contents] = []
    with loading(paths_of(given)) as advance:
        for one in given:
            info = database.info(one.relation)
            rows = one.rows
            if not isinstance(rows, Contents):
                rows = read(
                    rows,
                    one.relation,
                    info.columns,
                    info.types,
                    nullable=info.nullable,
                    named=info.named,
                    advance=advance,
                )
            if one.action != "feed" and rows.change_types is not None:
                raise DataError(
                    "change-feed",
                    f"{rows.origin} has a column _change_type, and is to be used for --{one.action}",
                    hint="a change feed is given by its path alone: headwater apply -s state/ link.csv",
                )
            contents.append(rows)
        tables = missing.read(database, contents, load(contents, types_of(database)))
    parts: dict[str, list[tuple[str, Any]]] = {"insert": [], "delete": []}
    for one, rows, table in zip(given, contents, tables, strict=True):
        if rows.rows == 0:
            continue
        if one.action == "feed":
            inserted, deleted = (
                missing.taken(database, one.relation, part) for part in changes_of(rows, table)
            )
            parts["insert"].append((one.relation, inserted))
            parts["delete"].append((one.relation, deleted))
        else:
            parts[one.action].append((one.relation, missing.taken(database, one.relation, table)))
    return {action: together_by_relation(found) for action, found in parts.items()}, contents


def _apply(database: Database, changes: dict[str, dict[str, Any]], contents: list[Any]) -> Any:
    from headwater.cli.state import blaming

    with blaming(contents):
        return database.apply(insert=changes["insert"], delete=changes["delete"])
