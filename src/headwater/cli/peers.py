"""What the commands of `headwater exchange` have in common: the confederation, rows as texts, tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from headwater.cli.report import print_signed
from headwater.cli.screen import console, print_table, shown
from headwater.cli.stated_rows import stated
from headwater.errors import LanguageError
from headwater.exchange.confederation import Confederation
from headwater.exchange.opening import open_file
from headwater.exchange.peer import Peer
from headwater.exchange.relation import PeerRelationView
from headwater.exchange.report import UpdateReport
from headwater.exchange.settings import read_confederation
from headwater.rules.check import check
from headwater.values.keys import order_key
from headwater.wording import counted

_EXAMPLE = "a row is 'B(3, 5)'"


@contextlib.contextmanager
def opened(file: Path) -> Iterator[Confederation]:
    """The confederation of a file."""
    with open_file(read_confederation(file)) as confederation:
        yield confederation


def rows_by_relation(peer: Peer, origin: str, texts: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows that texts such as `B(3, 5)` state."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for text in texts:
        relation, rows = _rows(peer, origin, text)
        found.setdefault(relation, []).extend(rows)
    return found


def one_row(peer: Peer, text: str) -> tuple[str, tuple[Any, ...]]:
    """The one row that a text states."""
    relation, rows = _rows(peer, "ROW", text)
    if len(rows) != 1:
        raise LanguageError("syntax", f"{text!r} is more than one row", hint=_EXAMPLE)
    return relation, rows[0]


def _rows(peer: Peer, origin: str, text: str) -> tuple[str, list[tuple[Any, ...]]]:
    relation, program, heads = stated(origin, text, _EXAMPLE)
    schemas = peer.instance.schemas
    columns = schemas.columns[schemas.named(relation, peer.name)]
    known = {relation: tuple(column.type for column in columns)} if len(heads[0].args) == len(columns) else {}
    return relation, list(check(program, peer.instance.database.functions, known=known).facts[relation])


def print_update(report: UpdateReport, limit: int) -> None:
    """What an update does to a peer's relations, row by row."""
    came = ", ".join(
        f"{name} ({counted(number, 'transaction')})" for name, number in _by_peer(report).items()
    )
    verb = "would take" if report.supposed else "took"
    click.echo(f"{report.peer} {verb}: {came or 'nothing new'}", err=True)
    for transaction in report.transactions:
        for edit in transaction.policy:
            click.echo(f"{transaction.id.peer}'s trust: {edit}", err=True)
    if report.waiting:
        click.echo(f"waiting for what they depend on: {', '.join(map(str, report.waiting))}", err=True)
    changes = report.changes
    lines = [
        (
            relation.name,
            f"+{len(changes.gained.get(relation, ())):,}",
            f"-{len(changes.lost.get(relation, ())):,}",
        )
        for relation in sorted({*changes.gained, *changes.lost})
    ]
    if lines:
        print_table(("relation", "come", "go"), lines, numbers=("come", "go"))
    for relation in sorted({*changes.gained, *changes.lost}):
        print_signed("-", "red", relation.name, report.deleted(relation.name), limit)
        print_signed("+", "green", relation.name, report.inserted(relation.name), limit)


def _by_peer(report: UpdateReport) -> dict[str, int]:
    found: dict[str, int] = {}
    for transaction in report.transactions:
        found[transaction.id.peer] = found.get(transaction.id.peer, 0) + 1
    return found


def status_of(confederation: Confederation, name: str) -> Mapping[str, Any]:
    """Where a peer stands, as JSON."""
    peer = confederation[name]
    behind = {
        other: confederation.logs.last(other) - peer.instance.taken(other)
        for other in confederation
        if other != name
    }
    return {
        "peer": name,
        "relations": {relation: len(peer[relation].rows(nulls=True)) for relation in peer.relations},
        "unpublished": len(peer.unpublished),
        "published": confederation.logs.last(name),
        "to_take": {other: number for other, number in behind.items() if number > 0},
        "trust": list(peer.trust()),
        "database": None if peer.database is None else peer.database.what,
    }


def print_status(confederation: Confederation, peers: Sequence[str] = ()) -> None:
    """A line for each peer."""
    lines = []
    for name in peers or tuple(confederation):
        found = status_of(confederation, name)
        lines.append(
            (
                name,
                ", ".join(f"{relation} {number:,}" for relation, number in found["relations"].items()),
                f"{found['published']:,}",
                f"{found['unpublished']:,}",
                ", ".join(f"{other} {number:,}" for other, number in found["to_take"].items()) or "-",
                str(len(found["trust"])),
                found["database"] or "-",
            )
        )
    headings = ("peer", "rows", "published", "unpublished", "to take", "conditions", "database")
    print_table(headings, lines, numbers=("published", "unpublished", "conditions"))


def print_rows(view: PeerRelationView, nulls: bool, limit: int) -> None:
    """The rows of a relation in order."""
    rows = sorted(view.rows(nulls=nulls), key=order_key)
    print_table(view.columns, [tuple(map(shown, row)) for row in rows[:limit]])
    left = f", {limit:,} of them shown" if len(rows) > limit else ""
    console().file.flush()
    click.echo(f"{counted(len(rows), 'row')}{left}", err=True)
