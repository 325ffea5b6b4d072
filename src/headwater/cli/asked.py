"""The one row that a command is asked about, and what answering took."""

from __future__ import annotations

from collections.abc import Iterable

import click

from headwater.cli.given import rows_of
from headwater.database import Database
from headwater.errors import LanguageError


def asked_row(database: Database, text: str) -> tuple[str, tuple[object, ...]]:
    """The relation and the row that a text such as `reach(a, "c d", 3)` states."""
    example = "give a row: 'reach(a, 3)'"
    relation, rows = rows_of(database, "ROW", text, example)
    if len(rows) != 1:
        raise LanguageError("syntax", f"{text!r} is more than one row", hint=example)
    return relation, rows[0]


def print_notes(notes: Iterable[str]) -> None:
    """What the search needed, where errors go."""
    for note in notes:
        click.echo(f"  {note}", err=True)
