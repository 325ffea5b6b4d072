"""The fields of sources and sinks, checked when one is made: a name means the same in all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from headwater.errors import DataError, PipelineError
from headwater.files.missing import on_null
from headwater.values.arguments import flag, name
from headwater.values.scalars import show


def _text(what: str, value: object) -> str:
    return name(what, value)


def _path(what: str, value: object) -> str:
    return name(what, os.fspath(value) if isinstance(value, os.PathLike) else value)


def _texts(what: str, value: object) -> object:
    if not isinstance(value, Mapping) or not all(
        isinstance(part, str) for item in value.items() for part in item
    ):
        raise PipelineError("wrong-type", f"{what} is {show(value)}", hint="a mapping of texts to texts")
    return value


def _frame(what: str, value: object) -> object:
    if not callable(value) and not hasattr(value, "select"):
        raise PipelineError(
            "wrong-type", f"{what} is {show(value)}", hint="a Spark DataFrame, or a function that gives one"
        )
    return value


def _call(what: str, value: object) -> object:
    if not callable(value):
        raise PipelineError("wrong-type", f"{what} is {show(value)}", hint="a function")
    return value


def _on_null(what: str, value: object) -> str:
    way = on_null(value, what)
    return way.path or way.how


def _nan(what: str, value: object) -> str:
    if not isinstance(value, str) or value not in ("value", "null"):
        raise PipelineError("unknown-option", f"{what} is {show(value)}", hint="one of value, null")
    return value


CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "relation": _text, "view": _text, "name": _text, "table": _text, "query": _text, "url": _text,
    "format": _text, "mode": _text, "where": _text, "path": _path, "checkpoint": _path,
    "columns": _texts, "options": _texts, "frame": _frame, "call": _call, "newest": _call,
    "on_null": _on_null, "nan": _nan, "header": flag,
}  # fmt: skip


def check_fields(part: Any, *, others: tuple[str, ...] = ()) -> None:
    """Refuse a source or a sink with a field of the wrong type; `others` are checked by itself.

    Paths may be given as `pathlib.Path`, and are texts afterwards.
    """
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in others or (field.default is not MISSING and value is field.default):
            continue
        try:
            checked = CHECKS[field.name](f"{field.name} of {type(part).__name__}", value)
        except DataError as error:
            raise PipelineError(error.code, error.message, hint=error.hint) from None
        object.__setattr__(part, field.name, checked)


def checked_text(what: str, value: object) -> str:
    """A text or a path that a function of this package was given."""
    try:
        return _path(what, value)
    except DataError as error:
        raise PipelineError(error.code, error.message, hint=error.hint) from None
