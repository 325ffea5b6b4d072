"""Where an answer goes: into this process, as an Arrow table, or nowhere: it stays with Spark, as a DataFrame.

An answer that stays was computed (else nobody could say what it cost), but none of its rows has come to the driver:
they are blocks of Spark's, spilled to disk where memory ends, and go with the DataFrame. Reading it again computes
nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headwater.language.sql.algebra import Operator
from headwater.sketch.capture import Accesses, CapturePlan, capture_plan
from headwater.sketch.captured import CapturedAnswer, captured, slots_of
from headwater.sketch.sketch import Sketch, SketchPart, Slot
from headwater.sketch.tables.backend import Backend
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.spark.frames import arrow_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class AnswerDestination(Protocol):
    """Runs the plans of answers."""

    def rows(
        self, plan: Operator, versions: Mapping[str, int], sketch: Sketch | None = None
    ) -> pa.Table | DataFrame:
        """The rows of a plan at some versions. `sketch`: files that it does not need may be left out."""
        ...

    def captured(self, plan: Operator, accesses: Accesses, versions: Mapping[str, int]) -> CapturedAnswer:
        """The rows of a plan with the sketch that they rest on, by one job."""
        ...


@dataclass(frozen=True)
class CollectedAnswers:
    """Answers as Arrow tables."""

    backend: Backend

    def rows(self, plan: Operator, versions: Mapping[str, int], sketch: Sketch | None = None) -> pa.Table:
        if isinstance(self.backend, SparkBackend):
            return self.backend.collected(plan, versions=versions, sketch=sketch)
        return self.backend.run(plan, versions=versions)

    def captured(self, plan: Operator, accesses: Accesses, versions: Mapping[str, int]) -> CapturedAnswer:
        return captured(self.backend, plan, accesses, versions)


@dataclass(frozen=True)
class StayingAnswers:
    """Answers as DataFrames that are computed and not collected."""

    backend: SparkBackend

    def rows(self, plan: Operator, versions: Mapping[str, int], sketch: Sketch | None = None) -> DataFrame:
        with self.backend.working("a plan"):
            return self.backend.frame(plan, versions=versions, sketch=sketch).localCheckpoint(eager=True)

    def captured(self, plan: Operator, accesses: Accesses, versions: Mapping[str, int]) -> CapturedAnswer:
        instrumented, slots = capture_plan(plan, accesses), slots_of(plan, accesses)
        with self.backend.working("a plan"):
            frame = self.backend.frame(instrumented.plan, versions=versions, fragments=slots)
            names = frame.columns
            own = len(names) - len(instrumented.carried)
            computed = frame.toDF(*[f"c{place}" for place in range(len(names))]).localCheckpoint(eager=True)
            named = self._fragments(computed, instrumented, own)
            answer = computed.select(*computed.columns[:own]).toDF(*names[:own])
        parts = (SketchPart(slot.table, ranges, frozenset(named[slot])) for slot, ranges in slots.items())
        return CapturedAnswer(answer, Sketch(tuple(parts), dict(versions)))

    @staticmethod
    def _fragments(frame: DataFrame, instrumented: CapturePlan, own: int) -> dict[Slot, set[int]]:
        """The fragments that the columns after the query's own name, each once."""
        from pyspark.sql import functions as F

        named: dict[Slot, set[int]] = {one.slot: set() for one in instrumented.carried}
        for place, one in enumerate(instrumented.carried, start=own):
            column = frame.select(f"c{place}")
            if one.is_set:
                column = column.select(F.explode(f"c{place}").alias(f"c{place}"))
            found = arrow_of(column.distinct())
            named[one.slot] |= {int(each) for each in found.column(0).to_pylist() if each is not None}
        return named
