"""The rows that a definition begins with: those that its text states, and those of base relations that it renames or
gives other columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from headwater.catalog import Catalog
from headwater.catalog.column_edits import ColumnEdit, column_edits
from headwater.catalog.edits import origins
from headwater.errors import DataError
from headwater.local.runner import Runner
from headwater.plan.steps import Ints
from headwater.rules.checked import RelationInfo
from headwater.values.codec import Codec
from headwater.values.layout import Layout
from headwater.version.row_change import without


@dataclass(frozen=True)
class DefinedRows:
    """From one catalog to the next, whose last text is new; the rows are still those of before."""

    codec: Codec
    runner: Runner
    before: Catalog
    after: Catalog

    def changes(self, inserts: Mapping[str, Ints], *, whole: bool) -> tuple[dict[str, Ints], dict[str, Ints]]:
        """Rows to insert, with these, and rows to delete. Of a `whole` definition, facts that were stated before are
        not stated again, and those that are stated no more go."""
        rows, facts, deletes = self._carried(), self._facts(), dict[str, Ints]()
        if whole:
            stated = self._stated_before()
            deletes = {
                name: without(old, facts[name]) if name in facts else old for name, old in stated.items()
            }
            facts = {
                name: without(new, stated[name]) if name in stated else new for name, new in facts.items()
            }
        for name, more in (*facts.items(), *inserts.items()):
            rows[name] = np.concatenate([rows[name], more]) if name in rows else more
        return rows, deletes

    # ------------------------------------------------------------------ stated

    def _facts(self) -> dict[str, Ints]:
        """The rows that the last text states."""
        infos = self.after.program.relations
        return {
            name: infos[name].layout.encode(self.codec, rows, name)
            for name, rows in self.after.program.facts.items()
        }

    def _stated_before(self) -> dict[str, Ints]:
        """The rows that earlier texts state of base relations which go on."""
        found, old, new = {}, self.before.program, self.after.program
        for name, rows in self.before.stated().items():
            before = old.relations.get(old.facades.get(name, name))
            info = new.relations.get(new.facades.get(name, name))
            if before is not None and info is not None and info.base and before.types == info.types:
                found[info.name] = info.layout.encode(self.codec, rows, name)
        return found

    # ------------------------------------------------------------------ carried along

    def _carried(self) -> dict[str, Ints]:
        """The rows of base relations that the last text renames, for those that take their place; and of those that
        it gives other columns, as they are with these."""
        return {**dict(self._renamed()), **self._recolumned()}

    def _renamed(self) -> Iterator[tuple[str, Ints]]:
        old = self.before.program
        for new, name in origins(self.after.definitions.programs[-1]).items():
            info = old.relations[old.facades.get(name, name)]
            _refuse_bounded(info, f"{name} cannot be renamed")
            if info.base and self.runner.stored(info.name):
                yield self.after.program.facades.get(new, new), self.runner.matrix(info.name)

    def _recolumned(self) -> dict[str, Ints]:
        rows: dict[str, Ints] = {}
        for edit in column_edits(self.after.definitions.programs[-1], self.before.definitions.current):
            name = edit.relation
            _refuse_bounded(self.before.program.relations[name], f"{name} cannot have other columns")
            if name in rows or self.runner.stored(name):
                before = rows[name] if name in rows else self.runner.matrix(name)
                rows[name] = self._with_column(edit, before, self.after.program.relations[name])
        return {name: np.unique(found, axis=0) for name, found in rows.items()}

    def _with_column(self, edit: ColumnEdit, rows: Ints, info: RelationInfo) -> Ints:
        """Rows with the default in a column more, or without one."""
        if not edit.added:
            return np.delete(rows, edit.place, axis=1)
        value = None if edit.default is None else edit.default.value
        layout = Layout(
            (edit.column.name,), (info.types[edit.place],), (bool(edit.column.nullable),), (False,)
        )
        code = layout.encode(self.codec, [(value,)], edit.relation)
        return np.column_stack([rows, np.full(rows.shape[0], code[0, 0])])


def _refuse_bounded(info: RelationInfo, what: str) -> None:
    """Refuse to move rows that have a lifetime, or of which only some are kept: when they came is not among them."""
    if info.lifetime is not None or info.size is not None:
        raise DataError(
            "unsupported",
            f"{what}: its rows have a lifetime, or their number a bound",
            hint="define another relation and insert the rows there",
        )
