"""Opening other databases; what they refuse, in one line and without passwords."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headwater.errors import HeadwaterError, MissingExtra, PipelineError
from headwater.loading import loaded_whole

if TYPE_CHECKING:
    from sqlalchemy import Engine


def open_engine(url: str, refusal: type[HeadwaterError] = PipelineError) -> Engine:
    """A SQLAlchemy engine; errors never show a password. Nothing is connected yet.

    Ctrl-C waits: what was imported by half stays so, and DuckDB's dialect makes another error of it.
    """
    with loaded_whole():
        return _opened(url, refusal)


def _opened(url: str, refusal: type[HeadwaterError]) -> Engine:
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingExtra(
            "missing-extra", "SQLAlchemy is not installed", hint="pip install 'headwater[sql]'"
        ) from error
    try:
        return sqlalchemy.create_engine(url)
    except (sqlalchemy.exc.ArgumentError, ImportError) as error:
        raise refusal(
            "bad-source",
            f"{without_password(url)}: {error}",
            hint="an address is like postgresql://user@host/database",
        ) from error


def without_password(url: str) -> str:
    """An address as it may be shown.

    >>> without_password("postgresql://ann:secret@host/db")
    'postgresql://...@host/db'
    """
    return re.sub(r"//[^@/]*@", "//...@", url)


def said_by(error: Exception) -> str:
    """The first line of what a database says; SQLAlchemy's own lines about it come after."""
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]
