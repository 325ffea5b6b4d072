"""Rows that a command line states in the language of programs: `reach(a, "c d", 3)`."""

from __future__ import annotations

from dataclasses import replace

from headwater.cli.options import state_written
from headwater.database import Database
from headwater.errors import DataError, LanguageError
from headwater.language.datalog import parse
from headwater.language.program import Atom, Constant, Program
from headwater.rules.check import check
from headwater.rules.checked import RelationInfo


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
