"""Why rows are there or not, what would change, what depends on a row: thin doors to `provenance`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from headwater.annotations.protocol import AnyAnnotation
from headwater.changes import Changes, EmptyChanges
from headwater.database.rows import by_relation, given_rows
from headwater.database.versions import Versions
from headwater.maintain.statistics import VersionStatistics
from headwater.provenance import depends, evaluation, why_not
from headwater.provenance.values import Given
from headwater.provenance.why import LIMIT, Why, why
from headwater.values import arguments
from headwater.version.guard import changes as changing
from headwater.version.guard import reads


class Questions(Versions):
    """A database that can be asked."""

    @reads
    def why(self, relation: str, row: Any, *, depth: int | None = None, limit: int | None = LIMIT) -> Why:
        """Why a row is there: all derivations (at most `limit`, `depth` levels deep), proof, minimal explanations."""
        depth, limit = arguments.limit("depth", depth), arguments.limit("limit", limit)
        return why(self._whole, relation, row, depth=depth, limit=limit)

    @changing
    def why_not(
        self, relation: str, row: Any, *, depth: int = why_not.DEPTH, repairs: int = why_not.REPAIRS
    ) -> why_not.WhyNot:
        """Why a row is not there: what each rule lacks, `depth` levels deep; and the smallest repairs found."""
        depth = arguments.whole_number("depth", depth, least=0)
        repairs = arguments.whole_number("repairs", repairs, least=0)
        return why_not.why_not(
            self._whole, relation, row, depth=depth, repairs=repairs, suppose=self._suppose
        )

    def what_if(
        self, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None
    ) -> Changes:
        """What `apply` would do, without doing it: worked out, then taken back. No version, nothing in the log."""
        return self._what_if(given_rows("insert", insert), by_relation("delete", delete))

    @changing
    def _what_if(self, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> Changes:
        return self._suppose(insert, delete)

    def _suppose(
        self, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None
    ) -> Changes:
        """As `what_if`, for questions that are inside already."""
        with self.runner.interrupts:
            return self._tried(insert or {}, delete or {})

    def _tried(self, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> Changes:
        now = max(self.now, time.time()) if self.clock == "real" else self.now
        started = time.perf_counter()
        statistics = VersionStatistics(self.version)
        before = self._catalog
        try:
            self._learn(insert)
            deletes = self._find(delete, statistics)
            inserts = self._encode(self._catalog, insert)
            changes = self.runner.change(deletes, inserts, now, statistics)
            for change in changes.values():
                change.resolve()
            supposed = self._shown(changes)
        finally:
            self._rollback()
            self._catalog = before
        statistics.seconds = time.perf_counter() - started
        return Changes(self.version, supposed, EmptyChanges(self), statistics)

    @changing
    def depends(self, relation: str, row: Any, *, limit: int | None = depends.LIMIT) -> depends.Depends:
        """What would fall with a row, what else uses it (at most `limit` rows), and what it derives alone."""
        limit = arguments.limit("limit", limit)
        return depends.depends(self._whole, relation, row, limit=limit, suppose=self._suppose)

    @reads
    def evaluate(
        self,
        view: str,
        annotation: str | AnyAnnotation,
        base: Given = None,
        *,
        rules: Mapping[str, object] | None = None,
        limit: int | None = evaluation.LIMIT,
    ) -> evaluation.Evaluation:
        """What the rows of a view carry in an annotation, kept right while rows and values change."""
        limit = arguments.limit("limit", limit)
        found = evaluation.Evaluation(self._whole, view, annotation, base, rules, limit)
        self._followers[id(found)] = found
        return found
