"""A state at rest: every row is in its last checkpoint, so that rows are read without the rules, or an engine.

A checkpoint has a directory of its relations for that. A state is not at rest if versions came after the checkpoint,
if nodes wrote it in parts, or if some rows are not what a table says: a view that is not stored, labelled nulls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.local.table_names import RANKS, ROWS, VISIBLE, TableName
from headwater.store import Store
from headwater.store.folder import Folder
from headwater.values.arrow_calls import rows_where

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.kernel.relation import Relation
    from headwater.language.program import ActiveRule
    from headwater.rules.checked import RelationInfo

DIRECTORY = "relations"
"""Where the metadata of a checkpoint have the directory."""
ACTIVE = "active"
"""Where they have the active rules, for those who only look."""
UNCHANGED = ("int", "float", "string", "bool", "date", "timestamp")
"""Types whose values a table shows as they are."""


Listed = tuple[str, str, str, int | None, int]
"""A relation in a list: name, kind, columns with types, rows (`None` if it is virtual), bytes in memory."""


@dataclass(frozen=True)
class AtRest:
    """A relation of a state at rest."""

    name: str
    kind: str
    columns: tuple[str, ...]
    types: tuple[str | None, ...]
    rows: int
    nbytes: int
    table: pa.Table | None = None
    """Its table in the checkpoint, if that was asked for and there are rows."""

    def __len__(self) -> int:
        return self.rows

    @property
    def listed(self) -> Listed:
        """The relation in a list of all."""
        shape = ", ".join(
            f"{column}: {type or '?'}" for column, type in zip(self.columns, self.types, strict=True)
        )
        return self.name, self.kind, shape, self.rows, self.nbytes

    def arrow(self, *, labels: bool = False) -> pa.Table:
        """The rows that are visible. There are no labelled nulls among them."""
        import pyarrow as pa

        if self.table is None:
            return pa.table({column: pa.nulls(0) for column in self.columns})
        shown = rows_where(self.table, self.table.column(VISIBLE)).select(range(len(self.columns)))
        return shown.rename_columns(list(self.columns))


def directory(
    infos: Mapping[str, RelationInfo], relations: Mapping[str, Relation]
) -> dict[str, list[dict[str, Any]]]:
    """What a checkpoint says of its relations; nothing if one of them cannot be read without the rules."""
    told = []
    for name, info in infos.items():
        if info.internal:
            continue
        types = [None if type is None else str(type) for type in info.types]
        if info.kind.value not in ("base", "stored") or not {*types, None} <= {*UNCHANGED, None}:
            return {}
        relation = relations[name]
        told.append(
            {
                "name": name,
                "kind": "base" if info.base else "view",
                "columns": list(info.columns),
                "types": types,
                "rows": relation.visible,
                "nbytes": relation.nbytes,
            }
        )
    return {DIRECTORY: told}


def told_active(rules: Iterable[ActiveRule]) -> tuple[tuple[str, str], ...]:
    """What a checkpoint says of active rules: their ids and texts."""
    return tuple((str(rule.id), rule.text) for rule in rules)


def active_line(id: str, text: str) -> str:
    """An active rule in a line; its id is said once, also if it is its label."""
    return f"active rule {text}" if text.startswith(f"{id}:") else f"active rule {id}: {text}"


def state_at_rest(
    path: Path, asked: str | None
) -> tuple[int, dict[str, AtRest], tuple[tuple[str, str], ...]] | None:
    """The version of the state in a folder, its relations, that which is `asked` for with its rows, and its active
    rules.

    `None` if the state is not at rest.
    """
    if Folder(path).manifest() is None:
        return None
    with Store.open(path, mode="r") as store:
        checkpoint = store.checkpoint
        if checkpoint is None or store.version != checkpoint.version or DIRECTORY not in checkpoint.meta:
            return None
        told: Any = checkpoint.meta[DIRECTORY]
        found = {one["name"]: _relation(one) for one in told}
        if asked is not None and asked in found:
            table = checkpoint.tables.get(str(TableName(ROWS, asked)))
            if table is not None and _says_more(table, found[asked].columns):
                return None
            found[asked] = replace(found[asked], table=table)
        active: Any = checkpoint.meta.get(ACTIVE, ())
        return checkpoint.version, found, tuple((id, text) for id, text in active)


def _relation(told: Mapping[str, Any]) -> AtRest:
    columns, types = tuple(told["columns"]), tuple(told["types"])
    return AtRest(told["name"], told["kind"], columns, types, told["rows"], told["nbytes"])


def _says_more(table: pa.Table, columns: tuple[str, ...]) -> bool:
    """Whether a table has columns that say more of its values."""
    return sum(name not in (*RANKS, VISIBLE) for name in table.column_names) != len(columns)
