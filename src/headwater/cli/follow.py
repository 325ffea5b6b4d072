"""A state that follows its files: run again, it takes only what has changed in them.

After a run, a base relation that has a file holds the rows of the file and those that the program states,
and no others, whatever it held before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headwater.cli.state import has_state, open_state, stated
from headwater.database import Database
from headwater.errors import DataError
from headwater.files.contents import Contents
from headwater.rules.checked import RelationInfo


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


def differences(
    database: Database, contents: Sequence[Contents], rows: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the files' rows, those that are not stored; and the stored rows that are in no file."""
    insert, delete = dict(rows), {}
    facts = stated(database)
    for relation in dict.fromkeys(one.relation for one in contents):
        name = database.program.facades.get(relation, relation)
        info = database.program.relations[name]
        stored = database.runner.matrix(name)
        if stored.shape[0] == 0:
            continue
        given = _codes(database, info, relation, rows.get(relation, []))
        kept = _keys(given) + _keys(_codes(database, info, relation, facts.get(name, ())))
        gone = _missing(_keys(stored), kept)
        if gone.any():
            left = np.ascontiguousarray(stored[gone])
            delete[relation] = info.layout.table(database.codec, left) if info.columns else [()]
        if relation in insert and info.columns and not _order_matters(info):
            new = _missing(_keys(given), _keys(stored))
            insert[relation] = insert[relation].filter(new) if new.any() else []
    return {name: table for name, table in insert.items() if len(table)}, delete


def _order_matters(info: RelationInfo) -> bool:
    """Whether inserting a row that is there does something: among equal keys the last row is kept, and a
    lifetime begins anew."""
    return info.key is not None or info.lifetime is not None or info.size is not None


def _codes(database: Database, info: RelationInfo, relation: str, rows: Any) -> Any:
    if len(rows) == 0:
        return info.layout.empty()
    # Only compared here: whether a column takes nulls is asked when rows are applied.
    any_nulls = replace(info.layout, nullable=(True,) * info.arity)
    return any_nulls.encode(database.codec, rows, relation)


def _keys(codes: Any) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(codes)]


def _missing(keys: Sequence[bytes], among: Sequence[bytes]) -> Any:
    """Which of the keys are not among the others."""
    present = set(among)
    return np.fromiter((key not in present for key in keys), dtype=bool, count=len(keys))
