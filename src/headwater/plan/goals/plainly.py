"""Errors of goals, with relations as users know them: `p`, where rules have `p@new^bf` or `from p^bf`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import EvaluationError, OutOfMemory

_OURS = re.compile(r"(?:\b(?:from|ask|gate) )?([^\s,@^]+)(?:@(?:old|new)(?:\^[bf]*'*)?|\^[bf]*'*)")
"""A relation in a state, or as it is called, or the values that it is asked for."""
_CHANGES = re.compile(r"(?<!\S)[+-]([^\W\d]\w*)(?:#\d+)?(?:[>/]\d*|[?!])(?![^\s,])")
"""Rows that come to a relation or leave it, by one of its rules or by all, or what these are asked about."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """Errors from in here name relations as users do."""
    try:
        yield
    except (EvaluationError, OutOfMemory) as error:
        error.message = plainly(error.message)
        error.args = (error.message,)
        raise


def plainly(message: str) -> str:
    """A message with the names that users know.

    >>> plainly("finding 3 rows of from p@new^bf would take 1 MB, while p^ff, q was derived")
    'finding 3 rows of p would take 1 MB, while p, q was derived'
    >>> plainly("finding 3 rows of +reach#2/1 would take 1 MB"), plainly("3 rows of -reach?")
    ('finding 3 rows of reach would take 1 MB', '3 rows of reach')
    """
    return _OURS.sub(r"\1", _CHANGES.sub(r"\1", message))
