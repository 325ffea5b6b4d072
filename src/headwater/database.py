"""The database: definitions and changes in, views and their changes out.

A version is applied whole or not at all. Relations that no text declares take their types from the first rows
they get. With a path, a version is on the disk before it is acknowledged.
"""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from types import TracebackType
from typing import Any, Literal, TypeVar

from headwater import persist
from headwater.annotations.protocol import AnyAnnotation
from headwater.changes import Change, Changes, EmptyChanges
from headwater.definitions import Definitions
from headwater.errors import DataError, HeadwaterError, StoreError, UnknownRelation
from headwater.explain import Explanation, explain
from headwater.language.datalog import parse
from headwater.maintain.base_changes import BaseChanges, plus
from headwater.maintain.engine import Engine
from headwater.maintain.row_change import RowChange, merged
from headwater.maintain.statistics import VersionStatistics
from headwater.maintain.strategies import STRATEGIES
from headwater.plan.steps import Ints
from headwater.provenance import depends, evaluation, why_not
from headwater.provenance.values import Given
from headwater.provenance.why import LIMIT, Why, why
from headwater.relation_view import RelationView
from headwater.rules.checked import Checked, RelationInfo
from headwater.store import Checkpoint, Record, Store
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.types import Type

CHECKPOINT_BYTES = 16 << 20
CHECKPOINT_RECORDS = 1000

Method = TypeVar("Method", bound=Callable[..., Any])


def _uninterrupted(method: Method) -> Method:
    """A method of the database that Ctrl-C stops only where all can be taken back, or once it is done."""

    @wraps(method)
    def run(self: Database, *args: Any, **options: Any) -> Any:
        with self.engine.workspace.interrupts:
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
        self.codec = Codec()
        self.functions = Functions()
        for name, (function, args, returns) in (functions or {}).items():
            self.functions.register(name, function, args, returns)
        self.strict = strict
        self.clock = clock
        self.mode = mode
        self.now = 0.0
        self.version = 0
        self.statistics = VersionStatistics()
        self.engine = Engine(
            self.codec, self.functions, strategy=strategy, max_rounds=max_rounds, at_max_rounds=at_max_rounds
        )
        self._definitions = self._logged = Definitions()
        self._base_changes = BaseChanges()
        self._followers: weakref.WeakValueDictionary[int, evaluation.Evaluation] = (
            weakref.WeakValueDictionary()
        )
        self._closed = False
        self._store: Store | None = None
        self._records = 0
        self._checked = self._definitions.check(self.functions, {}, strict=strict)
        self.engine.define(self._checked, VersionStatistics())
        self.engine.commit(VersionStatistics())
        if path is not None:
            self._store = Store.open(path, mode=mode, sync=sync)
            try:
                self._recover(self._store)
            except BaseException:
                self._store.close()
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
        return changes

    def _define(self, text: str, source: str, *, log: bool) -> Changes:
        started = time.perf_counter()
        definitions = self._definitions.with_program(parse(text, source))
        checked = self._check(definitions)
        self._base_changes.check_keys(self._checked, checked, self.engine.workspace.relations)
        statistics = VersionStatistics(self.version + 1)
        facts = {
            name: self.codec.encode_rows(
                rows, checked.relations[name].types, relation=name, columns=checked.relations[name].columns
            )
            for name, rows in checked.facts.items()
        }
        for name, rows in self._moved(checked).items():
            facts[name] = plus(facts.get(name), rows)
        before = self._definitions, self._checked, self.engine.snapshot(), dict(self._base_changes.soft)
        try:
            self.engine.define(checked, statistics)
            first = self.engine.changes()
            for change in first.values():
                change.resolve()
            self.engine.commit(statistics)
            self._definitions = definitions.settled({name: checked.relations[name].types for name in facts})
            self._checked = checked
            too_many = self._base_changes.adopt(checked, self.engine.workspace.relations, self.now)
            second = self._change(too_many, facts, self.now, statistics)
            if log:
                self._log("define", {"text": text, "source": source, "now": self.now}, {})
        except BaseException as error:
            if log and self._committed():
                self._commit(statistics)
                self.version += 1
                raise
            self._rollback(error)
            self._definitions, self._checked, snapshot, self._base_changes.soft = before
            self.engine.restore(snapshot)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        return self._finish(merged(first, second), statistics)

    def _moved(self, checked: Checked) -> dict[str, Ints]:
        """Rows of base relations that get rules now: the hidden base relation for rows from outside takes them."""
        rows = {}
        for name, hidden in checked.facades.items():
            old = self._checked.relations.get(name)
            if old is not None and old.base:
                rows[hidden] = self.engine.workspace.relations[name].matrix()
        return rows

    def _check(self, definitions: Definitions) -> Checked:
        stored = {
            name: info.types
            for name, info in self._checked.relations.items()
            if info.base and self.engine.workspace.relations[name].stored
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
        self.functions.register(name, function, args, returns)

    # ------------------------------------------------------------------ changes

    @_uninterrupted
    def apply(
        self, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None
    ) -> Changes:
        """Delete and insert rows of base relations (deletes first) as one version; return what that did.

        Rows are sequences of tuples or dicts, Arrow tables, pandas or polars DataFrames, or numpy matrices.
        Inserting a row that is there, or deleting one that is not, does nothing but count.
        """
        self._check_writable()
        insert = {name: rows for name, rows in _by_relation("insert", insert).items() if len(rows)}
        delete = _by_relation("delete", delete)
        started = time.perf_counter()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        statistics = VersionStatistics(self.version + 1)
        before = self._definitions, self._checked, self.engine.snapshot(), dict(self._base_changes.soft)
        try:
            self._learn(insert)
            deletes, inserts = self._encode(insert, delete, statistics)
            changes = self._change(deletes, inserts, self.now, statistics)
            self._log_change(deletes, inserts)
        except BaseException as error:
            if self._committed():
                self._commit(statistics)
                self.version += 1
                raise
            self._rollback(error)
            if self._definitions is not before[0]:
                self._definitions, self._checked, snapshot, self._base_changes.soft = before
                self.engine.restore(snapshot)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
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
            changes = self._change({}, {}, to, statistics)
            self._log("advance", {"now": to}, {})
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

    def _change(
        self, deletes: dict[str, Ints], inserts: dict[str, Ints], now: float, statistics: VersionStatistics
    ) -> dict[str, RowChange]:
        """Let the engine apply all that follows from the change. The caller commits."""
        relations = self.engine.workspace.relations
        deletes, inserts = self._base_changes.work_out(self._checked, relations, deletes, inserts, now)
        self.engine.apply(deletes, inserts, statistics)
        return self.engine.changes()

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
        try:
            self.engine.define(checked, VersionStatistics())
        except BaseException:
            self.engine.rollback()
            raise
        self.engine.commit(VersionStatistics())
        self._definitions, self._checked = definitions, checked
        self._base_changes.adopt(checked, self.engine.workspace.relations, self.now)

    def _rollback(self, error: BaseException | None) -> None:
        expected = error is None or isinstance(error, (HeadwaterError, KeyboardInterrupt))
        self.engine.rollback(damaged=not expected)
        self._base_changes.rollback()

    def _commit(self, statistics: VersionStatistics) -> None:
        self.engine.commit(statistics)
        self._base_changes.commit()

    def _finish(self, changes: Mapping[str, RowChange], statistics: VersionStatistics) -> Changes:
        self.version += 1
        self.statistics = statistics
        for follower in self._followers.values():
            follower.follow(changes)
        return Changes(self.version, self._shown(changes), EmptyChanges(self), statistics)

    def _shown(self, changes: Mapping[str, RowChange]) -> dict[str, Change]:
        """The changes of relations that users know."""
        infos = ((name, self.engine.workspace.infos[name]) for name in changes)
        return {
            name: Change(self.codec, info.columns, info.types, changes[name])
            for name, info in infos
            if not info.internal
        }

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
        clock = self.engine.workspace.clock
        before = self._definitions, self._checked, self.engine.snapshot(), dict(self._base_changes.soft)
        changed = set(self.engine.changed)
        failed: BaseException | None = None
        try:
            self._learn(insert)
            deletes, inserts = self._encode(insert, delete, statistics)
            supposed = self._shown(self._change(deletes, inserts, now, statistics))
        except BaseException as error:
            failed = error
            raise
        finally:
            self._rollback(failed)
            if self._definitions is not before[0]:
                self._definitions, self._checked, snapshot, self._base_changes.soft = before
                self.engine.restore(snapshot)
            self.engine.workspace.clock, self.engine.changed = clock, changed
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
        workspace = self.engine.workspace
        groups = sum(view.grouping.nbytes for view in self.engine.views if view.grouping is not None)
        return sum(relation.nbytes for relation in workspace.relations.values()) + groups + self.codec.nbytes

    # ------------------------------------------------------------------ durability

    def _log_change(self, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]) -> None:
        if self._store is None:
            return
        tables = {}
        for kind, changes in (("delete", deletes), ("insert", inserts)):
            for name, rows in changes.items():
                info = self._checked.relations[name]
                if rows.shape[0]:
                    tables[f"{kind}/{name}"] = persist.to_table(self.codec, rows, info)
        learned = {} if self._definitions is self._logged else self._definitions.to_json()
        self._log("apply", {"now": self.now, **learned}, tables)
        self._logged = self._definitions

    def _log(self, kind: str, meta: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
        """Write the open version to the log; only then may it be committed."""
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

    def _committed(self) -> bool:
        """Whether the open version is on the disk already, though something came in between afterwards."""
        return self._store is not None and self._store.version > self.version

    def _recover(self, store: Store) -> None:
        """Load the checkpoint and apply the versions after it."""
        checkpoint = store.checkpoint
        if checkpoint is not None:
            meta: Any = checkpoint.meta
            self.now, self.engine.workspace.clock = meta["now"], meta["clock"]
            self._redefine(Definitions(Definitions.parsed(meta["texts"])).learned(meta))
            persist.load_relations(self.engine, self.codec, checkpoint.tables)
            persist.load_soft_state(self._base_changes.soft, self.engine, self.codec, checkpoint.tables)
            for view in self.engine.views:
                view.incomplete = list(view.stratum.relations) in meta.get("incomplete", [])
            self.version = checkpoint.version
            self.engine.changed.clear()
        for record in store.records():
            self._replay(record)
            self._records += 1

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
        changes: dict[str, dict[str, Ints]] = {"delete": {}, "insert": {}}
        for key, table in record.tables.items():
            kind, name = key.split("/", 1)
            info = self._checked.relations[name]
            changes[kind][name] = persist.from_table(self.codec, table, info)
        self._change(changes["delete"], changes["insert"], self.now, statistics)
        self._commit(statistics)
        self.version = record.version

    def checkpoint(self) -> None:
        """Write the relations that changed as new segments and start an empty log; old files are removed."""
        self._check_writable()
        if self._store is None:
            raise StoreError("not-durable", "this database lives in memory only", hint="connect with a path")
        earlier = self._store.checkpoint
        reuse = [
            name
            for name in (earlier.tables if earlier is not None else ())
            if name.startswith("rows/") and name.removeprefix("rows/") not in self.engine.changed
        ]
        tables = persist.dump_relations(self.engine, self.codec, without=reuse)
        tables.update(persist.dump_soft_state(self._base_changes.soft, self.engine, self.codec))
        meta = {
            "now": self.now,
            "clock": self.engine.workspace.clock,
            "incomplete": [view.stratum.relations for view in self.engine.views if view.incomplete],
            "texts": [[program.text, program.source] for program in self._definitions.programs],
            **self._definitions.to_json(),
        }
        self._store.write_checkpoint(Checkpoint(self.version, meta, tables), reuse=reuse)
        self.engine.changed.clear()
        self._records = 0

    def close(self) -> None:
        """Release the files. Everything acknowledged is on the disk already."""
        self._closed = True
        store, self._store = self._store, None
        if store is not None:
            store.close()

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
