"""One root error for everything a user can get wrong.

Each error has a `code` that scripts can match on, a message that says what was expected, where known the
`Place` in the user's text, and a hint that says what to do instead. An error of any other class that reaches
a user is a bug in Headwater.

>>> place = Place("reach.dl", 1, 7, 1, "reach(X, Y) :- link(X, Z).")
>>> print(RuleError("unsafe-variable", "Y is not bound by the body", place=place, hint="use Y in a premise"))
error[unsafe-variable]: Y is not bound by the body
 --> reach.dl:1:7
  |
1 | reach(X, Y) :- link(X, Z).
  |       ^
  = hint: use Y in a premise
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_SHOWN = 400
"""Characters of a line that an error shows."""
MOST_SAID = 4000
"""Characters of a message or a hint that are shown: they may name what users gave, however long."""


@dataclass(frozen=True)
class Place:
    """A stretch of the user's text: file (or `<text>`), line and column counted from 1, and that line."""

    source: str
    line: int
    column: int
    length: int
    text: str

    def underline(self) -> str:
        """Show the line (of a long one what is near) with the stretch underlined, headed by its place."""
        margin = " " * len(str(self.line))
        first = max(0, self.column - 1 - MOST_SHOWN // 2) if len(self.text) > MOST_SHOWN else 0
        text = self.text[first : first + MOST_SHOWN]
        before = self.column - 1 - first
        pad = "".join("\t" if c == "\t" else " " for c in text[:before])
        marks = "^" * max(1, min(self.length, len(text) - before))
        return (
            f"{margin}--> {self.source}:{self.line}:{self.column}\n"
            f"{margin} |\n{self.line} | {text}\n{margin} | {pad}{marks}"
        )


class Notice(Exception):  # noqa: N818
    """What errors and warnings have: a code, a message, and where known the place in the user's text and a hint."""

    kind = "notice"

    def __init__(self, code: str, message: str, *, place: Place | None = None, hint: str | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        parts = [f"{self.kind}[{self.code}]: {_cut(self.message)}"]
        margin = " "
        if self.place is not None:
            parts.append(self.place.underline())
            margin = " " * len(str(self.place.line))
        if self.hint is not None:
            parts.append(f"{margin} = hint: {_cut(self.hint)}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.message, self.place, self.hint)


def _cut(text: str) -> str:
    """A text without its middle if it is too long."""
    if len(text) <= MOST_SAID:
        return text
    return f"{text[: MOST_SAID // 2]} ... {text[-MOST_SAID // 2 :]}"


def _rebuild(kind: type[Notice], code: str, message: str, place: Place | None, hint: str | None) -> Notice:
    return kind(code, message, place=place, hint=hint)


class HeadwaterError(Notice):
    """The root of all errors."""

    kind = "error"


class HeadwaterWarning(Notice, UserWarning):
    """Something that is accepted and most likely not meant; see Python's `warnings`."""

    kind = "warning"


class LanguageError(HeadwaterError):
    """The text is not in the language: a character or word where another was expected."""


class SqlError(HeadwaterError):
    """A SQL text is refused: it does not parse, names what is not there, or says what plans cannot."""


class RuleError(HeadwaterError):
    """The text reads well but its rules are refused: unsafe, unstratified, ill-typed, of wrong arity."""


class DataError(HeadwaterError):
    """Rows do not fit: unknown relation, wrong number of columns, wrong type, an unreadable file."""


class UnknownRelation(DataError, KeyError):
    """There is no relation of that name. (Also a `KeyError`: databases and changes are asked like dicts.)"""


class EvaluationError(HeadwaterError):
    """Rules went wrong while running: overflow, division by zero, a user function that failed, no fixpoint."""


class OutOfMemory(HeadwaterError, MemoryError):
    """Something would take more memory than the budget allows or the system has; what it is, and the sizes.

    (Also a `MemoryError`, for those who handle that.)
    """


class StoreError(HeadwaterError):
    """The durable state cannot be read or written: locked, damaged, a newer format, a full disk."""


class DatabaseError(HeadwaterError):
    """The database cannot be used: another thread is inside, it calls itself, or a version could not be undone."""


class SparkError(HeadwaterError):
    """Spark refused or failed: no session, a query that cannot be analysed, data that cannot be read."""


class PipelineError(HeadwaterError):
    """A pipeline is described wrongly, or a source or a sink is not what it was."""


class ExchangeError(HeadwaterError):
    """Peers cannot exchange updates: a wrong description, a damaged log, a policy that cannot be kept."""


class SketchError(HeadwaterError):
    """A sketch cannot be made, used or kept: no such table, a version that is gone, a damaged state."""


class MissingExtra(HeadwaterError):
    """An optional library is needed and not installed; the hint says how to install it."""
