"""A network of processes on TCP, as its driver sees it.

Each process runs a node, or several where there are many; processes connect to each other directly. The driver has
them started, hands them base rows, asks in waves whether all is quiet, and reads rows. It has no part in what nodes
say to each other.

A process that is gone has lost what it knew, and others have sent it what it does not know any more. So all nodes
begin a new *epoch*, with nothing, and the driver, who owns the base rows, gives them all again: variables and
tombstones begin anew, and whatever was under way in an earlier epoch is told by its number and dropped.

Processes end with the driver, however it leaves: each holds a connection to it and ends when that does.
"""

from __future__ import annotations

import contextlib
import heapq
import logging
import math
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from headwater import errors
from headwater.errors import DataError, EvaluationError, HeadwaterError
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.node_settings import NodeSettings
from headwater.networks.runtime.directory import Addresses, Directory, Hashed
from headwater.networks.runtime.given_to_nodes import GivenChange, GivenToNodes
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.watching import WatchedRow
from headwater.networks.transports.carrier import CarriedMessage, Derivation, TableRow, carried_again
from headwater.networks.transports.node_loop import Counters, settle, settled
from headwater.networks.transports.tcp.control import (
    ALL_NODES,
    AskCounters,
    AskDerivations,
    AskMessages,
    AskRows,
    AskWatched,
    BeginEpoch,
    BeginStage,
    Change,
    ChangeBase,
    Control,
    CountersTold,
    DerivationsTold,
    MessagesTold,
    NotDone,
    RowsTold,
    StartTimers,
    WatchedTold,
    decode_control,
    encode_control,
)
from headwater.networks.transports.tcp.frames import ConnectionGone
from headwater.networks.transports.tcp.gathering import NodeGone, Processes
from headwater.networks.transports.tcp.hosting import Children, Prefix, ProcessStarter
from headwater.values.functions import Functions

log = logging.getLogger("headwater.networks")

MOST_LOSSES_IN_A_ROW = 4
SECONDS_BETWEEN_LOOKS = 0.05
"""How often it is looked whether all is quiet still, while time passes."""

T = TypeVar("T")


class TcpNetwork:
    """Processes that run a program together. `names` are the addresses of nodes in a program with `@`, else `nodes`
    says how many there are; `processes` how many processes they are in (one each, if nothing is said). `hosts` are
    those at which processes listen, `host` that of the driver; with a `prefix` to their command, processes can be in
    network namespaces of their own. A `starter` starts processes otherwise. With `recording`, `messages` has what
    nodes say to each other."""

    def __init__(
        self,
        text: str | NodeSettings,
        *,
        nodes: int | None = None,
        names: Sequence[Any] = (),
        links: Sequence[Sequence[int]] = (),
        scheme: str = "absorption",
        processes: int | None = None,
        host: str = "127.0.0.1",
        hosts: Sequence[str] = (),
        prefix: Prefix = lambda number: (),
        starter: ProcessStarter | None = None,
        recording: bool = False,
    ):
        self.names = tuple(names)
        self._links = tuple(map(tuple, links))
        self.nodes = len(self.names) or nodes or 2
        self.epoch = 0
        self.waves = 0
        """How many waves it took until all was quiet."""
        self.losses = 0
        self.last_message = 0.0
        self._recording = recording
        self._directory: Directory = Addresses(self.names) if self.names else Hashed(self.nodes)
        self.began = time.time()
        self._adopt(text if isinstance(text, NodeSettings) else NodeSettings(text, scheme=scheme))
        self._processes = Processes(
            starter or Children(host, hosts, prefix), min(self.nodes, processes or self.nodes)
        )
        self._timed = False
        """Whether timers run: the base rows that nodes begin with come before the first of them fires."""
        self._counted: dict[int, CountersTold] = {}
        self._before = 0, 0
        """Messages and bytes of earlier epochs."""
        self._ending = weakref.finalize(self, self._processes.end, os.getpid())
        try:
            self._processes.start(range(self._processes.number))
            self.began = time.time()
            self._surely(self._begin)
        except BaseException:
            self.close()
            raise

    def become(self, text: str | NodeSettings, scheme: str | None = None) -> None:
        """Run another program, from nothing, in the same processes."""
        self._adopt(
            text if isinstance(text, NodeSettings) else NodeSettings(text, scheme=scheme or self.scheme)
        )
        self._surely(self._begin)

    def _adopt(self, settings: NodeSettings) -> None:
        plan = settings.checked().plan(Functions())
        program = plan.program
        if program.addressed != bool(self.names):
            raise DataError(
                "topology",
                "a program with @ needs the names of its nodes"
                if program.addressed
                else "there is no @ in the program",
                hint="names=[...] for programs whose relations live at addresses, nodes=4 for others",
            )
        self.settings, self._program = settings, program
        self._given = GivenToNodes(plan, self._directory)
        for relation, rows in program.facts.items():
            for row in rows:
                self._given.take_down(self._given.checked(True, relation, tuple(row)), self.now)

    @property
    def scheme(self) -> str:
        """What rows carry."""
        return self.settings.scheme

    @property
    def processes(self) -> list[int]:
        """The process ids, by number."""
        return self._processes.ids()

    def kill(self, number: int) -> None:
        """Kill a process, as a failure would."""
        self._processes.kill(number)

    # ------------------------------------------------------------------ epochs

    def _begin(self) -> None:
        """A new epoch: all nodes hold nothing, and get the base rows."""
        self.epoch += 1
        hosts, ports = self._processes.addresses()
        command = BeginEpoch(
            self.epoch,
            self.settings.fields(),
            self.names,
            self._links,
            self.nodes,
            hosts,
            ports,
            self.began,
            self._recording,
        )
        messages, volume = self.traffic()
        self._before, self._counted = (messages, volume), {}
        self._ask_all(command)
        self._send([self._given.checked(True, relation, row) for relation, row in self.given()])
        if self._timed:
            self._ask_all(StartTimers())

    def _start_timers(self) -> None:
        if not self._timed:
            self._ask_all(StartTimers())
            self._timed = True

    def _revive(self, gone: NodeGone) -> None:
        """Start processes that are gone, and begin a new epoch."""
        self.losses += 1
        log.warning("%s; all nodes begin a new epoch", gone.message)
        self._processes.start_missing()
        self._begin()

    def _surely(self, work: Callable[[], T]) -> T:
        """Do it; where a process is lost meanwhile, have it started again, and do it once more."""
        for _ in range(MOST_LOSSES_IN_A_ROW):
            try:
                return work()
            except NodeGone as gone:
                lost = gone
            with contextlib.suppress(NodeGone):  # what is still gone is found out by the next attempt
                self._revive(lost)
        raise EvaluationError(
            "node-lost",
            f"processes were lost {MOST_LOSSES_IN_A_ROW} times in a row: {lost.message}",
            hint="what they say goes to standard error; is there memory left?",
        )

    # ------------------------------------------------------------------ asking

    def _ask_all(self, command: Control) -> list[Control]:
        return self._ask_each(dict.fromkeys(range(self._processes.number), command))

    def _ask_each(self, commands: dict[int, Control]) -> list[Control]:
        """What processes answer. All answers are taken in, also if one is gone: the others will be asked again."""
        if not self._ending.alive:
            raise DataError("closed", "this network is closed")
        lost: list[int] = []
        replies: list[Control] = []
        waited = list(commands)
        try:
            for number, command in commands.items():
                try:
                    self._processes.connection(number).send(encode_control(command))
                except ConnectionGone:
                    lost.append(number)
            while waited:
                number = waited[0]
                if number not in lost:
                    try:
                        replies.append(decode_control(self._processes.connection(number).receive()))
                    except ConnectionGone:
                        lost.append(number)
                waited.pop(0)
        except BaseException:  # Ctrl-C: answers that nobody waits for would be taken for others
            self._processes.drop(waited)
            raise
        self._processes.drop(lost)
        if lost:
            raise NodeGone("node-lost", f"processes {lost} of the network are gone")
        for reply in replies:
            if isinstance(reply, NotDone):
                raise _error_of(reply)
        return replies

    def _ask_one(self, node: int, command: Control) -> Control:
        (reply,) = self._ask_each({self._process(node): command})
        return reply

    def _process(self, node: int) -> int:
        return node % self._processes.number

    # ------------------------------------------------------------------ changes

    def insert(self, relation: str, row: Row) -> None:
        """Insert a base row; what follows is under way when this returns."""
        self.change([(True, relation, row)])

    def delete(self, relation: str, row: Row) -> None:
        """Delete a base row."""
        self.change([(False, relation, row)])

    def change(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        """Insert (true) and delete base rows, in order."""
        given = self._checked(changes)
        for change in given:
            self._given.take_down(change, self.now)
        try:
            self._send(given)
        except NodeGone as gone:
            lost = gone
            self._surely(lambda: self._revive(lost))  # the new epoch has the rows
            self._surely(lambda: self._send(self._given.events(given)))
        self._surely(self._start_timers)

    def check(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        """Refuse changes of which one cannot be made."""
        self._checked(changes)

    def given(self) -> Iterable[tuple[str, Row]]:
        """The base rows that there are."""
        return self._given.there(self.now)

    def _checked(self, changes: Sequence[tuple[bool, str, Row]]) -> list[GivenChange]:
        return [self._given.checked(*change) for change in changes]

    def _send(self, changes: Sequence[GivenChange]) -> None:
        parts: dict[int, list[Change]] = {}
        for change in changes:
            told = (change.node, change.comes, self._given.name(change), change.row)
            parts.setdefault(self._process(change.node), []).append(told)
        self._ask_each({number: ChangeBase(tuple(part)) for number, part in parts.items()})

    # ------------------------------------------------------------------ time and quiet

    @property
    def now(self) -> float:
        """Seconds since the network began."""
        return time.time() - self.began

    def run(self, until: float | None = None) -> bool:
        """Wait until all is quiet, or until so many seconds have passed since the network began; whether it is."""
        if until is None:
            self.settle()
            return True
        losses, end = self.losses, max(until, self.now)
        asked = end - self.now
        while self.now < end:
            self._surely(partial(self._settled, end))
            if self.losses > losses:  # the new epoch has as long as was asked for
                losses, end = self.losses, self.now + asked
            time.sleep(max(0.0, min(SECONDS_BETWEEN_LOOKS, end - self.now)))
        return self._surely(lambda: settled(self._wave(), self._wave()))

    def settle(self) -> None:
        """Wait until all is quiet."""
        self._surely(self._settled)

    def _wave(self) -> list[Counters]:
        self.waves += 1
        told = [reply for reply in self._ask_all(AskCounters()) if isinstance(reply, CountersTold)]
        if sum(each.sent for each in told) != sum(each.sent for each in self._counted.values()):
            self.last_message = self.now
        self._counted = dict(enumerate(told))
        return [Counters(t.sent, t.received, t.timers, QuietStage(t.wants), t.held) for t in told]

    def _settled(self, until: float = math.inf) -> None:
        self._start_timers()
        self.waves = 0

        def begin(stage: QuietStage) -> None:
            self._ask_all(BeginStage(int(stage)))

        settle(self._wave, begin, lambda: self.now >= until)

    # ------------------------------------------------------------------ what there is

    def rows(self, relation: str, node: int | None = None) -> set[Row]:
        """All rows of a relation, wherever they live, or those at a node; what is under way is waited for."""

        def read() -> set[Row]:
            self._settled()
            return self._rows(relation, node)

        return self._surely(read)

    def rows_now(self, relation: str, node: int | None = None) -> set[Row]:
        """The rows that are there now, whatever is under way."""
        return self._surely(lambda: self._rows(relation, node))

    def _rows(self, relation: str, node: int | None) -> set[Row]:
        asking = AskRows(relation, ALL_NODES if node is None else node)
        replies = self._ask_all(asking) if node is None else [self._ask_one(node, asking)]
        return {row for part in replies if isinstance(part, RowsTold) for row in part.rows}

    def derivations(self, node: int, derived: TableRow) -> list[Derivation]:
        """All ways in which a row follows from what a node has."""
        reply = self._surely(lambda: self._ask_one(node, AskDerivations(node, *derived)))
        assert isinstance(reply, DerivationsTold)
        return [(label, premises) for label, premises in reply.derivations]

    def traffic(self) -> tuple[int, int]:
        """Messages and bytes, as far as they were told by the last wave."""
        messages, volume = self._before
        told = self._counted.values()
        return messages + sum(each.sent for each in told), volume + sum(each.bytes for each in told)

    def messages(self) -> Iterable[CarriedMessage]:
        """What nodes have said to each other in this epoch, in the order in which it was sent."""
        parts = [list(self._messages_of(number)) for number in range(self._processes.number)]
        return heapq.merge(*parts, key=lambda message: message.time)

    def _messages_of(self, process: int) -> Iterator[CarriedMessage]:
        first = 0
        while True:
            (reply,) = self._ask_each({process: AskMessages(first)})
            assert isinstance(reply, MessagesTold)
            if not reply.messages:
                return
            yield from map(carried_again, reply.messages)
            first += len(reply.messages)

    def watched(self) -> list[WatchedRow]:
        """What the program has traced in this epoch, by the time at which it happened."""
        if not self._program.watched:
            return []
        return self._surely(self._watched)

    def _watched(self) -> list[WatchedRow]:
        found: list[WatchedRow] = []
        for node in range(self.nodes):
            reply = self._ask_one(node, AskWatched(node))
            assert isinstance(reply, WatchedTold)
            found += [WatchedRow(*row) for row in reply.rows]
        return sorted(found, key=lambda row: row.time)

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """End all processes, and wait for that."""
        self._ending()

    def __enter__(self) -> TcpNetwork:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _error_of(reply: NotDone) -> HeadwaterError:
    """The error that a node tells of; one that could not reach another says that this one is gone."""
    if reply.kind == ConnectionGone.__name__:
        return NodeGone("node-lost", reply.message)
    kind = getattr(errors, reply.kind, EvaluationError)
    if not (isinstance(kind, type) and issubclass(kind, HeadwaterError)):
        kind = EvaluationError
    return kind(reply.code, reply.message)
