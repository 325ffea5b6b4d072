"""A value that its column cannot hold, and words for it."""

from __future__ import annotations


class Misfit(Exception):  # noqa: N818
    """A value that its column cannot hold; callers turn it into an error that names the column and row."""

    def __init__(self, reason: str, *, code: str = "wrong-type", hint: str | None = None, row: int = 0):
        """Say what is wrong with the value, and at which row (from 0) of its column it is."""
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.hint = hint
        self.row = row


def show(value: object) -> str:
    """A value for an error message, cut where it is long.

    >>> show("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    try:
        text = repr(value)
    except Exception:  # too deep, too many digits, or a class that cannot show itself
        text = f"<{class_name(value)} that cannot be shown>"
    return text if len(text) <= 60 else text[:57] + "..."


def class_name(value: object) -> str:
    """What a value is in Python, with its article: `an int`."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def wrong(value: object, hint: str | None = None) -> Misfit:
    """A value of another class than its column's type needs."""
    return Misfit(f"{show(value)} is {class_name(value)}", hint=hint)
