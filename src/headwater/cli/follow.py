"""A state that follows its files: run again, it takes only what has changed in them.

After a run, a base relation that has a file holds the rows of the file and those that the program states,
and no others, whatever it held before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headwater.cli.state import has_state, open_state, stated
from headwater.database import Database
from headwater.errors import DataError
from headwater.files.contents import Contents


def reopened(state: Path, text: str, options: Mapping[str, Any]) -> Database | None:
    """The state in the folder, if it has one already; it must be one of this program."""
    if not has_state(state):
        return None
    database = open_state(state, **options)
    if database.version and text in (known for known, _ in database.texts):
        return database
    version = database.version
    database.close()
    if version == 0:
        return None
    raise DataError(
        "other-program",
        f"{state} holds another program",
        hint=f"add rules with `headwater define -s {state}`, or give a new folder",
    )


def stale(database: Database, contents: Sequence[Contents], rows: Mapping[str, Any]) -> dict[str, Any]:
    """The rows that are stored but no longer in the files, by relation."""
    found = {}
    facts = stated(database)
    for relation in dict.fromkeys(one.relation for one in contents):
        name = database.program.facades.get(relation, relation)
        info = database.program.relations[name]
        stored = database.engine.workspace.relations[name].matrix()
        if stored.shape[0] == 0:
            continue
        keep: set[bytes] = set()
        for given in (rows.get(relation, []), facts.get(name, ())):
            if len(given):
                codes = database.codec.to_matrix(given, info.types, relation, info.columns)
                keep.update(row.tobytes() for row in np.ascontiguousarray(codes))
        gone = stored[[row.tobytes() not in keep for row in np.ascontiguousarray(stored)]]
        if gone.shape[0]:
            found[relation] = (
                database.codec.to_table(np.ascontiguousarray(gone), info.columns, info.types)
                if info.columns
                else [()]
            )
    return found
