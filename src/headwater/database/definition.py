"""What `define` is given: a text, the path of a file of it, or what was read of one already; and single rules."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.catalog import Catalog
from headwater.catalog.rule_edits import DROP_RULE
from headwater.errors import LanguageError, Place
from headwater.language.datalog import parse
from headwater.language.datalog.program_file import names_file, read_program
from headwater.language.datalog.render import render
from headwater.language.program import ActiveRule, Constant, Directive, Program, Rule
from headwater.values import arguments
from headwater.values.codec import infer_types


def read_definition(given: object, source: object = None, folder: object = None) -> Program:
    """The program that was given; errors call it `source`, and files it includes are looked for in `folder`."""
    name = None if source is None else arguments.text("source", source)
    beside = None if folder is None else arguments.folder("define(folder=...)", folder)
    if isinstance(given, Program):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise arguments.wrong_kind("define", given, "a text of rules, or the path of a file of them")
    if isinstance(given, str) and not names_file(arguments.text("define", given)):
        return parse(given, name or "<text>", folder=beside)
    arguments.folder("define", given)
    path = Path(os.fspath(given))
    return parse(read_program(path), name or str(path), folder=beside or path.parent)


def read_rule(call: str, given: object, source: str = "<text>", more: str = "") -> Program:
    """The one rule that a call is given as a text; `more` are statements that it comes with."""
    text = arguments.text(call, given)
    alone = parse(text, source)
    rules = [*(rule for rule in alone.rules if rule.body), *alone.active]
    others = (alone.declarations, alone.tables, alone.directives, alone.queries)
    if len(rules) == len(alone.rules) + len(alone.active) == 1 and not any(others):
        return parse(f"{text}\n{more}", source) if more else alone
    found = "no rule" if not rules else f"{len(rules)} rules" if len(rules) > 1 else "more than a rule"
    raise LanguageError(
        "one-rule",
        f"{call} takes the text of one rule, with a head and a body, and found {found}",
        place=alone.rules[-1].place if alone.rules else None,
        hint="facts are rows, which apply inserts; define takes texts of many statements",
    )


def dropping(id: str) -> Program:
    """The text that drops a rule, as it is read.

    >>> dropping("r1") == parse(".drop rule r1") and dropping("r1").text
    '.drop rule r1'
    """
    text = f".drop rule {id}"
    place = Place("<text>", 1, len(text) - len(id) + 1, len(id), text)
    directive = Directive(DROP_RULE, "", {"rule": id}, place)
    return Program(directives=(directive,), text=text)


def known_rule(catalog: Catalog, given: object) -> Rule | ActiveRule:
    """The rule of an id; refused if there is none, with those that are near."""
    found = catalog.rule(given) if isinstance(given, str) else None
    if found is None:
        raise catalog.unknown_rule(given)
    return found


def written_value(argument: str, value: object) -> str:
    """A value as texts have it; refused if it is none that a column can hold."""
    try:
        infer_types([(value,)], argument)
        return render(Constant(value))
    except (TypeError, ValueError, RecursionError):
        raise arguments.wrong_kind(argument, value, "a value that a column can hold") from None
