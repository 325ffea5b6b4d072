"""What users of Spark do for recursion: a loop of DataFrame joins, until a round brings nothing new."""

from __future__ import annotations

from typing import Any

from benchmarks.graphs import Edge


def edges_frame(spark: Any, edges: list[Edge]) -> Any:
    """The edges as a DataFrame that is held in memory."""
    import pandas as pd

    frame = spark.createDataFrame(pd.DataFrame(edges, columns=["a", "b"])).cache()
    frame.count()
    return frame


def closure(edges: Any) -> tuple[Any, int]:
    """The closure, semi-naive: each round joins the last round's news with the edges; and the number of rounds.

    Plans are cut off after each round by `localCheckpoint`, or they would grow without end.
    """
    reach = edges.select("a", "b").distinct().localCheckpoint()
    news, rounds = reach, 0
    while news.count() > 0:
        rounds += 1
        step = edges.withColumnRenamed("b", "z").join(
            news.withColumnRenamed("a", "z").withColumnRenamed("b", "c"), "z"
        )
        found = step.selectExpr("a", "c AS b").distinct()
        news = found.join(reach, ["a", "b"], "left_anti").localCheckpoint()
        reach = reach.union(news).localCheckpoint()
    return reach, rounds
