"""`headwater show`: look at a state folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from headwater.cli.options import escape_formulas_option, memory_option, state_option
from headwater.values.labelled import LABEL

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.database import Database
    from headwater.local.at_rest import Listed


@click.command()
@state_option
@memory_option
@click.argument("relation", required=False)
@click.option(
    "--limit", type=click.IntRange(min=0), help="At most so many rows. [default: 20 in a table, else all]"
)
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@escape_formulas_option
@click.option("--rules", is_flag=True, help="Show the rules, with their ids.")
def show(
    state: Path, relation: str | None, limit: int | None, form: str, escape_formulas: bool, rules: bool
) -> None:
    """Show all relations of a state folder, its rules, or the rows of a relation: all, or those a goal asks for.

    Does not lock the folder.

    \b
    Examples:
      headwater show -s state/
      headwater show -s state/ --rules
      headwater show -s state/ reach --limit 5
      headwater show -s state/ 'reach(a, X)'
      headwater show -s state/ reach --format csv > reach.csv
    """
    from headwater.local.at_rest import state_at_rest, told_active

    if rules:
        _show_rules(state, relation, form)
        return
    found = state_at_rest(state.absolute(), relation)
    if found is not None and (relation is None or relation in found[1]):
        version, relations, active = found
        if relation is None:
            _show_relations(version, [one.listed for one in relations.values()], form, active)
        else:
            print_rows(relations[relation], relation, version, limit, form, escape_formulas)
        return
    if relation is not None and print_at_rest(state, relation, limit, form, escape_formulas):
        return
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database:
        if relation is None:
            _show_relations(
                database.version, _relations(database), form, told_active(database.catalog.active)
            )
        else:
            goal = "(" in relation
            rows = database.query(relation) if goal else database[relation]
            what = f"goal ({relation})" if goal else relation
            print_rows(rows, what, database.version, limit, form, escape_formulas, goal=goal)


def print_at_rest(state: Path, goal: str, limit: int | None, form: str, escape_formulas: bool) -> bool:
    """Print the answers to a goal that needs no engine; whether it is such a goal."""
    if "(" not in goal:
        return False
    from headwater.local.goal_at_rest import goal_at_rest

    found = goal_at_rest(state.absolute(), goal)
    if found is not None:
        print_rows(found[1], f"goal ({goal})", found[0], limit, form, escape_formulas, goal=True)
    return found is not None


class ShownRows(Protocol):
    """The rows of a relation, of a database or of a state at rest."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def types(self) -> Sequence[object]:
        """Their types; `None` where one is not known."""
        ...

    def arrow(self, *, labels: bool = False) -> pa.Table:
        """The rows, in any order; with texts of labelled nulls, if there are any, in columns of their own."""
        ...

    def __len__(self) -> int: ...


def _show_rules(state: Path, relation: str | None, form: str) -> None:
    """All rules, or those of a view, with their ids."""
    from headwater.cli.screen import print_table
    from headwater.cli.state import open_state

    with open_state(state, mode="r") as database:
        table, rows = database.rules.arrow(), database.rules.rows()
        if relation is not None:
            name = database.info(relation).name
            table = table.filter([name in row[2].split(", ") for row in rows])
        if form == "table":
            columns = [column.to_pylist() for column in table.columns]
            print_table(table.column_names, list(zip(*columns, strict=True)))
            click.echo(f"version {database.version}", err=True)
        else:
            _print_bytes(table, table.num_rows, form)


def _relations(database: Database) -> list[Listed]:
    sizes = database.runner.facts().relations
    return [(*row, sizes[row[0]].nbytes if row[0] in sizes else 0) for row in database.relations.rows()]


def _show_relations(
    version: int, rows: Sequence[Listed], form: str, active: Sequence[tuple[str, str]]
) -> None:
    import pyarrow as pa

    from headwater.cli.screen import print_table
    from headwater.local.at_rest import active_line

    headings = ("relation", "kind", "columns", "rows", "bytes")
    if form == "table":
        shown = [
            (name, kind, columns, "" if count is None else f"{count:,}", f"{size:,}")
            for name, kind, columns, count, size in rows
        ]
        print_table(headings, shown, numbers=("rows", "bytes"))
        for id, text in active:
            click.echo(active_line(id, text), err=True)
        click.echo(f"version {version}", err=True)
    else:
        table = pa.table({heading: [row[i] for row in rows] for i, heading in enumerate(headings)})
        _print_bytes(table, len(rows), form)


def print_rows(
    found: ShownRows,
    what: str,
    version: int,
    limit: int | None,
    form: str,
    escape_formulas: bool,
    *,
    goal: bool = False,
) -> None:
    """Rows of a relation, or answers, in order; in a table, how many there are goes to stderr."""
    from headwater.cli.screen import print_table, shown
    from headwater.files.order import in_order
    from headwater.wording import counted

    if goal and not found.columns:
        click.echo("yes" if len(found) else "no")
        return
    taken = any(column + LABEL in found.columns for column in found.columns)
    table = in_order(found.arrow(labels=form == "table" and not taken))
    count = table.num_rows if found.columns else len(found)
    if form == "table":
        limit = 20 if limit is None else limit
        numbers = [
            c for c, type in zip(found.columns, found.types, strict=True) if str(type) in ("int", "float")
        ]
        columns = _values(table.slice(0, min(limit, count)), len(found.columns))
        rows = [list(map(shown, row)) for row in zip(*columns, strict=True)]
        if found.columns:
            print_table(found.columns, rows, numbers=numbers)
        more = f", the first {limit:,} shown" if found.columns and count > limit else ""
        click.echo(f"{what}: {counted(count, 'row')}{more}, version {version}", err=True)
    else:
        count = count if limit is None else min(limit, count)
        _print_bytes(table.slice(0, count), count, form, escape_formulas)


def _values(table: pa.Table, width: int) -> list[list[object]]:
    """The values of the first columns, with the labelled nulls that further ones tell the texts of."""
    from headwater.values.arrow_types import column_type
    from headwater.values.arrow_values import python_values
    from headwater.values.label_text import parse_label

    columns = [list(python_values(column, column_type(column))) for column in table.columns[:width]]
    for name in table.column_names[width:]:
        values = columns[table.column_names.index(name.removesuffix(LABEL))]
        for row, text in enumerate(table.column(name).to_pylist()):
            if text is not None:
                values[row] = parse_label(text)
    return columns


def _print_bytes(table: object, rows: int, form: str, escape_formulas: bool = False) -> None:
    from headwater.files.write import WRITTEN, encode

    stream = sys.stdout.buffer
    stream.write(encode(table, rows, replace(WRITTEN[form], escape_formulas=escape_formulas)))
    stream.flush()
