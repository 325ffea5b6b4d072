"""Arguments of public calls, checked where they come in: what was given, what was expected, as our errors.

Each function takes the argument's name and what was given for it, and returns it as what it should be. A bool is
no number. Numbers of numpy count as the Python numbers they stand for.

>>> whole_number("limit", 3, least=1)
3
>>> whole_number("limit", 2.5, least=1)
Traceback (most recent call last):
headwater.errors.DataError: error[wrong-type]: limit is 2.5
  = hint: a whole number from 1
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from headwater.errors import DataError, EvaluationError, HeadwaterError, UnknownRelation
from headwater.spelling import did_you_mean
from headwater.values.scalars import class_name, show

Result = TypeVar("Result")


def wrong(argument: str, value: object, expected: str, code: str = "wrong-type") -> DataError:
    """The error for an argument that is not what it should be."""
    return DataError(code, f"{argument} is {show(value)}", hint=expected)


def wrong_kind(call: str, value: object, expected: str) -> DataError:
    """The error for a call that takes something else altogether."""
    return DataError("wrong-type", f"{call} takes {expected}, not {class_name(value)}")


def whole_number(
    argument: str, value: object, *, least: int, most: int | None = None, code: str = "wrong-type"
) -> int:
    """A whole number within bounds."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if number >= least and (most is None or number <= most):
            return number
    upto = "" if most is None else f" to {most}"
    raise wrong(argument, value, f"a whole number from {least}{upto}", code)


def limit(argument: str, value: object, *, least: int = 0) -> int | None:
    """A whole number, or `None` for no limit."""
    return None if value is None else whole_number(argument, value, least=least)


def seconds(argument: str, value: object) -> float:
    """A finite number of seconds."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = value.item() if isinstance(value, np.generic) else value
        try:
            if math.isfinite(number):
                return number
        except OverflowError:
            pass
    raise DataError("wrong-type", f"{show(value)} is not a time", hint=f"{argument} takes seconds, a number")


def flag(argument: str, value: object, code: str = "wrong-type") -> bool:
    """True or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong(argument, value, "True or False", code)
    return bool(value)


def text(argument: str, value: object) -> str:
    """A text that can be written down: half of a surrogate pair cannot."""
    if not isinstance(value, str):
        raise DataError("wrong-type", f"{argument} takes a text, not {class_name(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong(argument, value, "valid Unicode: this has half of a surrogate pair") from None
    return value


def name(argument: str, value: object) -> str:
    """A text that is not empty, and has no character that files and messages cannot show."""
    if not text(argument, value) or "\0" in str(value):
        raise wrong(argument, value, "a name: a text that is not empty, without NUL")
    return str(value)


def identifier(argument: str, value: object) -> str:
    """What can name a relation or a function in a text."""
    if not name(argument, value).isidentifier():
        raise wrong(argument, value, "a name: letters, digits and _, and no digit first")
    return str(value)


def relation_name(value: object) -> str:
    """What may be asked for in a catalog; whether it is there is another question."""
    if not isinstance(value, str):
        raise UnknownRelation(
            "unknown-relation", f"{show(value)} is not the name of a relation", hint="names are strings"
        )
    return str(value)


def one_of(option: str, value: object, allowed: Iterable[str], code: str = "unknown-option") -> str:
    """One of the values that an option can have."""
    choices = tuple(allowed)
    if not isinstance(value, str) or value not in choices:
        meant = did_you_mean(value, choices) if isinstance(value, str) else None
        hint = f"one of {', '.join(choices)}" if meant is None else f"{meant} One of {', '.join(choices)}"
        raise DataError(code, f"no {option} {show(value)}", hint=hint)
    return str(value)


def mapping(argument: str, value: object, expected: str) -> dict[str, Any]:
    """A mapping with texts as keys; empty for `None`."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DataError(
            "wrong-type",
            f"{argument} takes a mapping, not {class_name(value)}",
            hint=f"{argument}={expected}",
        )
    return {name(f"a key of {argument}", key): value[key] for key in value}


def folder(argument: str, value: object) -> Path:
    """The path of a folder, absolute. Whether it is there, and what it holds, is another question."""
    if not isinstance(value, (str, os.PathLike)):
        raise wrong(argument, value, "a path, as a text or a pathlib.Path")
    path = os.fspath(value)
    if not isinstance(path, str) or not path or "\0" in path:
        raise wrong(argument, value, "a path: a text that is not empty, without NUL")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise wrong(argument, value, "a path that this system can write down") from None
    return Path(path).absolute()


def answer(what: str, function: Callable[..., Result], *arguments: object) -> Result:
    """What a user's function gives; what it raises, other than our errors, as one of ours."""
    try:
        return function(*arguments)
    except HeadwaterError:
        raise
    except Exception as error:
        raise EvaluationError("function-failed", f"{what} failed: {type(error).__name__}: {error}") from error
