"""Plans as Spark understands them, kept for when they are run again.

A plan is kept with the DataFrames that it reads and under the settings that the session had. Where it reads little
of one table it is run by one task (`one_task`), and when the table has other files that plan is taken over for them.
Nothing that a plan has computed is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.language.sql.algebra import Operator
from headwater.language.sql.render import render
from headwater.sketch.tables.file_frames import settings_of
from headwater.sketch.tables.one_task import OneTaskPlan, in_one_task
from headwater.sketch.tables.remembered import keep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_ANALYSED = 32
"""So many plans over some files are kept."""


@dataclass(frozen=True, eq=False)
class AnalysedPlan:
    """A plan as Spark understands it, over DataFrames that are kept with it, so that no others get their ids."""

    columns: tuple[str, ...]
    sources: tuple[DataFrame, ...]
    frame: DataFrame | None
    """To be planned each time: run itself, it would keep what it shuffled. `None` where `one_task` was taken over."""
    one_task: OneTaskPlan | None

    @property
    def numbered(self) -> DataFrame:
        """Its rows, in columns with names of their own."""
        if self.one_task is not None:
            return self.one_task.frame
        assert self.frame is not None
        return _in_numbered_columns(self.frame)


class AnalysedPlans:
    """The plans of a session that were made last."""

    def __init__(self, session: SparkSession):
        self.session = session
        self._names = itertools.count()
        self._made: dict[tuple[Operator, str, tuple[tuple[str, int], ...]], AnalysedPlan] = {}
        self._lately: dict[tuple[Operator, str], AnalysedPlan] = {}
        """Of each plan that is run by one task the last one, whatever files it reads."""

    def __len__(self) -> int:
        return len(self._made)

    def analysed(
        self, plan: Operator, frames: Mapping[str, DataFrame], *, is_kept: bool, is_small: bool
    ) -> AnalysedPlan:
        """A plan over DataFrames, by the names of its tables. `is_small`: one task is soon done with it."""
        if not is_kept:
            return self._anew(plan, frames, is_small=is_small)
        settings = settings_of(self.session)
        key = (plan, settings, tuple(sorted((name, id(frame)) for name, frame in frames.items())))
        if key in self._made:
            return self._made[key]
        found = self._taken_over(self._lately.get((plan, settings)), frames) if is_small else None
        found = found or self._anew(plan, frames, is_small=is_small)
        keep(self._made, key, found, MOST_ANALYSED)
        if found.one_task is not None:
            keep(self._lately, (plan, settings), found, MOST_ANALYSED)
        return found

    def _taken_over(self, known: AnalysedPlan | None, frames: Mapping[str, DataFrame]) -> AnalysedPlan | None:
        """A plan of one table over other files of it."""
        if known is None or known.one_task is None:
            return None
        (source,) = frames.values()
        one_task = known.one_task.over(source)
        return None if one_task is None else replace(known, sources=(source,), frame=None, one_task=one_task)

    def _anew(self, plan: Operator, frames: Mapping[str, DataFrame], *, is_small: bool) -> AnalysedPlan:
        with self._views(frames) as sources:
            frame = self.session.sql(render(plan, "spark", sources))
        one_task = in_one_task(_in_numbered_columns(frame)) if is_small else None
        return AnalysedPlan(tuple(frame.columns), tuple(frames.values()), frame, one_task)

    @contextmanager
    def _views(self, frames: Mapping[str, DataFrame]) -> Iterator[dict[str, str]]:
        """The DataFrames as temporary views, while a text that names them is analysed."""
        sources = {}
        for name, frame in frames.items():
            sources[name] = f"headwater_table_{id(self)}_{next(self._names)}"
            frame.createOrReplaceTempView(sources[name])
        try:
            yield sources
        finally:
            for view in sources.values():
                self.session.catalog.dropTempView(view)


def _in_numbered_columns(frame: DataFrame) -> DataFrame:
    return frame.toDF(*[f"c{number}" for number in range(len(frame.columns))])
