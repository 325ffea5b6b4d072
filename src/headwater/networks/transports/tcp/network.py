"""A network of processes on TCP, as its driver sees it.

Each node is an operating-system process; nodes connect to each other directly. The driver starts them, hands them
base rows, asks in waves whether all is quiet, and reads rows. It has no part in what nodes say to each other.

A process that is gone has lost what it knew, and others have sent it what it does not know any more. So all nodes
begin a new *epoch*, with nothing, and the driver, who owns the base rows, gives them all again: variables and
tombstones begin anew, and whatever was under way in an earlier epoch is told by its number and dropped.

Processes end with the driver, however it leaves: each holds a connection to it and ends when that does.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from headwater import errors
from headwater.errors import DataError, EvaluationError, HeadwaterError
from headwater.language.datalog import parse
from headwater.networks.annotated.named import SCHEMES
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.runtime.directory import FIRST, Addresses, Directory, Hashed
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.compiling import compile_program
from headwater.networks.transports.node_loop import Counters, settle
from headwater.networks.transports.tcp.control import (
    AskCounters,
    AskRows,
    BeginEpoch,
    BeginStage,
    ChangeBase,
    Control,
    CountersTold,
    JoinNetwork,
    NotDone,
    RowsTold,
    decode_control,
    encode_control,
)
from headwater.networks.transports.tcp.frames import ConnectionGone, Frames, listener, port_of
from headwater.rules.check import check
from headwater.values import arguments
from headwater.values.functions import Functions

log = logging.getLogger("headwater.networks")

START_PATIENCE = 60.0
"""Seconds within which a process must come."""
ANSWER_PATIENCE = 600.0
"""Seconds within which a node must have nothing left to do, when it is asked for that."""
MOST_LOSSES_IN_A_ROW = 4

Prefix = Callable[[int], Sequence[str]]
"""What comes before the command of a node's process: `ip netns exec n3`, say."""


class NodeGone(HeadwaterError):
    """A node's process is gone."""


class TcpNetwork:
    """Processes that run a program together. `names` are the addresses of nodes in a program with `@`, else `nodes`
    says how many there are. `hosts` are those at which processes listen, `host` that of the driver; with a `prefix`
    to their command, processes can be in network namespaces of their own."""

    def __init__(
        self,
        text: str,
        *,
        nodes: int | None = None,
        names: Sequence[Any] = (),
        scheme: str = "absorption",
        host: str = "127.0.0.1",
        hosts: Sequence[str] = (),
        prefix: Prefix = lambda number: (),
    ):
        self.names = tuple(names)
        self.nodes = len(self.names) or nodes or 2
        self.epoch = 0
        self.waves = 0
        """How many waves it took until all was quiet."""
        self.losses = 0
        self._adopt(text, scheme)
        self._directory: Directory = Addresses(self.names) if self.names else Hashed(self.nodes)
        self._hosts = tuple(hosts) or (host,) * self.nodes
        self._host, self._prefix = host, prefix
        self._token = secrets.token_hex(16)
        self._listening = listener(host)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._connections: dict[int, Frames] = {}
        self._ports: dict[int, int] = {}
        self._ending = weakref.finalize(
            self, _end, os.getpid(), self._processes, self._connections, self._listening
        )
        try:
            self._start(range(self.nodes))
            self._begin()
        except BaseException:
            self.close()
            raise

    def become(self, text: str, scheme: str | None = None) -> None:
        """Run another program, from nothing, in the same processes."""
        self._adopt(text, scheme or self.scheme)
        self._surely(self._begin)

    def _adopt(self, text: str, scheme: str) -> None:
        program = compile_program(check(parse(text), Functions()))
        arguments.one_of("scheme", scheme, SCHEMES)
        if program.addressed != bool(self.names):
            raise DataError(
                "topology",
                "a program with @ needs the names of its nodes"
                if program.addressed
                else "there is no @ in the program",
                hint="names=[...] for programs whose relations live at addresses, nodes=4 for others",
            )
        self.text, self.scheme, self._program = text, scheme, program
        self._base: dict[tuple[str, Row], None] = {
            (relation, tuple(row)): None for relation, rows in program.facts.items() for row in rows
        }

    # ------------------------------------------------------------------ processes

    @property
    def processes(self) -> list[int]:
        """The process ids of the nodes, by number."""
        return [self._processes[number].pid for number in range(self.nodes)]

    def _start(self, numbers: Iterable[int]) -> None:
        waited = set(numbers)
        for number in waited:
            process = subprocess.Popen(
                [*self._prefix(number), sys.executable, "-m", "headwater.networks.transports.tcp.process"],
                stdin=subprocess.PIPE,
            )
            self._processes[number] = process
            who = {
                "number": number, "token": self._token, "host": self._hosts[number],
                "driver_host": self._host, "driver_port": port_of(self._listening),
            }  # fmt: skip
            assert process.stdin is not None
            process.stdin.write(json.dumps(who).encode() + b"\n")
            process.stdin.close()
        deadline = time.monotonic() + START_PATIENCE
        while waited:
            self._listening.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                connection, _ = self._listening.accept()
            except TimeoutError:
                raise NodeGone("node-lost", f"nodes {sorted(waited)} did not come") from None
            frames = Frames(connection)
            with contextlib.suppress(ConnectionGone, HeadwaterError):
                frames.patience(10.0)
                joining = decode_control(frames.receive())
                if isinstance(joining, JoinNetwork) and hmac.compare_digest(joining.token, self._token):
                    frames.patience(ANSWER_PATIENCE)
                    self._connections[joining.number] = frames
                    self._ports[joining.number] = joining.port
                    waited.discard(joining.number)
                    continue
            frames.close()

    def kill(self, number: int) -> None:
        """Kill a node's process, as a failure would."""
        self._processes[number].send_signal(signal.SIGKILL)
        self._processes[number].wait()

    def _begin(self) -> None:
        """A new epoch: all nodes hold nothing, and get the base rows."""
        self.epoch += 1
        ports = tuple(self._ports[number] for number in range(self.nodes))
        self._ask_all(BeginEpoch(self.epoch, self.text, self.scheme, self.names, self._hosts, ports))
        self._send([(True, relation, row) for relation, row in self._base])

    def _revive(self, gone: NodeGone) -> None:
        """Start processes that are gone, and begin a new epoch."""
        self.losses += 1
        log.warning("%s; all nodes begin a new epoch", gone.message)
        for number in range(self.nodes):
            if number not in self._connections or self._processes[number].poll() is not None:
                process = self._processes[number]
                process.kill()
                process.wait()
                connection = self._connections.pop(number, None)
                if connection is not None:
                    connection.close()
                self._start([number])
        self._begin()

    def _surely(self, work: Callable[[], Any]) -> Any:
        """Do it; where a node is lost meanwhile, have it started again, and do it once more."""
        for _ in range(MOST_LOSSES_IN_A_ROW):
            try:
                return work()
            except NodeGone as gone:
                lost = gone
            with contextlib.suppress(NodeGone):  # what is still gone is found out by the next attempt
                self._revive(lost)
        raise EvaluationError("node-lost", f"nodes were lost {MOST_LOSSES_IN_A_ROW} times in a row")

    # ------------------------------------------------------------------ asking

    def _ask_all(self, command: Control) -> list[Control]:
        return self._ask_each(dict.fromkeys(range(self.nodes), command))

    def _ask_each(self, commands: dict[int, Control]) -> list[Control]:
        """What nodes answer. All answers are taken in, also if a node is gone: the others will be asked again."""
        lost: list[int] = []
        replies: list[Control] = []
        for number, command in commands.items():
            try:
                self._connection(number).send(encode_control(command))
            except ConnectionGone:
                lost.append(number)
        for number in commands:
            if number not in lost:
                try:
                    replies.append(decode_control(self._connection(number).receive()))
                except ConnectionGone:
                    lost.append(number)
        for number in lost:
            self._connections.pop(number).close()
        if lost:
            raise NodeGone("node-lost", f"the processes of nodes {lost} are gone")
        for reply in replies:
            if isinstance(reply, NotDone):
                raise _error_of(reply)
        return replies

    def _connection(self, number: int) -> Frames:
        if number not in self._connections:
            raise NodeGone("node-lost", f"node {number} has not come back")
        return self._connections[number]

    # ------------------------------------------------------------------ changes

    def insert(self, relation: str, row: Row) -> None:
        """Insert a base row; what follows is under way when this returns."""
        self.change([(True, relation, row)])

    def delete(self, relation: str, row: Row) -> None:
        """Delete a base row."""
        self.change([(False, relation, row)])

    def change(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        """Insert (true) and delete base rows, in order."""
        given = [(inserted, self._program.given.get(name, name), row) for inserted, name, row in changes]
        for inserted, relation, row in given:
            self._owner(relation, row)
            if inserted:
                self._base[relation, row] = None
            else:
                self._base.pop((relation, row), None)
        try:
            self._send(given)
        except NodeGone as gone:
            lost = gone
            self._surely(lambda: self._revive(lost))  # the new epoch has them

    def _send(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        parts: dict[int, list[tuple[bool, str, Row]]] = {}
        for inserted, relation, row in changes:
            parts.setdefault(self._owner(relation, row), []).append((inserted, relation, row))
        self._ask_each({number: ChangeBase(tuple(part)) for number, part in parts.items()})

    def _owner(self, relation: str, row: Row) -> int:
        located = self._program.relations.get(relation)
        if located is None or not located.base:
            raise DataError("unknown-relation", f"{relation} is no base relation of this network")
        if located.location is None:
            return FIRST
        node = self._directory.node(row[located.location])
        if node is None:
            raise DataError("no-such-node", f"{relation}{row} lives at an address that no node has")
        return node

    # ------------------------------------------------------------------ quiet

    def settle(self) -> None:
        """Wait until all is quiet."""
        self._surely(self._settled)

    def _settled(self) -> None:
        self.waves = 0

        def wave() -> list[Counters]:
            self.waves += 1
            told = [reply for reply in self._ask_all(AskCounters()) if isinstance(reply, CountersTold)]
            return [Counters(t.sent, t.received, t.timers, QuietStage(t.wants)) for t in told]

        def begin(stage: QuietStage) -> None:
            self._ask_all(BeginStage(int(stage)))

        settle(wave, begin)

    def rows(self, relation: str) -> set[Row]:
        """All rows of a relation, wherever they live; what is under way is waited for."""

        def read() -> set[Row]:
            self._settled()
            told = [reply for reply in self._ask_all(AskRows(relation)) if isinstance(reply, RowsTold)]
            return {row for part in told for row in part.rows}

        found: set[Row] = self._surely(read)
        return found

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


def _end(
    owner: int,
    processes: dict[int, subprocess.Popen[bytes]],
    connections: dict[int, Frames],
    listening: socket.socket,
) -> None:
    """Close what processes hold on to; those that do not end are killed."""
    if os.getpid() != owner:
        return  # a fork: the processes are its parent's
    listening.close()
    for connection in connections.values():
        connection.close()
    for process in processes.values():
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
