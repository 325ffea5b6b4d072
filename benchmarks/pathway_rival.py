"""Pathway, an incremental dataflow engine, in a process of its own.

A change is a set of rows sent to a connector and one commit. Its time runs from the commit until the engine
says that everything at that moment has reached the output. The engine sleeps when it has nothing to do and then
takes some 50 ms to notice a change, so it is woken before the clock starts. It has one worker thread, which was
the faster choice for single changes.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.errors import HeadwaterError

PATIENCE = 300.0
"""Seconds to wait for an answer."""

Rows = Mapping[str, Sequence[Sequence[int]] | npt.NDArray[np.int64]]


class RivalFailed(HeadwaterError):
    """Pathway did not answer, or answered with an error."""


def installed() -> bool:
    """Whether Pathway can be measured here."""
    return importlib.util.find_spec("pathway") is not None


class Dataflow:
    """A query that Pathway keeps up to date."""

    def __init__(self, ask: Any, relations: Sequence[str]):
        self._ask = ask
        self._kinds = {name: kind for kind, name in enumerate(relations)}
        self.with_sending = 0.0

    def apply(self, insert: Rows | None = None, delete: Rows | None = None) -> float:
        """Change rows; return the seconds from the commit to the output.

        `with_sending` keeps the seconds of the last change from its first row.
        """
        seconds, self.with_sending = self._ask(
            ("apply", self._tagged(delete or {}), self._tagged(insert or {}))
        )
        return float(seconds)

    def answer(self) -> list[npt.NDArray[np.int64]]:
        """The columns of the output."""
        matrix = self._ask(("answer",))
        return [np.ascontiguousarray(column) for column in matrix.T]

    def _tagged(self, changes: Rows) -> npt.NDArray[np.int64]:
        """Rows of all relations in one shape: which relation, then three values."""
        parts = [np.zeros((0, 4), np.int64)]
        for name, rows in changes.items():
            if not len(rows):
                continue
            matrix = np.asarray(rows, np.int64)
            tagged = np.zeros((matrix.shape[0], 4), np.int64)
            tagged[:, 0] = self._kinds[name]
            tagged[:, 1 : 1 + matrix.shape[1]] = matrix
            parts.append(tagged)
        return np.concatenate(parts)


class Pathway:
    """The process that Pathway runs in. Starts with the first query."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Connection | None = None

    @contextmanager
    def dataflow(self, query: str, rows: Rows, **parameters: int) -> Iterator[Dataflow]:
        """Run a query of `pathway_process` over these rows until the block ends."""
        self._start()
        self._ask(("open", query, parameters))
        dataflow = Dataflow(self._ask, tuple(rows))
        dataflow.apply(insert=rows)
        yield dataflow
        self._ask(("close",))

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.join()
            self._process = self._connection = None

    def _start(self) -> None:
        if self._process is None:
            from benchmarks.pathway_process import serve

            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()

    def _ask(self, message: tuple[Any, ...]) -> Any:
        assert self._connection is not None
        try:
            self._connection.send(message)
            if not self._connection.poll(PATIENCE):
                raise RivalFailed("rival-failed", f"Pathway did not answer in {PATIENCE:.0f} seconds")
            result = self._connection.recv()
        except (EOFError, OSError) as error:
            raise RivalFailed("rival-failed", "the process of Pathway has ended") from error
        if isinstance(result, str):
            raise RivalFailed("rival-failed", f"Pathway: {result}")
        return result
