"""What `define` is given: a text, the path of a file of it, or what was read of one already."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.language.datalog import parse
from headwater.language.datalog.program_file import names_file, read_program
from headwater.language.program import Program
from headwater.values import arguments


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
