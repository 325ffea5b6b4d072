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

from typing import TYPE_CHECKING, Any, Literal

from headwater.calls import public
from headwater.errors import (
    DatabaseError,
    DataError,
    EvaluationError,
    ExchangeError,
    HeadwaterError,
    HeadwaterWarning,
    LanguageError,
    MissingExtra,
    OutOfMemory,
    PipelineError,
    RuleError,
    SketchError,
    SparkError,
    StoreError,
)
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import FrozenMap, Months, Struct

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from headwater.database import Database
    from headwater.exchange.confederation import Confederation
    from headwater.networks.network import Network
    from headwater.nodes.nodes import Nodes
    from headwater.sketch.sketches import Sketches
    from headwater.values.functions import Given
    from headwater.values.special import LabelledNull

__version__ = "0.1.0"
__all__ = [
    "DataError",
    "Database",
    "DatabaseError",
    "EvaluationError",
    "ExchangeError",
    "FrozenMap",
    "HeadwaterError",
    "HeadwaterWarning",
    "LabelledNull",
    "LanguageError",
    "MissingExtra",
    "Months",
    "NanosecondDatetime",
    "OutOfMemory",
    "PipelineError",
    "RuleError",
    "SketchError",
    "SparkError",
    "StoreError",
    "Struct",
    "__version__",
    "connect",
    "exchange",
    "network",
    "sketches",
    "spark_session",
    "start_nodes",
]


@public
def connect(
    path: str | os.PathLike[str] | None = None,
    *,
    mode: Literal["w", "r"] = "w",
    strategy: str = "support",
    strict: bool | Literal["near"] = "near",
    max_rounds: int = 1_000_000,
    at_max_rounds: Literal["raise", "stop"] = "raise",
    max_cascade: int = 1000,
    clock: Literal["logical", "real"] = "logical",
    functions: Mapping[str, Given] | None = None,
    sync: bool = True,
    memory: int | str | None = None,
    cores: int | None = None,
    threads: Literal["refuse", "wait"] = "refuse",
    spark: SparkSession | None = None,
    run: Literal["local", "spark", "auto", "threads"] = "local",
    nodes: int | Nodes | None = None,
    budget: int | None = None,
    replicate: int | None = None,
    rank_filter: bool = True,
    min_ship: bool | None = None,
    progress: bool | None = None,
    version: int | None = None,
    actions: Mapping[str, Callable[..., object]] | None = None,
    action_timeout: float = 60.0,
    optimise: Sequence[str] | None = None,
) -> Database:
    """Open a database: in memory, or in the folder `path`, where it survives restarts and crashes.

    - `mode`: "w" for the one writer, "r" for a reader.
    - `strategy`: how views are maintained: support, counting, dred, recompute, auto, absorption, absorption-eager,
      relative.
    - `strict`: which unknown relations are refused. "near": rows for a relation that no text mentions, and rules over
      one that nothing fills, if its name is near another's. True: also all other rules over a relation that nothing
      declares, derives or gives rows to. False: none.
    - `max_rounds`: the guard against recursion without end; `at_max_rounds`: "raise", or "stop" to keep what was
      derived by then. `max_cascade`: how many times in a row actions of active rules may cause each other.
    - `clock`: "logical", or "real" for lifetimes in real time.
    - `functions`: Python functions for rules, as {name: (function, argument types or None, result type)}; a fourth
      entry, True, has the function called with `None` where an argument is null.
    - `sync`: wait for the disk.
    - `memory`: what the database may take, as bytes or as "8 GB" or "75%"; more is refused. By default three quarters
      of what the process may have.
    - `cores`: how many cores a large change may take; by default those there are, up to the 2 that are of use. What
      comes out is the same with 1.
    - `threads`: what becomes of a call while another thread is inside: "refuse" or "wait".
    - `spark`: the Spark session for pipelines and for views as DataFrames; by default the running one, or an embedded
      one.
    - `run`: where: "local" in this process, "spark" on nodes in Spark, "auto" here until `budget` bytes are outgrown,
      "threads" on nodes in threads; `nodes`: how many, or those of `start_nodes`; `replicate`: base relations up to
      so many rows are on every node; `rank_filter`: keep back derivations that change nothing (`min_ship` is its
      former name). See docs/nodes.md.
    - `version`: for a reader, the version to begin with, if it is still in the log; by default the last one.
    - `actions`: what active rules can `call`, by name; `action_timeout`: the seconds that what they `run` may take.
    - `optimise`: how changes of watched views are computed at less cost: names of order, parity, constants and
      irrelevant; by default all four.
    - `progress`: whether work that takes long shows itself, on a terminal or in a notebook; False for never.
    """
    from headwater.database import Database

    return Database(
        path,
        mode=mode,
        strategy=strategy,
        strict=strict,
        max_rounds=max_rounds,
        at_max_rounds=at_max_rounds,
        max_cascade=max_cascade,
        clock=clock,
        functions=functions,
        sync=sync,
        memory=memory,
        cores=cores,
        threads=threads,
        spark=spark,
        run=run,
        nodes=nodes,
        budget=budget,
        replicate=replicate,
        rank_filter=rank_filter,
        min_ship=min_ship,
        progress=progress,
        version=version,
        actions=actions,
        action_timeout=action_timeout,
        optimise=optimise,
    )


@public
def spark_session(
    master: str | None = None,
    *,
    conf: Mapping[str, Any] | None = None,
    app: str = "headwater",
    log_level: str = "error",
) -> SparkSession:
    """The Spark session that runs in this process, or a new one on `master`; by default an embedded one.

    `conf` are Spark's settings by name, `app` is a name, `log_level` what Spark prints. Needs headwater[spark].
    """
    from headwater.spark.session import spark_session

    return spark_session(master, conf=conf, app=app, log_level=log_level)


@public
def start_nodes(
    nodes: int | None = None,
    *,
    spark: SparkSession | None = None,
    functions: Mapping[str, Given] | None = None,
    run: Literal["spark", "threads"] = "spark",
    patience: float = 60.0,
) -> Nodes:
    """Start nodes for one database after another: `connect(..., run="spark", nodes=...)`; a context manager.

    `spark` is a session, `functions` are Python functions for rules, as for `connect`, `run` is "spark" or "threads".
    A node that has given no sign of life for `patience` seconds counts as lost. Needs headwater[spark].
    """
    from headwater.nodes.where import start_nodes

    return start_nodes(nodes, spark=spark, functions=functions, run=run, patience=patience)


def exchange(*args: Any, **options: Any) -> Confederation:
    """Open a confederation of peers who share data, map it, and trust some of it; see docs/exchange.md.

    `exchange(peers={"BioSQL": {"B": "id: int, nam: int"}, ...}, mappings="m1: ...", trust={...}, path=folder)`; all
    other options are those of `connect`, for the databases in which peers compute.
    """
    from headwater.exchange.opening import exchange

    return exchange(*args, **options)


@public
def sketches(
    backend: SparkSession | str,
    path: str | os.PathLike[str],
    *,
    progress: bool | None = None,
    shrink: bool = True,
    eager: int = 0,
    memory: int = 2**30,
    patience: float = 30.0,
) -> Sketches:
    """Provenance sketches of queries over tables, kept in the folder `path`; see docs/sketches.md.

    `backend` is a Spark session, or the address of a database: `duckdb:///shop.db`, `postgresql://user@host/shop`.
    `progress`: whether captures that take long show themselves, on a terminal or in a notebook; False for never.
    `shrink`: whether fragments that are needed no more leave a maintained sketch; False for cheaper deletions.
    `eager`: `update` maintains the sketches of a table after so many changed rows; 0: asking for them does.
    `memory`: bytes that the state of sketches may take in memory; what was not used for long is left in the folder.
    `patience`: the seconds that others are waited for who have the folder or the database, or change the same.
    """
    from headwater.sketch.sketches import Sketches

    return Sketches(
        backend,
        path,
        progress=progress,
        shrink=shrink,
        eager=eager,
        memory=memory,
        patience=patience,
    )


def network(program: Any, topology: Any, **options: Any) -> Network:
    """Run an NDlog program on a network of nodes, simulated or in processes of their own; see docs/networks.md.

    - `program`: the name of one of the library (`shortest-path`), a text, or a file.
    - `topology`: a name (`transit-stub:100`, `topohub:topozoo/Abilene`), a file, a graph of networkx, or link rows.
    - options: `annotation`, `order`, `transport`, `metric`, `functions`, `seed`, `processes`, `spark`.
    """
    from headwater.networks.opening import network

    return network(program, topology, **options)


def __getattr__(name: str) -> Any:
    """`Database`, which brings the engine, comes when it is asked for, and so do values."""
    if name == "Database":
        from headwater.database import Database

        return Database
    if name == "LabelledNull":
        from headwater.values.special import LabelledNull

        return LabelledNull
    raise AttributeError(f"module 'headwater' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
