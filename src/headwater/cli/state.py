"""State folders, and what loading files needs to know of an open database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import headwater
from headwater.cli.options import database_options
from headwater.cli.outcome import note
from headwater.database import Database
from headwater.errors import DataError, StoreError
from headwater.files.alike import Types, TypesOf
from headwater.files.contents import Contents
from headwater.language.datalog import parse
from headwater.language.program import Program
from headwater.rules.check import check
from headwater.rules.checked import Checked, RelationInfo
from headwater.store.folder import Folder

SOON_WRITTEN = 16 << 20
"""Bytes in memory of a state that a command writes whole after it has changed it."""


def has_state(path: Path) -> bool:
    """Whether there is a state in the folder."""
    return Folder(path.absolute()).manifest() is not None


def open_state(path: Path, *, mode: Literal["w", "r"] = "w", **options: Any) -> Database:
    """A state that is there already; a reader neither locks nor changes it."""
    if not has_state(path):
        raise StoreError(
            "missing",
            f"there is no state in {path}",
            hint=f"make one: headwater define -s {path} program.dl, or headwater run program.dl -s {path}",
        )
    return headwater.connect(path, mode=mode, **{**database_options(), **options})


def settle(database: Database, before: int, *, whatever_its_size: bool = False) -> None:
    """Leave a state whose views can be read without being derived, if a command has changed it since `before`; and
    tell which watches have failed.

    Only a state that is soon written, unless the command derived most of it. That it could not be written is told:
    the versions stand, in the log.
    """
    for watch in database.watches.values():
        if watch.error is not None:
            note(f"{watch.name} is {watch.state}, and owed {len(watch.owed):,} versions: {watch.error}")
    if database.path is None or database.version == before:
        return
    if whatever_its_size or database.nbytes <= SOON_WRITTEN:
        try:
            database.checkpoint()
        except StoreError as error:
            note(f"no checkpoint was written: {error.message}")


class Described(Protocol):
    """What is defined: a database, or a catalog of what is going to be in one."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of all base relations and views."""
        ...

    @property
    def program(self) -> Checked:
        """All rules."""
        ...

    def info(self, name: str) -> RelationInfo:
        """A relation's columns, types and kind."""
        ...

    def types_if(self, known: Mapping[str, Types]) -> dict[str, Types]:
        """What the types of all relations would be if those of some base relations were these."""
        ...


def programs(database: Database) -> list[Program]:
    """What was defined, in order."""
    return [parse(text, source) for text, source in database.texts]


def base_relations(described: Described) -> list[str]:
    """The relations that rows can be given to: base relations, and views that take rows as well."""
    return [
        name for name in described.relations if described.info(name).base or name in described.program.facades
    ]


def check_base(database: Database, relation: str) -> None:
    """Refuse a relation that is not there, or takes no rows."""
    database.info(relation)
    if relation not in base_relations(database):
        raise DataError(
            "derived-relation",
            f"{relation} is derived by rules; its rows cannot be inserted or deleted",
            hint=f"change the relations it is derived from, or declare `.input {relation}`",
        )


def types_of(described: Described) -> TypesOf:
    """What the types of all relations would be if those of some were known."""

    def types(known: Mapping[str, Types]) -> Mapping[str, Types]:
        now = {name: info.types for name, info in described.program.relations.items()}
        if all(now[name] == types for name, types in known.items()):
            return now
        return described.types_if(known)

    return types


def stated(database: Database) -> Mapping[str, tuple[tuple[object, ...], ...]]:
    """The rows that the texts themselves state, by base relation."""
    known = {name: info.types for name, info in database.program.relations.items() if not info.internal}
    found = programs(database)
    whole = Program(
        rules=tuple(rule for program in found for rule in program.rules),
        declarations=tuple(d for program in found for d in program.declarations),
        tables=tuple(table for program in found for table in program.tables),
        directives=tuple(d for program in found for d in program.directives),
    )
    return check(whole, database.functions, known=known).facts


@contextmanager
def blaming(contents: list[Contents]) -> Iterator[None]:
    """Errors about rows name the file that they came from."""
    try:
        yield
    except DataError as error:
        for one in contents:
            if error.message.startswith(f"{one.relation}, row ") and one.kind == "table":
                raise DataError(error.code, f"{one.origin}: {error.message}", hint=error.hint) from None
        raise
