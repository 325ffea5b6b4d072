"""What a version did, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from headwater.active.event import WatchEvent
from headwater.cli.screen import print_table, seconds, written
from headwater.database import Database
from headwater.files.json_values import to_json
from headwater.values.keys import order_key
from headwater.version.changes import Changes
from headwater.wording import counted


def print_changes(database: Database, changes: Changes, *, rows: int, supposed: bool = False) -> None:
    """A table of the relations that differ, then at most `rows` rows of each, then version and time.

    Changes that are only `supposed` have not been made.
    """
    lines = []
    for name in changes:
        inserted, deleted = changes[name].counts
        size = size_of(database, name, inserted - deleted if supposed else 0)
        lines.append((name, _kind(database, name), f"+{inserted:,}", f"-{deleted:,}", size))
    if lines:
        headings = ("relation", "kind", "inserted", "deleted", "rows")
        print_table(headings, lines, numbers=headings[2:])
    print_row_changes(changes, rows)
    statistics = changes.statistics
    words = [f"version {changes.version}", seconds(statistics.seconds)]
    if supposed:
        words[0] = f"nothing was applied, it is still version {changes.version}"
    if not lines:
        words.insert(1, "no relation would change" if supposed else "no relation changed")
    if statistics.no_ops:
        words.append(
            f"{counted(statistics.no_ops, 'change')} did nothing (rows that were there or gone already)"
        )
    sys.stdout.flush()
    click.echo(", ".join(words), err=True)
    for fallback in statistics.fallbacks:
        click.echo(f"  {fallback}", err=True)


def print_row_changes(changes: Changes, rows: int) -> None:
    """At most so many rows of each relation that came, and that went."""
    if rows:
        for name in changes:
            print_signed("+", "green", name, changes[name].inserted, rows)
            print_signed("-", "red", name, changes[name].deleted, rows)


def _kind(database: Database, name: str) -> str:
    if name not in database:
        return "gone"
    return database.info(name).kind_shown


def size_of(database: Database, name: str, more: int = 0) -> str:
    """How many rows a relation has, and `more`; nothing is evaluated to count it."""
    if name in database and not database.info(name).kept:
        return ""
    return f"{(len(database[name]) if name in database else 0) + more:,}"


def print_signed(sign: str, colour: str, name: str, rows: Sequence[tuple[Any, ...]], limit: int) -> None:
    """Rows that came, or went, in order; how many more there are."""
    for row in _sorted(rows)[:limit]:
        click.secho(f"{sign} {written(name, row)}", fg=colour)
    if len(rows) > limit:
        click.secho(f"{sign} {counted(len(rows) - limit, 'more row')} of {name}", fg=colour)


def _sorted(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=order_key)


def changes_as_json(database: Database, changes: Changes, *, with_rows: bool, rows: int | None) -> str:
    """One line of JSON."""
    found: dict[str, Any] = {}
    for name in changes:
        inserted, deleted = changes[name].counts
        found[name] = {"kind": _kind(database, name), "inserted": inserted, "deleted": deleted}
        if with_rows:
            found[name]["inserted_rows"] = to_json(_sorted(changes[name].inserted)[:rows])
            found[name]["deleted_rows"] = to_json(_sorted(changes[name].deleted)[:rows])
    statistics = changes.statistics
    line = {
        "version": changes.version,
        "seconds": round(statistics.seconds, 6),
        "no_ops": statistics.no_ops,
        "changes": found,
    }
    return json.dumps(line, ensure_ascii=False)


def event_as_json(event: WatchEvent, rows: int | None) -> str:
    """One line of JSON."""
    line = {
        "version": event.version,
        "view": event.view,
        "columns": list(event.columns),
        "inserted": to_json(_sorted(event.inserted)[:rows]),
        "deleted": to_json(_sorted(event.deleted)[:rows]),
    }
    return json.dumps(line, ensure_ascii=False)
