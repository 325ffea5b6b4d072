"""A database in one line: where it is kept, the last version, and what is defined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.database.standing import Standing
from headwater.version.guard import Guard

MOST_NAMED = 8
"""Relations of a kind that the line names."""


def summary(path: Path | None, standing: Standing, guard: Guard) -> str:
    """The line. It reads no rows and waits for nobody."""
    where = "in memory" if path is None else f"in {path}"
    if guard.closed:
        return f"<headwater.Database {where}, closed>"
    infos = [standing.catalog.info(name) for name in standing.catalog.relations]
    defined = "; ".join(
        f"{kind} {_names(names)}"
        for kind, names in (
            ("base", [info.name for info in infos if info.base]),
            ("views", [info.name for info in infos if not info.base]),
        )
        if names
    )
    return f"<headwater.Database {where}, version {standing.number}: {defined or 'nothing defined'}>"


def _names(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
