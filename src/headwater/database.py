"""The database: definitions and changes in, views and their changes out.

A version is applied whole or not at all. Relations that no text declares take their types from the first rows
they get. With a path, a version is on the disk before it is acknowledged.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from headwater import persist
from headwater.annotations.protocol import AnyAnnotation
from headwater.changes import Change, Changes, EmptyChanges
from headwater.definitions import Definitions
from headwater.errors import DataError, HeadwaterError, StoreError, UnknownRelation
from headwater.explain import Explanation, explain
from headwater.language.datalog import parse
from headwater.maintain.engine import Engine
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.maintain.strategies import STRATEGIES
from headwater.plan.steps import Ints
from headwater.progress import OWED, Owed, Progress, Subscription
from headwater.provenance import depends, evaluation, why_not
from headwater.provenance.values import Given
from headwater.provenance.why import LIMIT, Why, why
from headwater.relation_view import RelationView
from headwater.rules.checked import Checked, RelationInfo
from headwater.run.one_process import OneProcess
from headwater.run.place import Place
from headwater.run.runner import Runner
from headwater.store import Record, Store
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.types import Type

if TYPE_CHECKING:
    from headwater.pipeline import Pipeline

CHECKPOINT_BYTES = 16 << 20
CHECKPOINT_RECORDS = 1000

Method = TypeVar("Method", bound=Callable[..., Any])


def _uninterrupted(method: Method) -> Method:
    """A method of the database that Ctrl-C stops only where all can be taken back, or once it is done."""

    @wraps(method)
    def run(self: Database, *args: Any, **options: Any) -> Any:
        with self.runner.interrupts:
            return method(self, *args, **options)

    return run  # type: ignore[return-value]


class Database:
    """A set of base relations and the views over them. See `headwater.connect`."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        mode: Literal["w", "r"] = "w",
        strategy: str = "support",
        strict: bool = False,
        max_rounds: int = 1_000_000,
        at_max_rounds: Literal["raise", "stop"] = "raise",
        clock: Literal["logical", "real"] = "logical",
        functions: Mapping[str, tuple[Callable[..., Any], Sequence[Type | str] | None, Type | str]]
        | None = None,
        sync: bool = True,
        spark: Any = None,
        run: str = "local",
        nodes: Any = None,
        budget: int | None = None,
        replicate: int | None = None,
        min_ship: bool = True,
    ):
        if strategy not in STRATEGIES:
            raise DataError(
                "unknown-strategy", f"no strategy {strategy!r}", hint=f"one of {', '.join(STRATEGIES)}"
            )
        for option, value, allowed in (
            ("mode", mode, ("w", "r")),
            ("clock", clock, ("logical", "real")),
            ("at_max_rounds", at_max_rounds, ("raise", "stop")),
        ):
            if value not in allowed:
                raise DataError(
                    "unknown-option", f"no {option} {value!r}", hint=f"one of {', '.join(allowed)}"
                )
        if not isinstance(max_rounds, int) or max_rounds < 1:
            raise DataError("unknown-option", f"max_rounds is {max_rounds!r}", hint="a whole number from 1")
        self._place = Place(run, spark, nodes, budget, replicate, min_ship)
        self._place.check()
        if self._place.run != "local" and not STRATEGIES[strategy]().ranked:
            raise DataError(
                "unknown-option",
                f"strategy {strategy} runs in one process only",
                hint="leave out run=..., or use strategy='support'",
            )
        if self._place.on_nodes and mode == "r":
            raise DataError("unknown-option", "a reader runs in this process", hint="leave out run=...")
        self.spark = spark
        self.codec = Codec()
        self.functions = Functions()
        self._python = dict(functions or {})
        for name, (function, args, returns) in self._python.items():
            self.functions.register(name, function, args, returns)
        self.strict = strict
        self.clock = clock
        self.mode = mode
        self.now = 0.0
        self.version = 0
        self.statistics = VersionStatistics()
        self._options = {
            "strategy": strategy, "max_rounds": max_rounds, "at_max_rounds": at_max_rounds, "strict": strict,
        }  # fmt: skip
        self._definitions = self._logged = Definitions()
        self._followers: weakref.WeakValueDictionary[int, evaluation.Evaluation] = (
            weakref.WeakValueDictionary()
        )
        self._closed = False
        self.spark = spark
        self.path = None if path is None else Path(path).absolute()
        self._progress = Progress(self.path)
        self._store: Store | None = None
        self._records = 0
        self._checked = self._definitions.check(self.functions, {}, strict=strict)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if path is not None:
            self._store = Store.open(path, mode=mode, sync=sync)
        elif self._place.on_nodes:
            self._store = self._temporary_store()
        try:
            if self._place.on_nodes:
                assert self._store is not None
                self.runner: Runner = self._place.start(self.codec, self._store, self._options, self._python)
            else:
                self.runner = OneProcess(
                    self.codec,
                    self.functions,
                    strategy=strategy,
                    max_rounds=max_rounds,
                    at_max_rounds=at_max_rounds,
                )
            if path is not None:
                assert self._store is not None
                self._recover(self._store)
        except BaseException:
            self.close()
            raise
        if clock == "real":
            self.now = max(self.now, time.time())

    # ------------------------------------------------------------------ definition

    @_uninterrupted
    def define(self, text: str, *, source: str = "<text>") -> Changes:
        """Add rules, declarations and facts, as Datalog text; one version.

        Views that the new rules do not concern keep their rows. If anything is refused, nothing changes.
        """
        self._check_writable()
        if not isinstance(text, str):
            raise DataError("wrong-type", f"define takes a text, not a {type(text).__name__}")
        if self.clock == "real":
            self.now = max(self.now, time.time())
        changes = self._define(text, source, log=True)
        self._checkpoint_if_due()
        self._outgrown()
        return changes

    def _define(self, text: str, source: str, *, log: bool) -> Changes:
        started = time.perf_counter()
        definitions = self._definitions.with_program(parse(text, source))
        checked = self._check(definitions)
        statistics = VersionStatistics(self.version + 1)
        facts = {
            name: self.codec.encode_rows(
                rows, checked.relations[name].types, relation=name, columns=checked.relations[name].columns
            )
            for name, rows in checked.facts.items()
        }
        settled = definitions.settled({name: checked.relations[name].types for name in facts})
        before = self._definitions, self._checked
        try:
            changes = self.runner.define(settled, checked, facts, self.now, statistics)
            self._definitions, self._checked = settled, checked
            if log:
                self._log("define", {"text": text, "source": source, "now": self.now}, {}, changes)
        except BaseException as error:
            if log and self._committed():
                self._commit(statistics)
                self.version += 1
                raise
            self._rollback(error)
            self._definitions, self._checked = before
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        return self._finish(changes, statistics)

    def _check(self, definitions: Definitions) -> Checked:
        stored = {
            name: info.types
            for name, info in self._checked.relations.items()
            if info.base and self.runner.stored(name)
        }
        return definitions.check(self.functions, stored, strict=self.strict)

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        args: Sequence[Type | str] | None = None,
        returns: Type | str,
    ) -> None:
        """Let rules call a Python function. It must give the same result for the same arguments, for ever.

        Functions are not stored. To open a state whose rules call some, pass them as `functions` to `connect`.
        """
        if not isinstance(self.runner, OneProcess):
            raise DataError(
                "nodes-are-running",
                f"{name} cannot be registered while nodes are running without it",
                hint="give it to connect: functions={name: (function, argument types, result type)}",
            )
        self.functions.register(name, function, args, returns)
        self._python[name] = (function, args, returns)

    # ------------------------------------------------------------------ changes

    @_uninterrupted
    def apply(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        marks: Mapping[str, Any] | None = None,
    ) -> Changes:
        """Delete and insert rows of base relations (deletes first) as one version; return what that did.

        Rows are sequences of tuples or dicts, Arrow tables, pandas or polars DataFrames, or numpy matrices.
        Inserting a row that is there, or deleting one that is not, does nothing but count. `marks` say how far
        sources were read, as JSON by source; they are kept with the version (see the property `marks`).
        """
        self._check_writable()
        insert = {name: rows for name, rows in _by_relation("insert", insert).items() if len(rows)}
        delete = _by_relation("delete", delete)
        started = time.perf_counter()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        statistics = VersionStatistics(self.version + 1)
        before = self._definitions, self._checked
        try:
            self._learn(insert)
            deletes, inserts = self._encode(insert, delete, statistics)
            if self.runner.must_move(inserts):
                self.checkpoint()
            changes = self.runner.change(deletes, inserts, self.now, statistics)
            self._log_change(deletes, inserts, changes, marks or {})
        except BaseException as error:
            if self._committed():
                self._commit(statistics)
                self.version += 1
                raise
            self._rollback(error)
            self._definitions, self._checked = before
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
        self._outgrown()
        return done

    @_uninterrupted
    def advance(self, to: float | None = None) -> Changes:
        """Set the time to `to` (seconds; now, with a real clock) and let base rows expire; one version."""
        self._check_writable()
        started = time.perf_counter()
        if to is None:
            if self.clock != "real":
                raise DataError("no-time", "a logical clock advances to a time given", hint="advance(to=...)")
            to = max(self.now, time.time())
        if isinstance(to, bool) or not isinstance(to, (int, float)) or not math.isfinite(to):
            raise DataError(
                "wrong-type", f"{to!r} is not a time", hint="advance(to=...) takes seconds, a number"
            )
        if to < self.now:
            raise DataError(
                "time-goes-back", f"it is {self.now} already", hint=f"advance to {self.now} or later"
            )
        statistics = VersionStatistics(self.version + 1)
        before = self.now
        try:
            self.now = to
            changes = self.runner.change({}, {}, to, statistics)
            self._log("advance", {"now": to}, {}, changes)
        except BaseException as error:
            if self._committed():
                self._commit(statistics)
                self.version += 1
                raise
            self.now = before
            self._rollback(error)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
        self._outgrown()
        return done

    def _encode(
        self, insert: Mapping[str, Any], delete: Mapping[str, Any], statistics: VersionStatistics
    ) -> tuple[dict[str, Ints], dict[str, Ints]]:
        deletes: dict[str, Ints] = {}
        inserts: dict[str, Ints] = {}
        for name, rows in delete.items():
            info = self._base(name)
            if info is None and self.strict:
                raise self._unknown(name)
            if info is None or None in info.types:
                statistics.no_ops += len(rows)
                continue
            matrix, unknown = self.codec.find_rows(rows, info.types, relation=name, columns=info.columns)
            statistics.no_ops += unknown
            deletes[info.name] = matrix
        for name, rows in insert.items():
            info = self._base(name)
            assert info is not None
            inserts[info.name] = self.codec.to_matrix(rows, info.types, name, info.columns)
        return deletes, inserts

    def _learn(self, insert: Mapping[str, Any]) -> None:
        """Take types from rows where nothing else tells, and take on relations never heard of."""
        definitions = self._definitions
        for name, rows in insert.items():
            info = self._base(name)
            if info is None and self.strict:
                raise self._unknown(name)
            if info is None and not name.isidentifier():
                raise DataError(
                    "unknown-relation", f"{name!r} cannot name a relation", hint="letters, digits and _ only"
                )
            definitions = definitions.with_rows(name, rows, info)
        if definitions is not self._definitions:
            self._redefine(definitions)

    def _redefine(self, definitions: Definitions) -> None:
        """Go by what is known now; rows stay."""
        checked = self._check(definitions)
        self.runner.learn(definitions, checked, self.now)
        self._definitions, self._checked = definitions, checked

    def _rollback(self, error: BaseException | None) -> None:
        self.runner.rollback(error)
        self._progress.rollback()

    def _commit(self, statistics: VersionStatistics) -> None:
        self.runner.commit(statistics)
        self._progress.commit()

    def _finish(self, changes: Mapping[str, RowChange], statistics: VersionStatistics) -> Changes:
        self.version += 1
        self.statistics = statistics
        for follower in self._followers.values():
            follower.follow(changes)
        return Changes(self.version, self._shown(changes), EmptyChanges(self), statistics)

    def _shown(self, changes: Mapping[str, RowChange]) -> dict[str, Change]:
        shown = {}
        for name, change in changes.items():
            info = self._checked.relations.get(name)
            if info is not None and not info.internal:
                shown[name] = Change(self.codec, info.columns, info.types, change)
        return shown

    # ------------------------------------------------------------------ sources and subscribers

    @property
    def marks(self) -> Mapping[str, Any]:
        """How far each source was read: what `apply` was given as `marks`, the last of each name."""
        return dict(self._progress.marks)

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """Who is told what happens to which view, and up to which version they have acknowledged it."""
        return dict(self._progress.subscriptions)

    @_uninterrupted
    def subscribe(self, name: str, view: str, *, rows: bool = True) -> Subscription:
        """From now on keep what each version does to a view until it is acknowledged; one version, if new.

        What is owed first are all rows the view has now. With `rows=False` only the versions are kept.
        """
        self._check_writable()
        known = self._progress.subscriptions.get(name)
        if known is not None and (known.view, known.rows) == (view, rows):
            return known
        self.info(view)
        made = Subscription.to(view, rows, self.version + 1)
        empty = np.empty((0, self.info(view).arity), np.int64)
        matrix = self.runner.matrix(view) if rows else empty
        first = self._shown({view: RowChange(empty, matrix)})[view]
        self._record_subscription(name, made, first.arrow() if rows else None)
        return made

    @_uninterrupted
    def unsubscribe(self, name: str) -> None:
        """End a subscription, and forget what it was owed; one version."""
        self._check_writable()
        self._progress.owed(name)
        self._record_subscription(name, None, None)

    def _record_subscription(self, name: str, subscription: Subscription | None, table: Any) -> None:
        try:
            meta, tables = self._progress.stage_subscription(name, subscription, table)
            self._append("subscribe", {"now": self.now, **meta}, tables)
        except BaseException:
            if self._committed():
                self._progress.commit()
                self.version += 1
            self._progress.rollback()
            raise
        self._progress.commit()
        self.version += 1

    def owed(self, name: str) -> list[Owed]:
        """What a subscriber has not acknowledged yet, in the order of versions."""
        return self._progress.owed(name)

    def acknowledge(self, name: str, version: int) -> None:
        """A subscriber needs nothing up to this version any more."""
        self._check_writable()
        self._progress.acknowledge(name, version)

    def pipeline(self, sources: Sequence[Any], sinks: Sequence[Any] = (), **options: Any) -> Pipeline:
        """Read sources into base relations and publish views, through Spark; see `headwater.pipeline`."""
        from headwater.pipeline import Pipeline

        return Pipeline(self, sources, sinks, **options)

    # ------------------------------------------------------------------ reading

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of all base relations and views."""
        return tuple(name for name, info in self._checked.relations.items() if not info.internal)

    def info(self, name: str) -> RelationInfo:
        """A relation's columns, types and kind."""
        found = self._checked.relations.get(name)
        if found is None or found.internal:
            raise self._unknown(name)
        return found

    def __getitem__(self, name: str) -> RelationView:
        self.info(name)
        return RelationView(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.relations

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """All that was defined, in order: texts and where they came from."""
        return tuple((program.text, program.source) for program in self._definitions.programs)

    def types_if(self, known: Mapping[str, tuple[Type | None, ...]]) -> dict[str, tuple[Type | None, ...]]:
        """What the types of all relations would be if those of some base relations were these."""
        definitions = replace(self._definitions, known={**self._definitions.known, **known})
        return {name: info.types for name, info in self._check(definitions).relations.items()}

    @property
    def program(self) -> Checked:
        """All rules, checked and rewritten."""
        return self._checked

    def explain(self, name: str | None = None) -> Explanation:
        """How a view (or all) is maintained: rules, join orders, strategy, sizes, and what the last version cost."""
        if name is not None:
            self.info(name)
        return explain(self, name)

    # ------------------------------------------------------------------ explanations

    def why(self, relation: str, row: Any, *, depth: int | None = None, limit: int | None = LIMIT) -> Why:
        """Why a row is there: all derivations (at most `limit`, `depth` levels deep), proof, minimal explanations."""
        return why(self, relation, row, depth=depth, limit=limit)

    def why_not(
        self, relation: str, row: Any, *, depth: int = why_not.DEPTH, repairs: int = why_not.REPAIRS
    ) -> why_not.WhyNot:
        """Why a row is not there: what each rule lacks, `depth` levels deep; and the smallest repairs found."""
        return why_not.why_not(self, relation, row, depth=depth, repairs=repairs, suppose=self.what_if)

    @_uninterrupted
    def what_if(
        self, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None
    ) -> Changes:
        """What `apply` would do, without doing it: worked out, then taken back. No version, nothing in the log."""
        insert = {name: rows for name, rows in _by_relation("insert", insert).items() if len(rows)}
        delete = _by_relation("delete", delete)
        now = max(self.now, time.time()) if self.clock == "real" else self.now
        started = time.perf_counter()
        statistics = VersionStatistics(self.version)
        before = self._definitions, self._checked
        traces = self.runner.traces()
        failed: BaseException | None = None
        try:
            self._learn(insert)
            deletes, inserts = self._encode(insert, delete, statistics)
            changes = self.runner.change(deletes, inserts, now, statistics)
            for change in changes.values():
                change.resolve()
            supposed = self._shown(changes)
        except BaseException as error:
            failed = error
            raise
        finally:
            self._rollback(failed)
            self._definitions, self._checked = before
            self.runner.wipe(traces)
        statistics.seconds = time.perf_counter() - started
        return Changes(self.version, supposed, EmptyChanges(self), statistics)

    def depends(self, relation: str, row: Any, *, limit: int | None = depends.LIMIT) -> depends.Depends:
        """What would fall with a row, what else uses it (at most `limit` rows), and what it derives alone."""
        return depends.depends(self, relation, row, limit=limit, suppose=self.what_if)

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
        found = evaluation.Evaluation(self, view, annotation, base, rules, limit)
        self._followers[id(found)] = found
        return found

    @property
    def nbytes(self) -> int:
        """Bytes allocated for rows, indexes and dictionaries."""
        return self.runner.nbytes + self.codec.nbytes

    @property
    def engine(self) -> Engine:
        """The engine of a database that runs in this process."""
        if not isinstance(self.runner, OneProcess):
            raise DataError(
                "on-nodes",
                "the rows of this database are on nodes, where this is not to be had",
                hint="close it, and open its state in one process: connect(path)",
            )
        return self.runner.engine

    # ------------------------------------------------------------------ durability

    def _log_change(
        self,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        changes: Mapping[str, RowChange],
        marks: Mapping[str, Any],
    ) -> None:
        tables = {}
        for kind, given in (("delete", deletes), ("insert", inserts)) if self._store is not None else ():
            for name, rows in given.items():
                info = self._checked.relations[name]
                if rows.shape[0]:
                    tables[f"{kind}/{name}"] = persist.to_table(self.codec, rows, info)
        learned = {} if self._definitions is self._logged else self._definitions.to_json()
        self._log("apply", {"now": self.now, **learned}, tables, changes, marks)
        self._logged = self._definitions

    def _log(
        self,
        kind: str,
        meta: Mapping[str, Any],
        tables: Mapping[str, Any],
        changes: Mapping[str, RowChange],
        marks: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the open version to the log, with what is owed for it; only then may it be committed."""
        shown = self._shown(changes) if self._progress.subscriptions else {}
        more, owed = self._progress.stage(self.version + 1, marks or {}, shown)
        self._append(kind, {**meta, **more}, {**tables, **owed})

    def _append(self, kind: str, meta: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
        if self._store is not None:
            self._store.append(Record(self.version + 1, kind, meta, tables))
            self._records += 1

    def _checkpoint_if_due(self) -> None:
        """Write a checkpoint when the log has grown long. The version is committed: that it fails is a note."""
        if self._store is not None and (
            self._records >= CHECKPOINT_RECORDS or self._store.stats().log_bytes > CHECKPOINT_BYTES
        ):
            try:
                self.checkpoint()
            except StoreError as error:
                self.statistics.fallbacks.append(f"no checkpoint: {error.message}")

    def _outgrown(self) -> None:
        """Move to nodes if `run` is "auto" and the state has outgrown its budget."""
        if self._place.run != "auto" or not isinstance(self.runner, OneProcess):
            return
        size, limit = self.runner.nbytes + self.codec.nbytes, self._place.limit()
        if size <= limit:
            return
        why = f"moved at version {self.version}: {size:,} bytes outgrew the budget of {limit:,}"
        if self._store is None:
            self._store = self._temporary_store()
        self.checkpoint()
        assert self._store.checkpoint is not None
        nodes = self._place.start(self.codec, self._store, self._options, self._python, why)
        try:
            nodes.load(self._store.checkpoint, self._definitions, self._checked)
        except BaseException:
            nodes.close()
            raise
        self.runner = nodes
        self.statistics.fallbacks.append(why)

    def _temporary_store(self) -> Store:
        """A store for nodes to recover from, gone when the database is closed."""
        self._temporary = tempfile.TemporaryDirectory(prefix="headwater-")
        return Store.open(self._temporary.name, sync=False)

    def _committed(self) -> bool:
        """Whether the open version is on the disk already, though something came in between afterwards."""
        return self._store is not None and self._store.version > self.version

    def _recover(self, store: Store) -> None:
        """Load the checkpoint and apply the versions after it."""
        checkpoint = store.checkpoint
        if checkpoint is not None:
            meta: Any = checkpoint.meta
            self.now = meta["now"]
            definitions = Definitions(Definitions.parsed(meta["texts"])).learned(meta)
            checked = self._check(definitions)
            self.runner.load(checkpoint, definitions, checked)
            self._definitions, self._checked = definitions, checked
            if "progress" in meta:
                self._progress.load(meta["progress"], checkpoint.tables)
            self.version = checkpoint.version
        for record in store.records():
            self._replay(record)
            self._progress.replay(record.version, record.kind, record.meta, record.tables)
            self._records += 1
        self._progress.recall()

    def _replay(self, record: Record) -> None:
        meta: Any = record.meta
        statistics = VersionStatistics(record.version)
        self.now = meta["now"]
        if record.kind == "define":
            self._define(meta["text"], meta["source"], log=False)
            return
        if record.kind == "apply" and "known" in meta:
            definitions = self._definitions.learned(meta)
            if definitions != self._definitions:
                self._redefine(definitions)
        if record.kind == "subscribe":
            self.version = record.version
            return
        changes: dict[str, dict[str, Ints]] = {"delete": {}, "insert": {}}
        for key, table in record.tables.items():
            if key.startswith(OWED):
                continue
            kind, name = key.split("/", 1)
            info = self._checked.relations[name]
            changes[kind][name] = persist.from_table(self.codec, table, info)
        self.runner.change(changes["delete"], changes["insert"], self.now, statistics)
        self._commit(statistics)
        self.version = record.version

    def checkpoint(self) -> None:
        """Write the relations that changed as new segments and start an empty log; old files are removed."""
        self._check_writable()
        if self._store is None:
            raise StoreError("not-durable", "this database lives in memory only", hint="connect with a path")
        progress, owed = self._progress.dump()
        meta = {
            "now": self.now,
            "progress": progress,
            "texts": [[program.text, program.source] for program in self._definitions.programs],
            **self._definitions.to_json(),
        }
        self.runner.write_checkpoint(self._store, self.version, meta, owed)
        self._records = 0

    def close(self) -> None:
        """Release the files. Everything acknowledged is on the disk already."""
        self._closed = True
        if hasattr(self, "runner"):
            self.runner.close()
        store, self._store = self._store, None
        if store is not None:
            store.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------ refusals

    def _check_writable(self) -> None:
        if self._closed:
            raise StoreError("closed", "this database is closed", hint="connect again")
        if self.mode == "r":
            raise StoreError(
                "read-only", "this database was opened for reading", hint="connect with mode='w'"
            )

    def _base(self, name: str) -> RelationInfo | None:
        """The base relation that takes the rows given for `name`, or `None` if there is no such relation."""
        info = self._checked.relations.get(self._checked.facades.get(name, name))
        if info is None or (info.internal and name not in self._checked.facades):
            return None
        if not info.base:
            raise DataError(
                "derived-relation",
                f"{name} is derived by rules; its rows cannot be inserted or deleted",
                hint=f"change the relations it is derived from, or declare `.input {name}` to give it rows as well",
            )
        return info

    def _unknown(self, name: str) -> HeadwaterError:
        import difflib

        near = difflib.get_close_matches(str(name), self.relations, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(self.relations) or 'none'}"
        return UnknownRelation("unknown-relation", f"there is no relation {name}", hint=hint)


def _by_relation(argument: str, rows: Mapping[str, Any] | None) -> dict[str, Any]:
    """Rows by relation, in forms that have a length and can be read more than once."""
    if rows is None:
        return {}
    if not isinstance(rows, Mapping):
        raise DataError(
            "wrong-type",
            f"{argument} takes rows by relation, not a {type(rows).__name__}",
            hint=f'{argument}={{"link": rows}}',
        )
    for name in rows:
        if not isinstance(name, str):
            raise DataError("wrong-type", f"{name!r} is not the name of a relation", hint="names are strings")
    return {name: _held(name, data) for name, data in rows.items()}


def _held(name: str, data: Any) -> Any:
    if hasattr(data, "read_all"):  # an Arrow stream
        return data.read_all()
    if hasattr(data, "toArrow"):  # a Spark DataFrame
        return data.toArrow()
    if hasattr(data, "collect") and not hasattr(data, "__len__"):  # a lazy frame
        return data.collect()
    if hasattr(data, "__len__"):
        return data
    try:
        return list(data)
    except TypeError:
        raise DataError(
            "wrong-type",
            f"the rows of {name} are a {type(data).__name__}",
            hint="give a list of tuples, an Arrow table, a DataFrame or a numpy matrix",
        ) from None
