"""A view, or its changes, as a Delta table, written by the `deltalake` wheel.

Each publication is one Delta commit, which carries the version as the transaction of an application (Delta's own
means for this): the identity of the subscription names the application. A version that is there is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.calls import public_class
from headwater.database.progress import Owed
from headwater.errors import PipelineError
from headwater.pipeline.delta import require_wheel
from headwater.pipeline.fields import check_fields
from headwater.pipeline.folders import stamped
from headwater.pipeline.shape import CHANGE_TYPE
from headwater.pipeline.sink import Publication, others, together


@public_class
@dataclass(frozen=True)
class DeltaSink:
    """`merge`: the rows, changed in place. `full`: the rows, overwritten. `feed`: the changes, appended."""

    view: str
    path: str
    mode: Literal["merge", "full", "feed"] = "merge"
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.mode not in ("merge", "full", "feed"):
            raise PipelineError("bad-sink", f"no mode {self.mode!r}", hint="one of merge, full, feed")
        object.__setattr__(self, "name", self.name or f"delta-{self.mode}:{self.path}")

    @property
    def rows(self) -> bool:
        """Only a table that is written anew does without the changes."""
        return self.mode != "full"

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """One commit for all versions that are not there yet."""
        deltalake = require_wheel()
        application = f"headwater-{to.identity}"
        there = deltalake.DeltaTable.is_deltatable(self.path)
        table = deltalake.DeltaTable(self.path) if there else None
        done = table.transaction_version(application) if table is not None else 0
        if done is None and self.mode != "full":
            raise others(self.path, "is a Delta table of somebody else")
        new = [one for one in owed if one.version > (done or 0)]
        if not new:
            return
        transaction = deltalake.Transaction(application, new[-1].version)
        commit = deltalake.CommitProperties(app_transactions=[transaction])
        if self.mode == "full":
            rows = to.database[to.view].arrow()
            deltalake.write_deltalake(self.path, rows, mode="overwrite", commit_properties=commit)
        elif self.mode == "feed":
            import pyarrow as pa

            every = pa.concat_tables(
                [stamped(one, version=True) for one in new], promote_options="permissive"
            )
            deltalake.write_deltalake(self.path, every, mode="append", commit_properties=commit)
        elif table is None:
            rows = together(new)
            rows = rows.filter(_is(rows, "insert")).drop_columns([CHANGE_TYPE])
            deltalake.write_deltalake(self.path, rows, commit_properties=commit)
        else:
            self._merge(table, together(new), to, commit)

    def _merge(self, table: Any, changes: Any, to: Publication, commit: Any) -> None:
        """Delete and insert rows; `=` where nothing is null, since files can be left out by it."""
        columns, nullable = to.columns, to.nullable
        equal = " AND ".join(
            f'(t."{column}" {"IS NOT DISTINCT FROM" if column in nullable else "="} s."{column}")'
            for column in columns
        )
        merger = table.merge(
            changes, equal, source_alias="s", target_alias="t", commit_properties=commit
        ).when_matched_delete(predicate=f"s.\"{CHANGE_TYPE}\" = 'delete'")
        values = {f'"{column}"': f's."{column}"' for column in columns}
        merger.when_not_matched_insert(values, predicate=f"s.\"{CHANGE_TYPE}\" = 'insert'").execute()


def _is(table: Any, kind: str) -> Any:
    import pyarrow.compute as pc

    return pc.equal(table.column(CHANGE_TYPE), kind)
