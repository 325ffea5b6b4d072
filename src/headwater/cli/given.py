"""The changes that a command line gives: files, folders of files, and single rows.

- `link=more.csv` is a file of rows; its format is that of `headwater.files`, and `link=-` is standard input;
- `link("a", "b", 3)` is one row, in the language of programs;
- a folder holds `<relation>.insert.csv`, `<relation>.delete.csv` and change feeds `<relation>.csv`, in any
  format. Anything else in it is refused, except names that start with `.` or `_`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from headwater.cli.inputs import with_header
from headwater.cli.options import state_written
from headwater.cli.state import check_base
from headwater.database import Database
from headwater.errors import DataError, LanguageError
from headwater.files.contents import Contents, FactFile
from headwater.files.formats import format_of, split_extension
from headwater.language.datalog import parse
from headwater.language.program import Atom, Constant, Program
from headwater.rules.check import check
from headwater.rules.checked import RelationInfo

_FILE = re.compile(r"\s*([^\W\d][\w?]*)\s*=(.+)", re.DOTALL)


@dataclass(frozen=True)
class Given:
    """Rows of a relation that come (`insert`), go (`delete`), or say themselves which (`feed`)."""

    action: str
    relation: str
    rows: FactFile | Contents


def from_option(database: Database, action: str, text: str, header: bool | None) -> Given:
    """What `--insert` or `--delete` says."""
    file = _FILE.fullmatch(text)
    if file is None:
        return Given(action, *_row(database, action, text))
    relation, name = file.groups()
    check_base(database, relation)
    if name == "-":
        return Given(action, relation, FactFile(None))
    path = Path(name)
    if not path.is_file():
        raise click.BadParameter(f"there is no file {name}", param_hint=f"--{action}")
    return Given(action, relation, _origin(path, header))


def _row(database: Database, action: str, text: str) -> tuple[str, Contents]:
    """One row (or more: `link(a,b). link(b,c).`) of a relation that takes rows."""
    relation, facts = rows_of(
        database, f"--{action}", text, f"--{action} 'link(a, 3)' or --{action} link=rows.csv"
    )
    check_base(database, relation)
    info = database.info(relation)
    columns = tuple(zip(*facts, strict=True))
    return relation, Contents(f"--{action}", relation, info.columns, "values", columns, len(facts))


def rows_of(
    database: Database, origin: str, text: str, example: str
) -> tuple[str, tuple[tuple[object, ...], ...]]:
    """The rows of one relation that a text states, in the language of programs; their relation must be there."""
    relation, program, heads = stated(origin, text, example)
    info = database.info(relation)
    for head in heads:
        if len(head.args) != info.arity:
            raise _wrong_arity(info, head)
    return relation, check(program, database.functions, known={relation: info.types}).facts[relation]


def stated(origin: str, text: str, example: str) -> tuple[str, Program, list[Atom]]:
    """The one relation that a text states rows of, the text as a program, and its rows."""
    text = text.strip()
    if text.isidentifier():
        raise LanguageError("syntax", f"{text!r} is a relation, not a row", hint=example)
    program = _parsed(text, origin)
    heads = [head for rule in program.rules for head in rule.heads]
    others = program.declarations or program.directives or program.tables or program.queries
    if not heads or others or any(rule.body or rule.delete for rule in program.rules):
        raise LanguageError("syntax", f"{text!r} is not a row", hint=example)
    relation = heads[0].relation
    if any(head.relation != relation for head in heads):
        raise LanguageError(
            "syntax", f"{text!r} has rows of several relations", hint="give one relation at a time"
        )
    return relation, program, heads


def _parsed(text: str, origin: str) -> Program:
    """The text as a program. The full stop that a row on a command line does without is in no error."""
    try:
        return parse(text if text.endswith(".") else text + ".", origin)
    except LanguageError as error:
        place = error.place
        if text.endswith(".") or place is None:
            raise
        message = error.message.replace("found '.'", "found the end of the text")
        written = replace(place, text=place.text.removesuffix("."))
        raise LanguageError(error.code, message, place=written, hint=error.hint) from None


def _wrong_arity(info: RelationInfo, head: Atom) -> DataError:
    """A row with too few or too many values; those that are missing can be asked for."""
    names = [column[:1].upper() + column[1:] for column in info.columns]
    message = f"{info.name} has {info.arity} columns ({', '.join(info.columns)}), not {len(head.args)}"
    hint = f"a row is {info.name}({', '.join(info.columns)})"
    if len(head.args) < info.arity:
        given = [str(arg.value) for arg in head.args if isinstance(arg, Constant)]
        asked = f"{info.name}({', '.join([*given, *names[len(given) :]])})"
        hint += f"; to find rows: headwater show{state_written()} '{asked}'"
    return DataError("wrong-arity", message, hint=hint)


def from_path(database: Database, path: Path, header: bool | None) -> list[Given]:
    """What a folder of changes, or one file of such a folder, holds."""
    if not path.is_dir():
        return [_named(database, path, header)]
    try:
        entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise DataError("unreadable", f"cannot list {path}: {error.strerror}") from None
    return [_named(database, entry, header) for entry in entries]


def _named(database: Database, path: Path, header: bool | None) -> Given:
    stem, _ = split_extension(path.name)
    relation, dot, action = stem.rpartition(".")
    if not dot:
        relation, action = stem, "feed"
    if format_of(path) is None or action not in ("insert", "delete", "feed") or not path.is_file():
        raise DataError(
            "unknown-file",
            f"{path} does not say what it changes",
            hint="name it link.insert.csv, link.delete.csv, or link.csv if it has a column _change_type",
        )
    check_base(database, relation)
    return Given(action, relation, _origin(path, header))


def _origin(path: Path, header: bool | None) -> FactFile:
    return FactFile(path, with_header(format_of(path), header))


def paths_of(given: Sequence[Given]) -> list[Path | None]:
    """The files among what is given."""
    return [one.rows.path for one in given if isinstance(one.rows, FactFile)]
