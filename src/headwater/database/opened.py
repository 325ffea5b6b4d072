"""Opening a database and reading what it holds."""

from __future__ import annotations

import os
import tempfile
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from headwater.catalog import Catalog
from headwater.changes import Change
from headwater.errors import DataError, StoreError
from headwater.explain import Explanation, explain
from headwater.kernel.memory import release_idle
from headwater.maintain.engine import Engine
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.maintain.strategies import STRATEGIES
from headwater.memory.budget import MemoryUse, memory_budget
from headwater.nodes.where import Where
from headwater.progress import Progress
from headwater.provenance import evaluation
from headwater.relation_view import RelationView
from headwater.rules.checked import Checked, RelationInfo
from headwater.run.one_process import OneProcess
from headwater.run.runner import Runner
from headwater.store import Store
from headwater.values import arguments
from headwater.values.arguments import relation_name
from headwater.values.codec import Codec
from headwater.values.functions import Functions, declared_functions
from headwater.values.types import Type
from headwater.version.guard import THREADS, Guard, changes, reads

if TYPE_CHECKING:
    from headwater.database import Database

Me = TypeVar("Me", bound="Opened")


class Opened(ABC):
    """An open database: options, definitions, where it runs, what can be read of it."""

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
        memory: int | str | None = None,
        spark: Any = None,
        run: str = "local",
        nodes: Any = None,
        budget: int | None = None,
        replicate: int | None = None,
        min_ship: bool = True,
        threads: Literal["refuse", "wait"] = "refuse",
    ):
        arguments.one_of("strategy", strategy, STRATEGIES, "unknown-strategy")
        for option, value, allowed in (
            ("mode", mode, ("w", "r")),
            ("clock", clock, ("logical", "real")),
            ("at_max_rounds", at_max_rounds, ("raise", "stop")),
            ("threads", threads, THREADS),
        ):
            arguments.one_of(option, value, allowed)
        for option, switch in (("strict", strict), ("sync", sync), ("min_ship", min_ship)):
            arguments.flag(option, switch, "unknown-option")
        max_rounds = arguments.whole_number("max_rounds", max_rounds, least=1, code="unknown-option")
        self._place = Where(run, spark, nodes, budget, replicate, min_ship)
        self._place.check()
        if self._place.run != "local" and not STRATEGIES[strategy]().ranked:
            raise DataError(
                "unknown-option",
                f"strategy {strategy} runs in one process only",
                hint="leave out run=..., or use strategy='support'",
            )
        if self._place.on_nodes and mode == "r":
            raise DataError("unknown-option", "a reader runs in this process", hint="leave out run=...")
        self.guard = Guard(threads, durable=path is not None)
        self.budget = memory_budget(memory, release_idle)
        self.codec = Codec(self.budget)
        self.functions = Functions()
        self._python = declared_functions(functions)
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
            "memory": memory,
        }  # fmt: skip
        self._catalog = self._logged = Catalog(self.functions, strict)
        self._followers: weakref.WeakValueDictionary[int, evaluation.Evaluation] = (
            weakref.WeakValueDictionary()
        )
        self._closed = False
        self.spark = spark
        self.path = None if path is None else arguments.folder("path", path)
        self._progress = Progress(self.path)
        self._store: Store | None = None
        self._records = 0
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if self.path is not None:
            self._store = Store.open(self.path, mode=mode, sync=sync)
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

    def _temporary_store(self) -> Store:
        """A store for nodes to recover from, gone when the database is closed."""
        self._temporary = tempfile.TemporaryDirectory(prefix="headwater-")
        return Store.open(self._temporary.name, sync=False)

    def close(self) -> None:
        """Release the files. Everything acknowledged is on the disk already."""
        with self.guard.closing():
            self._closed = True
            if hasattr(self, "runner"):
                self.runner.close()
            store, self._store = self._store, None
            if store is not None:
                store.close()
            if self._temporary is not None:
                self._temporary.cleanup()

    def __enter__(self: Me) -> Me:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _whole(self) -> Database:
        """This, as the whole that it is built up to."""
        return cast("Database", self)

    @abstractmethod
    def _recover(self, store: Store) -> None:
        """Load what is stored; see `Versions`."""

    @changes
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

    def _stored(self, name: str) -> bool:
        """Whether a relation is there and has rows."""
        return name in self._catalog.program.relations and self.runner.stored(name)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of all base relations and views."""
        self.guard.check()
        return self._catalog.relations

    def info(self, name: str) -> RelationInfo:
        """A relation's columns, types and kind."""
        self.guard.check()
        return self._catalog.info(relation_name(name))

    def __getitem__(self, name: str) -> RelationView:
        self.info(name)
        return RelationView(self, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.relations

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """All that was defined, in order: texts and where they came from."""
        self.guard.check()
        return self._catalog.texts

    @reads
    def types_if(self, known: Mapping[str, tuple[Type | None, ...]]) -> dict[str, tuple[Type | None, ...]]:
        """What the types of all relations would be if those of some base relations were these."""
        known = arguments.mapping("known", known, '{"link": (INT, INT)}')
        for name, types in known.items():
            if not isinstance(types, tuple) or not all(isinstance(type, Type | None) for type in types):
                raise arguments.wrong(
                    f"known[{name!r}]", types, "a tuple of types, None where it is not known"
                )
        return self._catalog.types_if(known, self._stored)

    @property
    def program(self) -> Checked:
        """All rules, checked and rewritten."""
        self.guard.check()
        return self._catalog.program

    @reads
    def explain(self, name: str | None = None) -> Explanation:
        """How a view (or all) is maintained: rules, join orders, strategy, sizes, and what the last version cost."""
        if name is not None:
            self.info(name)
        return explain(self, name)

    @property
    @reads
    def nbytes(self) -> int:
        """Bytes allocated for rows, indexes and dictionaries."""
        return self.runner.nbytes + self.codec.nbytes

    @property
    def memory(self) -> MemoryUse:
        """What rows, indexes and dictionaries of this process take, against the memory budget."""
        return self.budget.use

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

    def _shown(self, changes: Mapping[str, RowChange], guard: Guard | None = None) -> dict[str, Change]:
        """Changes of base relations and views; those that leave the database are read through its guard."""
        shown = {}
        for name, change in changes.items():
            info = self._catalog.program.relations.get(name)
            if info is not None and not info.internal:
                shown[name] = Change(self.codec, info.layout, change, guard)
        return shown

    def _check_writable(self) -> None:
        if self._closed:
            raise StoreError("closed", "this database is closed", hint="connect again")
        if self.mode == "r":
            raise StoreError(
                "read-only", "this database was opened for reading", hint="connect with mode='w'"
            )
