"""The database: definitions and changes in, views and their changes out.

A version is applied whole or not at all. Relations that no text declares take their types from the first rows
they get. With a path, a version is on the disk before it is acknowledged.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

import numpy as np

from headwater import persist
from headwater.changes import Change, Changes, EmptyChanges
from headwater.errors import DataError, HeadwaterError, StoreError
from headwater.explain import Explanation, explain
from headwater.language.datalog import parse
from headwater.language.program import Column, Declaration, Program
from headwater.maintain.engine import Engine
from headwater.maintain.keys import last_by_key, replaced
from headwater.maintain.row_change import RowChange
from headwater.maintain.soft_state import SoftState
from headwater.maintain.statistics import VersionStatistics
from headwater.maintain.strategies import STRATEGIES
from headwater.plan.steps import Ints
from headwater.relation_view import RelationView
from headwater.rules.check import check
from headwater.rules.checked import Checked, RelationInfo
from headwater.store import Checkpoint, Record, Store
from headwater.values.codec import Codec, infer_types
from headwater.values.functions import Functions
from headwater.values.types import Type

CHECKPOINT_BYTES = 16 << 20
CHECKPOINT_RECORDS = 1000


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
        clock: Literal["logical", "real"] = "logical",
        functions: Mapping[str, tuple[Callable[..., Any], Sequence[Type | str] | None, Type | str]]
        | None = None,
        sync: bool = True,
    ):
        if strategy not in STRATEGIES:
            raise DataError(
                "unknown-strategy", f"no strategy {strategy!r}", hint=f"one of {', '.join(STRATEGIES)}"
            )
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
        self.engine = Engine(self.codec, self.functions, strategy=strategy, max_rounds=max_rounds)
        self._programs: list[Program] = []
        self._known: dict[str, tuple[Type | None, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._soft: dict[str, SoftState] = {}
        self._store: Store | None = None
        self._records = 0
        self._checked = self._check(())
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

    def define(self, text: str, *, source: str = "<text>") -> Changes:
        """Add rules, declarations and facts, as Datalog text; one version.

        Views that the new rules do not concern keep their rows. If anything is refused, nothing changes.
        """
        self._check_writable()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        changes = self._define(text, source, log=True)
        self._checkpoint_if_due()
        return changes

    def _define(self, text: str, source: str, *, log: bool) -> Changes:
        started = time.perf_counter()
        program = parse(text, source)
        checked = self._check((program,))
        statistics = VersionStatistics(self.version + 1)
        facts = {
            name: self.codec.encode_rows(
                rows, checked.relations[name].types, relation=name, columns=checked.relations[name].columns
            )
            for name, rows in checked.facts.items()
        }
        moved = self._moved(checked)
        for name, rows in moved.items():
            facts[name] = np.concatenate([rows, facts.get(name, rows[:0])])
        try:
            self.engine.define(checked, statistics)
            first = self.engine.changes()
            for change in first.values():
                change.resolve()
        except BaseException:
            self.engine.rollback()
            raise
        self.engine.commit(statistics)
        before = self._checked, dict(self._known), dict(self._soft)
        evicted = self._adopt(checked)
        for name in facts:
            self._known[name] = checked.relations[name].types
        try:
            second = self._change(evicted, facts, self.now, statistics)
            if log:
                self._log("define", {"text": text, "source": source, "now": self.now}, {})
        except BaseException:
            self._rollback()
            self._checked, self._known, self._soft = before
            self.engine.define(self._checked, VersionStatistics())
            self.engine.commit(VersionStatistics())
            raise
        self._commit(statistics)
        self._programs.append(program)
        statistics.seconds = time.perf_counter() - started
        return self._finish(_merged(first, second), statistics)

    def _moved(self, checked: Checked) -> dict[str, Ints]:
        """Rows of base relations that get rules now: the hidden base relation for rows from outside takes them."""
        rows = {}
        for name, hidden in checked.facades.items():
            old = self._checked.relations.get(name)
            if old is not None and old.base:
                rows[hidden] = self.engine.workspace.relations[name].matrix()
        return rows

    def _check(self, more: Sequence[Program]) -> Checked:
        """Check all that is defined together with more programs.

        Facts of earlier programs have been inserted already (and may have been deleted since), so they are
        left out; the types and relations they gave rise to are known.
        """
        old = [
            Program(
                tuple(rule for rule in program.rules if rule.body), program.declarations, program.tables,
                program.directives, program.queries,
            )
            for program in self._programs
        ]  # fmt: skip
        programs = [*old, *more]
        declared = {d.relation for program in programs for d in program.declarations}
        inferred = tuple(
            Declaration(name, tuple(Column(c, t) for c, t in zip(columns, self._known[name], strict=True)))
            for name, columns in self._names.items()
            if name not in declared
        )
        whole = Program(
            rules=tuple(rule for program in programs for rule in program.rules),
            declarations=(*(d for program in programs for d in program.declarations), *inferred),
            tables=tuple(table for program in programs for table in program.tables),
            directives=tuple(directive for program in programs for directive in program.directives),
            queries=tuple(query for program in programs for query in program.queries),
        )
        known = {
            name: info.types
            for name, info in (self._checked.relations.items() if hasattr(self, "_checked") else ())
            if info.base and self.engine.workspace.relations[name].stored
        }
        return check(whole, self.functions, known={**known, **self._known}, strict=self.strict)

    def _adopt(self, checked: Checked) -> dict[str, Ints]:
        """Go by a newly checked program. Lifetimes of rows that are there begin now; return rows too many."""
        self._checked = checked
        evicted = {}
        for name, info in checked.relations.items():
            if info.base and (info.lifetime is not None or info.size is not None) and name not in self._soft:
                soft = self._soft[name] = SoftState(info.arity, info.lifetime, info.size)
                too_many = soft.insert(self.engine.workspace.relations[name].matrix(), self.now)
                if too_many.shape[0]:
                    evicted[name] = too_many
        return evicted

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        args: Sequence[Type | str] | None = None,
        returns: Type | str,
    ) -> None:
        """Let rules call a Python function. It must give the same result for the same arguments, for ever.

        Functions are not stored: register them (or pass `functions` to `connect`) each time a state is opened.
        """
        self.functions.register(name, function, args, returns)

    # ------------------------------------------------------------------ changes

    def apply(
        self, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None
    ) -> Changes:
        """Delete and insert rows of base relations (deletes first) as one version; return what that did.

        Rows are sequences of tuples or dicts, Arrow tables, pandas or polars DataFrames, or numpy matrices.
        Inserting a row that is there, or deleting one that is not, does nothing but count.
        """
        self._check_writable()
        insert = {name: rows for name, data in (insert or {}).items() if len(rows := _replayable(data))}
        delete = {name: _replayable(rows) for name, rows in (delete or {}).items()}
        started = time.perf_counter()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        statistics = VersionStatistics(self.version + 1)
        before = dict(self._known), dict(self._names), self._checked
        try:
            self._learn(insert)
            deletes, inserts = self._encode(insert, delete, statistics)
            changes = self._change(deletes, inserts, self.now, statistics)
            self._log_change(deletes, inserts)
        except BaseException:
            self._restore(*before)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
        return done

    def advance(self, to: float | None = None) -> Changes:
        """Set the time to `to` (seconds; now, with a real clock) and let base rows expire; one version."""
        self._check_writable()
        started = time.perf_counter()
        if to is None:
            if self.clock != "real":
                raise DataError("no-time", "a logical clock advances to a time given", hint="advance(to=...)")
            to = max(self.now, time.time())
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
        except BaseException:
            self.now = before
            self._rollback()
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
        """Work out keys, lifetimes and sizes, and let the engine apply it all. The caller commits."""
        relations = self.engine.workspace.relations
        deletes, inserts = dict(deletes), dict(inserts)
        for name, soft in self._soft.items():
            expired = soft.expire(now)
            if expired.shape[0]:
                deletes[name] = _plus(deletes.get(name), expired)
        for name, rows in list(inserts.items()):
            info = self._checked.relations[name]
            if info.key is not None and len(info.key) < info.arity:
                rows = inserts[name] = last_by_key(rows, info.key)
                old = _without(replaced(relations[name], rows, info.key), rows)
                deletes[name] = _plus(deletes.get(name), old)
        for name, soft in self._soft.items():
            if name in deletes:
                soft.delete(deletes[name])
            if name in inserts:
                evicted = soft.insert(inserts[name], now)
                if evicted.shape[0]:
                    inserts[name] = _without(inserts[name], evicted)
                    deletes[name] = _plus(deletes.get(name), evicted)
        self.engine.apply(deletes, inserts, statistics)
        return self.engine.changes()

    def _learn(self, insert: Mapping[str, Any]) -> None:
        """Take types from rows where nothing else tells, and take on relations never heard of."""
        learned = False
        for name, rows in insert.items():
            info = self._base(name)
            if info is not None and None not in info.types:
                continue
            if info is None and self.strict:
                raise self._unknown(name)
            types, columns = infer_types(rows, name)
            if info is None:
                if not types:
                    types = (None,) * (len(columns) if columns else 0)
                self._names[name] = columns or tuple(f"c{i}" for i in range(len(types)))
                self._known[name] = types
                learned = True
            elif len(types) == info.arity:
                merged = tuple(old or new for old, new in zip(info.types, types, strict=True))
                if merged != info.types:
                    self._known[name] = merged
                    learned = True
        if learned:
            self._redefine()

    def _redefine(self) -> None:
        checked = self._check(())
        try:
            self.engine.define(checked, VersionStatistics())
        except BaseException:
            self.engine.rollback()
            raise
        self.engine.commit(VersionStatistics())
        self._adopt(checked)

    def _restore(
        self, known: dict[str, tuple[Type | None, ...]], names: dict[str, tuple[str, ...]], checked: Checked
    ) -> None:
        """Undo an open version and what was learned for it."""
        self._rollback()
        if self._known != known or self._names != names:
            self._known, self._names = known, names
            self._checked = checked
            self.engine.define(checked, VersionStatistics())
            self.engine.commit(VersionStatistics())

    def _rollback(self) -> None:
        self.engine.rollback()
        for soft in self._soft.values():
            soft.rollback()

    def _commit(self, statistics: VersionStatistics) -> None:
        self.engine.commit(statistics)
        for soft in self._soft.values():
            soft.commit()

    def _finish(self, changes: Mapping[str, RowChange], statistics: VersionStatistics) -> Changes:
        self.version += 1
        self.statistics = statistics
        shown = {}
        for name, change in changes.items():
            info = self.engine.workspace.infos[name]
            if not info.internal:
                shown[name] = Change(self.codec, info.columns, info.types, change)
        return Changes(self.version, shown, EmptyChanges(self), statistics)

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
        return name in self._checked.relations

    @property
    def program(self) -> Checked:
        """All rules, checked and rewritten."""
        return self._checked

    def explain(self, name: str | None = None) -> Explanation:
        """How a view (or all) is maintained: rules, join orders, strategy, sizes, and what the last version cost."""
        if name is not None:
            self.info(name)
        return explain(self, name)

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
        meta = {"now": self.now, "known": self._known_json(), "names": self._names}
        self._log("apply", meta, tables)

    def _known_json(self) -> dict[str, list[str | None]]:
        return {name: persist.types_to_json(types) for name, types in self._known.items()}

    def _log(self, kind: str, meta: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
        """Write the open version to the log; only then may it be committed."""
        if self._store is not None:
            self._store.append(Record(self.version + 1, kind, meta, tables))
            self._records += 1

    def _checkpoint_if_due(self) -> None:
        if self._store is not None and (
            self._records >= CHECKPOINT_RECORDS or self._store.stats().log_bytes > CHECKPOINT_BYTES
        ):
            self.checkpoint()

    def _recover(self, store: Store) -> None:
        """Load the checkpoint and apply the versions after it."""
        checkpoint = store.checkpoint
        if checkpoint is not None:
            meta: Any = checkpoint.meta
            self.now, self.engine.workspace.clock = meta["now"], meta["clock"]
            self._known = {name: persist.types_from_json(types) for name, types in meta["known"].items()}
            self._names = {name: tuple(columns) for name, columns in meta["names"].items()}
            self._programs = [parse(text, source) for text, source in meta["texts"]]
            self._redefine()
            persist.load_relations(self.engine, self.codec, checkpoint.tables)
            persist.load_soft_state(self._soft, self.engine, self.codec, checkpoint.tables)
            self.version = checkpoint.version
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
        if record.kind == "apply":
            known = {name: persist.types_from_json(types) for name, types in meta["known"].items()}
            names = {name: tuple(columns) for name, columns in meta["names"].items()}
            if known != self._known or names != self._names:
                self._known, self._names = known, names
                self._redefine()
        changes: dict[str, dict[str, Ints]] = {"delete": {}, "insert": {}}
        for key, table in record.tables.items():
            kind, name = key.split("/", 1)
            info = self._checked.relations[name]
            changes[kind][name] = persist.from_table(self.codec, table, info)
        self._change(changes["delete"], changes["insert"], self.now, statistics)
        self._commit(statistics)
        self.version = record.version

    def checkpoint(self) -> None:
        """Write all relations as new segments and start an empty log; old files are removed."""
        if self._store is None:
            raise StoreError("not-durable", "this database lives in memory only", hint="connect with a path")
        self._check_writable()
        tables = persist.dump_relations(self.engine, self.codec)
        tables.update(persist.dump_soft_state(self._soft, self.engine, self.codec))
        meta = {
            "now": self.now,
            "clock": self.engine.workspace.clock,
            "known": self._known_json(),
            "names": self._names,
            "texts": [[program.text, program.source] for program in self._programs],
        }
        self._store.write_checkpoint(Checkpoint(self.version, meta, tables))
        self._records = 0

    def close(self) -> None:
        """Release the files. Everything acknowledged is on the disk already."""
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

        near = difflib.get_close_matches(name, self.relations, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(self.relations) or 'none'}"
        return DataError("unknown-relation", f"there is no relation {name}", hint=hint)


def _replayable(rows: Any) -> Any:
    """Rows that can be read more than once: an iterator is made a list."""
    return list(rows) if hasattr(rows, "__next__") else rows


def _plus(rows: Ints | None, more: Ints) -> Ints:
    """The rows and those of the others that are not among them."""
    return more if rows is None else np.concatenate([rows, _without(more, rows)])


def _without(rows: Ints, gone: Ints) -> Ints:
    """The rows that are not among the others."""
    if rows.shape[0] == 0 or gone.shape[0] == 0:
        return rows
    keys = {row.tobytes() for row in np.ascontiguousarray(gone)}
    return np.ascontiguousarray(rows[[row.tobytes() not in keys for row in np.ascontiguousarray(rows)]])


def _merged(first: dict[str, RowChange], second: dict[str, RowChange]) -> dict[str, RowChange]:
    """The changes of two steps as one."""
    out = {**first, **second}
    for name in first.keys() & second.keys():
        a, b = first[name], second[name]
        gained = np.concatenate([_without(a.gained, b.lost), _without(b.gained, a.lost)])
        lost = np.concatenate([_without(a.lost, b.gained), _without(b.lost, a.gained)])
        out[name] = RowChange(lost, gained)
    return out
