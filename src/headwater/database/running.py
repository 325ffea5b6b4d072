"""Where a database's relations are: put there at the start, moved to nodes when they outgrow this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headwater.database.durability import Durability
from headwater.database.versions import Versions
from headwater.errors import DataError, HeadwaterError, StoreError
from headwater.events import CheckpointFailed, MovedToNodes
from headwater.kernel.beside import cores_of_use
from headwater.local.one_process import OneProcess
from headwater.options import Options
from headwater.values.codec import Codec
from headwater.values.functions import Functions, declared_functions
from headwater.values.types import Type
from headwater.version.spectator import Spectator, screen_of


class Running:
    """The runner of a database's versions, from its start to its end; and the functions that rules call there."""

    def __init__(
        self, options: Options, codec: Codec, functions: Functions, versions: Versions, durability: Durability
    ):
        self._options = options
        self._codec = codec
        self._functions = functions
        self._versions = versions
        self._durability = durability
        self._place = options.place
        self._python = declared_functions(options.functions)
        for name, (function, args, returns, nulls) in self._python.items():
            functions.register(name, function, args, returns, nulls=nulls)

    def start(self, path: Path | None) -> None:
        """Open the folder, put relations where they are to be, and bring them to where they were."""
        store = None
        if path is not None:
            store = self._durability.open(path, mode=self._options.mode, sync=self._options.sync)
        if self._place.on_nodes:
            self._versions.runner = self._place.start(
                self._codec,
                store or self._durability.open_temporary(),
                self._options.evaluation,
                self._python,
            )
        else:
            self._versions.runner = OneProcess(
                self._codec,
                self._functions,
                strategy=self._options.strategy,
                max_rounds=self._options.max_rounds,
                at_max_rounds=self._options.at_max_rounds,
                spectator=Spectator(screen_of(self._options.progress)),
            )
            self._versions.runner.engine.unstored.using = self._options.optimisations
            self._versions.runner.engine.workspace.cores = self._options.cores or cores_of_use()
        if store is not None:
            self._versions.recover(store, self._options.version)

    def follow(self) -> bool:
        """In a reader: take on what the writer has committed since; whether that could be done from here."""
        store = self._durability.store
        assert store is not None
        try:
            self._versions.follow(store)
        except StoreError as error:
            if error.code != "missed":
                raise
            return False
        return True

    def close(self) -> None:
        """Give everything back, however far the start came."""
        if hasattr(self._versions, "runner"):
            self._versions.runner.close()
        self._durability.close()

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Type | str] | None,
        returns: Type | str,
        nulls: bool,
    ) -> None:
        """Let rules call a Python function."""
        if not self._versions.runner.here:
            raise DataError(
                "nodes-are-running",
                f"{name} cannot be registered while nodes are running without it",
                hint="give it to connect: functions={name: (function, argument types, result type)}",
            )
        self._functions.register(name, function, args, returns, nulls=nulls)
        self._python[name] = (function, args, returns, nulls)

    def after_version(self) -> None:
        """Write a checkpoint if the log has grown long, and move to nodes if the state has outgrown this process.

        The version stands: that no checkpoint could be written is only told.
        """
        runner, standing = self._versions.runner, self._versions.standing
        if self._durability.due():
            try:
                self._durability.checkpoint(runner)
            except HeadwaterError as error:
                standing.statistics.events.append(CheckpointFailed(error.code, error.message))
        watched = bool(standing.catalog.program.followed)  # which nodes cannot follow
        if self._place.run == "auto" and runner.here and not watched:
            size, limit = runner.nbytes + self._codec.nbytes, self._place.limit()
            if size > limit:
                self._move(MovedToNodes(standing.number, size, limit))

    def _move(self, moved: MovedToNodes) -> None:
        """From here to nodes, by way of a checkpoint."""
        standing = self._versions.standing
        store = self._durability.store or self._durability.open_temporary()
        self._durability.checkpoint(self._versions.runner)
        assert store.checkpoint is not None
        nodes = self._place.start(self._codec, store, self._options.evaluation, self._python, str(moved))
        try:
            nodes.load(store.checkpoint, standing.catalog)
        except BaseException:
            nodes.close()
            raise
        self._versions.runner = nodes
        standing.statistics.events.append(moved)
