"""Doing things to a confederation under the clock: here, Headwater by one strategy or another, and Nemo.

The clock is that of the process: its CPU seconds, those of all of its threads. So other work on the machine counts
little, and a rival that uses several cores gets no credit for it; none of these does.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from benchmarks.answers import WrongAnswer
from benchmarks.exchange.workload import SharingWorkload
from headwater.errors import MissingExtra
from headwater.exchange.edit import Transaction
from headwater.exchange.instance import PeerInstance
from headwater.exchange.wire import decode

NEMO = "Nemo"
T = TypeVar("T")
Tables = dict[str, pa.Table]


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """How many CPU seconds some work took, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def rest() -> None:
    """From now on, what is there is not looked through for garbage, until `stir`: before each turn, that took longer
    than the turn did."""
    gc.collect()
    gc.freeze()


def stir() -> None:
    """Look through everything again."""
    gc.unfreeze()


class SharingChange(NamedTuple):
    """Rows to insert and to delete, by relation."""

    insert: Tables
    delete: Tables

    def undone(self) -> SharingChange:
        """What takes it back."""
        return SharingChange(self.delete, self.insert)


class Sharing:
    """The instance of one peer, which holds those of all: what it takes on, it computes for everybody."""

    def __init__(self, workload: SharingWorkload, strategy: str = "support"):
        self.workload = workload
        self.instance = PeerInstance("P0", workload.description(strategy))

    def change(self, transactions: list[Transaction]) -> SharingChange:
        """What transactions come to, given what is there now, as tables."""
        rows = self.instance.changes_of(transactions)
        return SharingChange(self._tables(rows.insert), self._tables(rows.delete))

    def _tables(self, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> Tables:
        return {
            name: pa.table(
                {
                    column: pa.array([row[i] for row in each], self._kind(i))
                    for i, column in enumerate(self.instance.database.info(name).columns)
                }
            )
            for name, each in rows.items()
            if each
        }

    def _kind(self, column: int) -> pa.DataType:
        """The type of a column: keys come first."""
        return pa.string() if column and self.workload.dataset == "string" else pa.int64()

    def take(self, change: SharingChange) -> float:
        """Translate updates to all peers; how long that took."""
        gc.collect()
        seconds, _ = timed(lambda: self.instance.database.apply(change.insert, change.delete))
        return seconds

    def take_anew(self, change: SharingChange) -> float:
        """Drop all that was derived, change contributions, and derive all from them; how long that took."""
        gc.collect()

        def anew() -> None:
            self._forget()
            self.instance.database.apply(change.insert, change.delete)

        return timed(anew)[0]

    def follow(self, published: list[bytes]) -> float:
        """Take on transactions as they were published; how long that took, from lines of logs to the right
        instance."""
        gc.collect()
        return timed(lambda: self.instance.take(list(map(decode, published))))[0]

    def _forget(self) -> None:
        engine = self.instance.database.engine
        for view in engine.views:
            for name in view.stratum.relations:
                engine.workspace.relations[name].clear()

    def outputs(self) -> dict[str, int]:
        """How many rows each relation of each peer has."""
        names = self.instance.compiled.names
        return {
            relation.name: len(self.instance.database[names.output(relation)])
            for peer in self.workload.peers
            for relation in self.instance.schemas.of(peer.name)
        }

    def size(self) -> tuple[int, int, int]:
        """Rows of all relations (contributions, provenance and all), contributions alone, and bytes."""
        database = self.instance.database
        rows = sum(len(database[name]) for name in database.relations)
        base = sum(len(database[name]) for name in self.instance.compiled.contributions)
        return rows, base, database.nbytes

    def close(self) -> None:
        """Free the memory."""
        self.instance.close()


@contextmanager
def contributed(workload: SharingWorkload, entries: dict[int, range]) -> Iterator[Path]:
    """A folder with the contributions as files, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        workload.write_csv(Path(folder), entries)
        yield Path(folder)


def from_scratch(workload: SharingWorkload, folder: Path) -> tuple[float, Sharing]:
    """Read the contributions from files, define everything, derive everything."""
    gc.collect()
    return timed(lambda: _load(workload, folder))


def _load(workload: SharingWorkload, folder: Path) -> Sharing:
    from pyarrow import csv

    sharing = Sharing(workload)
    names = sharing.instance.compiled.names
    tables: dict[str, Any] = {}
    for peer in workload.peers:
        for relation in sharing.instance.schemas.of(peer.name):
            columns = [column.name for column in sharing.instance.schemas.columns[relation]]
            kind = pa.int64() if workload.dataset == "integer" else pa.string()
            types = {name: pa.int64() if name == "key" else kind for name in columns}
            table = csv.read_csv(
                folder / f"{relation.name}.csv",
                read_options=csv.ReadOptions(column_names=columns),
                convert_options=csv.ConvertOptions(column_types=types),
            )
            inside = sharing.instance.database.info(names.contributions(relation)).columns
            tables[names.contributions(relation)] = table.rename_columns(inside)
    sharing.instance.database.apply(insert=tables)
    return sharing


def nemo_from_scratch(workload: SharingWorkload, folder: Path) -> tuple[float, Any]:
    """The same by Nemo: it reads the same files, and derives the same relations."""
    nemo = require_nemo()
    text = workload.nemo(folder)
    gc.collect()

    def reason() -> Any:
        engine = nemo.NemoEngine(nemo.load_string(text))
        engine.reason()
        return engine

    return timed(reason)


def nemo_sizes(workload: SharingWorkload, engine: Any) -> dict[str, int]:
    """How many rows Nemo has for each relation of each peer."""
    return {
        name: sum(1 for _ in engine.result(f"{name}_o")) for peer in workload.peers for name in peer.relations
    }


def require_nemo() -> Any:
    """The module of Nemo's bindings."""
    try:
        import nmo_python
    except ImportError as error:
        raise MissingExtra(
            "missing-extra", "nemo-python is not installed", hint="pip install 'headwater[bench]'"
        ) from error
    return nmo_python


def same_sizes(what: str, ours: dict[str, int], theirs: dict[str, int], against: str) -> int:
    """Refuse answers that differ; how many rows were compared."""
    if ours != theirs:
        wrong = {name: (ours[name], theirs.get(name)) for name in ours if ours[name] != theirs.get(name)}
        raise WrongAnswer("wrong-answer", f"{what}: {against} has other rows: {wrong}", hint="this is a bug")
    return sum(ours.values())


def same_rows(what: str, ours: Sharing, theirs: Sharing, against: str) -> int:
    """Refuse instances that differ in any row; how many rows were compared."""
    total = 0
    for peer in ours.workload.peers:
        for relation in ours.instance.schemas.of(peer.name):
            name = ours.instance.compiled.names.output(relation)
            left, right = (_sorted(one.instance.database[name].arrow()) for one in (ours, theirs))
            if not left.equals(right):
                raise WrongAnswer(
                    "wrong-answer", f"{what}: {relation} differs from {against}'s", hint="this is a bug"
                )
            total += left.num_rows
    return total


def _sorted(table: Any) -> Any:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()
