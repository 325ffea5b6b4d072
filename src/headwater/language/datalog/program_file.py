"""Texts that are files: which strings name one, and reading it."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.errors import DataError
from headwater.spelling import near

SUFFIXES = (".dl", ".datalog", ".ndlog", ".dlog", ".souffle")
_NOT_IN_PATHS = ("(", "\n", '"', ":-", "?-")
_FIRST_OF_PATHS = ("/", "./", "../")
_FIRST_OF_TEXTS = ("%", "//", "/*", "#")


def names_file(text: str) -> bool:
    """Whether a string is the path of a program rather than a program.

    >>> [names_file(text) for text in ("network.dl", "rules/network.dl", "p(1).", "% see network.dl", "")]
    [True, True, False, False, False]
    """
    if not text or text.startswith(_FIRST_OF_TEXTS) or any(mark in text for mark in _NOT_IN_PATHS):
        return False
    return (
        text.endswith(SUFFIXES)
        or text.startswith(_FIRST_OF_PATHS)
        or (not text.isspace() and os.path.isfile(text))
    )


def read_program(path: Path) -> str:
    """The text of a file."""
    data = b""
    try:
        data = path.read_bytes()
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise not_utf8(str(path), data, error) from None
    except FileNotFoundError:
        raise DataError("missing-file", f"there is no file {path}", hint=_instead(path)) from None
    except OSError as error:
        raise DataError("unreadable", f"cannot read {path}: {error.strerror}") from None


def not_utf8(name: str, data: bytes, error: UnicodeDecodeError) -> DataError:
    """The error about bytes that are no text."""
    line = data.count(b"\n", 0, error.start) + 1
    return DataError(
        "not-utf8",
        f"{name}, line {line}: byte {error.start + 1} is not UTF-8",
        hint="save the file as UTF-8",
    )


def _instead(path: Path) -> str:
    """What is near, and what else could be given."""
    folder = path.parent
    try:
        there = [entry.name for entry in folder.iterdir() if entry.suffix in SUFFIXES]
    except OSError:
        return f"there is no folder {folder.absolute()}; give rules as a text, or the path of a file of them"
    found = near(path.name, there)
    if found:
        return f"did you mean {folder / found[0]}?"
    return f"it was looked for in {folder.absolute()}; give rules as a text, or the path of a file of them"
