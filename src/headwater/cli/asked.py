"""The one row that a command is asked about, and what answering took."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from headwater.cli.options import state_written
from headwater.cli.stated_rows import rows_of
from headwater.database import Database
from headwater.errors import DataError, LanguageError


def asked_row(database: Database, text: str) -> tuple[str, tuple[object, ...]]:
    """The relation and the row that a text such as `reach(a, "c d", 3)` states."""
    example = "give a row: 'reach(a, 3)'"
    relation, rows = rows_of(database, "ROW", text, example)
    if len(rows) != 1:
        raise LanguageError("syntax", f"{text!r} is more than one row", hint=example)
    return relation, rows[0]


@contextmanager
def hinting_at_commands(row: str) -> Iterator[None]:
    """Errors about a row that is not there, or is, lead to the command that explains it."""
    try:
        yield
    except DataError as error:
        other = {"row-not-there": "why-not", "row-there": "why"}.get(error.code)
        if other is None:
            raise
        asked = "it is not" if other == "why-not" else "it is"
        hint = f"ask why {asked}: headwater {other}{state_written()} {shlex.quote(row)}"
        raise DataError(error.code, error.message, hint=hint) from None


def print_notes(notes: Iterable[str]) -> None:
    """What the search needed, where errors go."""
    for note in notes:
        click.echo(f"  {note}", err=True)
