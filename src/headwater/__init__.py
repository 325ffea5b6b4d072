"""Headwater keeps recursive views exactly right while the data under them comes and goes.

>>> import headwater as hw
>>> db = hw.connect()
>>> _ = db.define('''
...     reach(X, Y) :- link(X, Y).
...     reach(X, Y) :- link(X, Z), reach(Z, Y).
... ''')
>>> _ = db.apply(insert={"link": [("a", "b"), ("b", "c"), ("c", "a")]})
>>> changes = db.apply(delete={"link": [("c", "a")]})
>>> sorted(changes["reach"].deleted)
[('a', 'a'), ('b', 'a'), ('b', 'b'), ('c', 'a'), ('c', 'b'), ('c', 'c')]
>>> sorted(db["reach"].rows())
[('a', 'b'), ('a', 'c'), ('b', 'c')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.errors import (
    DatabaseError,
    DataError,
    EvaluationError,
    HeadwaterError,
    LanguageError,
    MissingExtra,
    OutOfMemory,
    PipelineError,
    RuleError,
    SparkError,
    StoreError,
)

if TYPE_CHECKING:
    import os

    from pyspark.sql import SparkSession

    from headwater.database import Database
    from headwater.nodes.nodes import Nodes

__version__ = "0.1.0"
__all__ = [
    "DataError",
    "DatabaseError",
    "EvaluationError",
    "HeadwaterError",
    "LanguageError",
    "MissingExtra",
    "OutOfMemory",
    "PipelineError",
    "RuleError",
    "SparkError",
    "StoreError",
    "__version__",
    "connect",
    "spark_session",
    "start_nodes",
]


def connect(path: str | os.PathLike[str] | None = None, **options: Any) -> Database:
    """Open a database: in memory, or in the folder `path`, where it survives restarts and crashes.

    Options: `mode` ("w" for the one writer, "r" for a reader), `strategy` (support, counting, dred, recompute,
    auto), `strict` (refuse relations never declared), `max_rounds` (the guard against recursion without end)
    and `at_max_rounds` ("raise", or "stop" to keep what was derived by then), `clock` ("logical", or "real" for
    lifetimes in real time), `functions` (Python functions for rules, as {name: (function, argument types or
    None, result type)}), `sync` (wait for the disk; default true), `spark` (the Spark session for pipelines and
    for views as DataFrames; default: the running one, or an embedded one), `memory` (what the database may take, as
    bytes or as "8 GB" or "75%"; more is refused; default: three quarters of what the process may have), `threads`
    (what becomes of a call while another thread is inside: "refuse" or "wait"). Where to run: `run` ("local",
    "spark", "auto", "threads"), `nodes`, `budget`, `replicate`, `min_ship`; see docs/nodes.md.
    """
    from headwater.database import Database

    return Database(path, **options)


def spark_session(master: str | None = None, **options: Any) -> SparkSession:
    """The Spark session that runs in this process, or a new one on `master`; by default an embedded one.

    Options: `conf` (Spark's settings, by name), `app` (a name), `log_level` ("error"). Needs headwater[spark].
    """
    from headwater.spark.session import spark_session

    return spark_session(master, **options)


def start_nodes(nodes: int | None = None, **options: Any) -> Nodes:
    """Start nodes for one database after another: `connect(..., run="spark", nodes=...)`; a context manager.

    Options: `spark` (a session), `functions` (Python functions for rules, as for `connect`), `run` ("spark" or
    "threads"). Needs headwater[spark].
    """
    from headwater.nodes.where import start_nodes

    return start_nodes(nodes, **options)
