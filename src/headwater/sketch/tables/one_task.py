"""A query that reads little, in one task: no shuffle, and planned once however often it is run.

Spark answers a query with groups by two jobs with a shuffle between them, and plans it anew each time: some 50 ms
before any row is read, which is most of what a query over a sketch takes. Where few rows are read one task is
faster. What Spark has planned is taken as it is, but that rows go through one task from the first operator on that
wants rows of several tasks together; everything below stays one piece of generated code with the scan. (A
`coalesce` in the query would stand below the first sums, and hand each row over by itself.)

Without a shuffle nothing is left over from one run to the next: each run reads the files again. So there is no
plan for queries with joins or subqueries, of which Spark would keep what it broadcast.

Where a table has other files now, and else is as it was, the operators above its scan are the same: the plan is
taken over with another scan below, which takes a sixth of what planning does.

The parts of Spark that are used here are not its public face: where one of them is not there (another version,
Spark Connect), there is no such plan, and queries are planned as all others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.sketch.tables.file_frames import relation_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_FOR_A_SHUFFLE = 2_000_000
"""So many rows one task reads and groups in about the time that a second job takes."""
GATHERING = ("TakeOrderedAndProject", "CollectLimit", "CollectTail")
"""Operators that shuffle by themselves, unless their rows come from one task."""
KEEPING = ("Exchange", "BroadcastExchange", "ReusedExchange", "AdaptiveSparkPlan", "InMemoryTableScan")
"""Operators that keep what they have computed."""
_STEM = re.compile(r"^ *\+- ")
_OPERATOR = re.compile(r"^ *(\+- )?(\*\(\d+\) )?")


def is_soon_done(rows: int, tasks: int) -> bool:
    """Whether so many rows are read by one task as fast as by several, which must meet in a shuffle.

    >>> [is_soon_done(rows, 2) for rows in (100_000, 4_000_000, 7_000_000)], is_soon_done(7_000_000, 1)
    ([True, True, False], True)
    """
    return rows * (1 - 1 / max(1, tasks)) <= ROWS_FOR_A_SHUFFLE


@dataclass(frozen=True, eq=False)
class OneTaskPlan:
    """What Spark runs, and the rows that this gives."""

    frame: DataFrame
    """To be run as often as one likes."""
    _operators: tuple[Any, ...]
    """From the root to the scan of files."""

    def over(self, files: DataFrame) -> OneTaskPlan | None:
        """The same plan over other files of the same table; `None` where they differ in more than their names."""
        from py4j.protocol import Py4JError

        try:
            return self._over(files)
        except (AttributeError, TypeError, Py4JError):
            return None

    def _over(self, files: DataFrame) -> OneTaskPlan | None:
        session = self.frame.sparkSession
        scan = self._operators[-1]
        before, now = scan.relation(), relation_of(files)
        of_both = (before.dataSchema(), now.dataSchema()), (before.options(), now.options())
        is_alike = all(one.equals(other) for one, other in of_both) and now.partitionSchema().isEmpty()
        if not is_alike or before.location().equals(now.location()):
            return None
        _activate(session)
        rest = [scan.productElement(place) for place in range(1, scan.productArity())]
        made = [scan.copy(now, *rest)]
        for operator in reversed(self._operators[:-1]):
            made.append(_above(session, operator, made[-1]))
        return _run_by(session, tuple(reversed(made)), self.frame._jdf.schema())


def in_one_task(frame: DataFrame) -> OneTaskPlan | None:
    """The same rows, computed by one task each time that they are asked for; `None` where that cannot be."""
    from py4j.protocol import Py4JError

    try:
        return _in_one_task(frame)
    except (AttributeError, TypeError, Py4JError):  # this Spark has other parts
        return None


def _in_one_task(frame: DataFrame) -> OneTaskPlan | None:
    session = frame.sparkSession
    java: Any = session._jvm
    _activate(session)
    execution = java.org.apache.spark.sql.execution
    operators = _chain(frame._jdf.queryExecution().sparkPlan())
    if operators is None:
        return None
    made = operators[-1]
    is_gathered = False
    for operator in reversed(operators[:-1]):
        if not is_gathered and _gathers(operator):
            made, is_gathered = execution.CoalesceExec(1, made), True
        made = _above(session, operator, made)
    preparing = getattr(getattr(execution, "QueryExecution$"), "MODULE$")
    rules = preparing.preparations(session._jsparkSession, java.scala.Option.empty(), False)
    prepared = _chain(preparing.prepareForExecution(rules, made))
    return None if prepared is None else _run_by(session, tuple(prepared), frame._jdf.schema())


def _activate(session: SparkSession) -> None:
    """Operators belong to the session that is active when they are made."""
    java: Any = session._jvm
    java.SparkSession.setActiveSession(session._jsparkSession)


def _above(session: SparkSession, operator: Any, child: Any) -> Any:
    """An operator above another child than it has."""
    java: Any = session._jvm
    nothing = getattr(getattr(java.scala.collection.immutable, "Nil$"), "MODULE$")
    return operator.withNewChildren(nothing.prepended(child))


def _run_by(session: SparkSession, operators: tuple[Any, ...], schema: Any) -> OneTaskPlan:
    from pyspark.sql import DataFrame

    ours: Any = session._jsparkSession
    rows = ours.internalCreateDataFrame(operators[0].execute(), schema, False)
    return OneTaskPlan(DataFrame(rows, session), operators)


def _chain(plan: Any) -> list[Any] | None:
    """The operators of a plan from the root to a scan of files; `None` if it branches, or keeps what it computed."""
    if not _is_run_anew(plan):
        return None
    found = [plan]
    while found[-1].children().nonEmpty():  # those around generated code have no lines of their own
        found.append(found[-1].child())
    return found


def _lines(plan: Any) -> list[str]:
    """The operators as Spark writes them, one in a line: asked for together, as each question to Java takes time."""
    return [line for line in str(plan.toString()).splitlines() if line.strip()]


def _is_run_anew(plan: Any) -> bool:
    """Whether a plan has one branch, that ends in files, and nothing on it keeps what it has computed."""
    lines = _lines(plan)
    names = [_OPERATOR.sub("", line) for line in lines]
    branches = any(not _STEM.match(line) for line in lines[1:])
    keeps = any(name.startswith(KEEPING) or "Subquery" in name or "subquery#" in name for name in names)
    return not branches and not keeps and names[-1].startswith("FileScan parquet")


def _gathers(operator: Any) -> bool:
    """Whether rows of several tasks must come together below an operator."""
    wanted = str(operator.requiredChildDistribution().toString())
    return operator.nodeName() in GATHERING or "Distribution" in wanted.replace("UnspecifiedDistribution", "")
