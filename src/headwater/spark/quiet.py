"""Traces of Java stay out of the terminal: our errors say what they are about. HEADWATER_DEBUG=1 shows them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("py4j", "SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of PySpark that say what exceptions say too, each in a line with a whole trace in it."""


def debugging() -> bool:
    """Whether somebody wants to see all."""
    return os.environ.get("HEADWATER_DEBUG", "") not in ("", "0")


def silence() -> None:
    """Let PySpark's loggers be heard no more, in a session that was made here."""
    if not debugging():
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def unheard() -> Iterator[None]:
    """Keep PySpark's loggers quiet meanwhile, in anybody's session."""
    if debugging():
        yield
        return
    before = {name: logging.getLogger(name).level for name in LOGGERS}
    try:
        silence()
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
