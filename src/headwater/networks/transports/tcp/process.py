"""Being some nodes of a network in a process of their own: come to the driver, do what it says, until it is gone.

    python -m headwater.networks.transports.tcp.process < who.json

Where the driver is, and the network's token, come by standard input, where no other user of the machine can read
them. The process ends with the driver's connection, however the driver leaves.

Each node has a thread (`node_loop`). Messages between nodes of one process are encoded and decoded like all others,
but take no connection; between two processes there is one connection each way, which keeps the order of what any two
nodes say to each other.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from headwater.annotations.wire import WireReader, damaged, put_varint
from headwater.errors import HeadwaterError
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.node_settings import NodeSettings
from headwater.networks.runtime.directory import Addresses, Directory, Hashed
from headwater.networks.runtime.message_codec import decode_message, encode_message
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.transports.carrier import CarriedMessage, carried, derivations_at
from headwater.networks.transports.node_loop import NodeEnded, NodeLoop
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
    Fine,
    JoinNetwork,
    MessagesTold,
    NotDone,
    OpenChannel,
    RowsTold,
    StartTimers,
    WatchedTold,
    decode_control,
    encode_control,
    greeting,
)
from headwater.networks.transports.tcp.frames import ConnectionGone, Frames, listener, port_of
from headwater.values.functions import Functions

_BATCH = 0xB0
MOST_MESSAGES_TOLD = 20_000
"""How many messages are told at once."""
MOST_MESSAGES_REMEMBERED = 250_000
"""Of a process that sends more, the last ones are remembered."""
MOST_WATCHED_REMEMBERED = 100_000
"""Of a node that traces more rows and events, the last ones are remembered."""


class NodeProcess:
    """Some nodes, their connections, and a method for what the driver says."""

    def __init__(self, number: int, token: str, host: str):
        self.number = number
        self.token = token
        self.listening = listener(host)
        self._loops: dict[int, NodeLoop] = {}
        self._epoch = 0
        self._addresses: list[tuple[str, int]] = []
        self._channels: dict[int, Frames] = {}
        self._opening = threading.Lock()
        self._begun = threading.Condition()
        self._began = 0.0
        self._recording = False
        self._bytes = 0
        self._sent: deque[CarriedMessage] = deque(maxlen=MOST_MESSAGES_REMEMBERED)
        self._forgotten = 0
        self._noting = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    # ------------------------------------------------------------------ other nodes

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return  # it was closed
            threading.Thread(target=self._take, args=(Frames(connection),), daemon=True).start()

    def _take(self, frames: Frames) -> None:
        """Take in what another process says, in order; wait with it if this one has not begun that epoch yet."""
        opening = greeting(frames, self.token)
        if not isinstance(opening, OpenChannel):
            frames.close()
            return
        frames.patience(None)
        with contextlib.suppress(ConnectionGone, HeadwaterError):
            while True:
                frame = frames.receive()
                sender, receiver = ends_of(frame)
                with self._begun:
                    self._begun.wait_for(lambda: self._epoch >= opening.epoch)
                    if self._epoch != opening.epoch or receiver not in self._loops:
                        break
                    self._deliver(sender, receiver, frame)
        frames.close()

    def _deliver(self, sender: int, receiver: int, frame: bytes) -> None:
        self._loops[receiver].deliver(sender, lambda: unpacked(frame))

    def _carry(self, epoch: int, sender: int, receiver: int, messages: Sequence[Message]) -> None:
        frame, sizes = packed(sender, receiver, messages)
        self._note(sender, receiver, messages, sizes)
        process = receiver % len(self._addresses)
        if process == self.number:
            with self._begun:
                if self._epoch == epoch:
                    self._deliver(sender, receiver, frame)
            return
        self._channel(epoch, process).send(frame)

    def _channel(self, epoch: int, process: int) -> Frames:
        with self._opening:
            channel = self._channels.get(process)
            if channel is None:
                channel = self._channels[process] = Frames.to(*self._addresses[process])
                channel.send(encode_control(OpenChannel(self.token, self.number, epoch)))
            return channel

    def _note(self, sender: int, receiver: int, messages: Sequence[Message], sizes: Sequence[int]) -> None:
        with self._noting:
            now = time.time() - self._began
            self._bytes += sum(sizes)
            if self._recording:
                for message, size in zip(messages, sizes, strict=True):
                    self._forgotten += len(self._sent) == MOST_MESSAGES_REMEMBERED
                    self._sent.append(carried(now, sender, receiver, message, size))

    # ------------------------------------------------------------------ the driver

    def obey(self, command: Control) -> Control:
        """Do what the driver says."""
        try:
            return self._obey(command)
        except HeadwaterError as error:
            return NotDone(type(error).__name__, error.code, error.message)
        except Exception as error:
            return NotDone(type(error).__name__, "on-a-node", str(error))

    def _obey(self, command: Control) -> Control:
        if isinstance(command, BeginEpoch):
            self._begin(command)
        elif isinstance(command, ChangeBase):
            self._change(command.changes)
        elif isinstance(command, StartTimers):
            for loop in self._loops.values():
                loop.do(lambda node: node.begin())
        elif isinstance(command, AskCounters):
            return self._counters()
        elif isinstance(command, BeginStage):
            for loop in self._loops.values():
                loop.do(lambda node: node.quiet(QuietStage(command.stage)))
        elif isinstance(command, AskRows):
            return RowsTold(self._rows(command))
        elif isinstance(command, AskDerivations):
            derived = (command.table, command.row)
            return DerivationsTold(
                tuple(self._loops[command.node].do(lambda node: derivations_at(node, derived)))
            )
        elif isinstance(command, AskMessages):
            return self._messages(command.first)
        elif isinstance(command, AskWatched):
            return WatchedTold(self._loops[command.node].do(lambda node: tuple(map(astuple, node.watched))))
        else:
            raise AssertionError(f"{type(command).__name__} is nothing that a process does")
        return Fine()

    def _begin(self, command: BeginEpoch) -> None:
        """Forget everything, and be nodes of a new epoch."""
        self.leave()
        plan = NodeSettings.of_fields(command.settings).plan(Functions())
        directory: Directory = (
            Addresses(command.names, command.links) if command.names else Hashed(command.nodes)
        )
        with self._begun:
            self._channels = {}
            self._addresses = list(zip(command.hosts, command.ports, strict=True))
            self._began, self._recording = command.began, command.recording
            self._bytes = self._forgotten = 0
            self._sent.clear()
            self._loops = {
                number: self._loop(command, number, plan, directory)
                for number in range(self.number, command.nodes, len(command.ports))
            }
            self._epoch = command.epoch
            self._begun.notify_all()

    def _loop(self, command: BeginEpoch, number: int, plan: Any, directory: Directory) -> NodeLoop:
        node = NodeSettings.of_fields(command.settings).node(number, plan, directory)
        node.clock = lambda: time.time() - command.began
        node.expires = True
        node.watched = deque(maxlen=MOST_WATCHED_REMEMBERED)
        return NodeLoop(node, lambda to, messages: self._carry(command.epoch, number, to, messages))

    def leave(self) -> None:
        """End all nodes, and connections to others."""
        with self._begun:
            loops, self._loops = self._loops, {}
        for channel in list(self._channels.values()):
            channel.close()
        for loop in loops.values():
            loop.end()

    def _change(self, changes: Sequence[Change]) -> None:
        parts: dict[int, list[Change]] = {}
        for change in changes:
            parts.setdefault(change[0], []).append(change)
        for number, part in parts.items():
            self._loops[number].do(lambda node, part=part: _change(node, part))  # type: ignore[misc]

    def _counters(self) -> CountersTold:
        found = [loop.counters() for loop in self._loops.values()]
        return CountersTold(
            sum(each.sent for each in found),
            sum(each.received for each in found),
            self._bytes,
            any(each.timers for each in found),
            int(min((each.wants for each in found), default=QuietStage.NOTHING)),
            any(each.held for each in found),
        )

    def _rows(self, command: AskRows) -> tuple[tuple[Any, ...], ...]:
        loops = self._loops.values() if command.node == ALL_NODES else [self._loops[command.node]]
        return tuple(
            row for loop in loops for row in loop.do(lambda node: tuple(node.rows(command.relation)))
        )

    def _messages(self, first: int) -> MessagesTold:
        with self._noting:
            skipped = max(0, first - self._forgotten)
            found = list(self._sent)[skipped : skipped + MOST_MESSAGES_TOLD]
        return MessagesTold(tuple(astuple(message) for message in found))


def _change(node: NetworkNode, changes: Sequence[Change]) -> None:
    for _, inserted, relation, row in changes:
        (node.insert if inserted else node.delete)(relation, row)


def packed(sender: int, receiver: int, messages: Sequence[Message]) -> tuple[bytes, list[int]]:
    """Messages of one node to another as one frame, and the bytes of each."""
    out = bytearray([_BATCH])
    put_varint(out, sender)
    put_varint(out, receiver)
    put_varint(out, len(messages))
    sizes = []
    for message in messages:
        data = encode_message(message)
        put_varint(out, len(data))
        out += data
        sizes.append(len(data))
    return bytes(out), sizes


def ends_of(frame: bytes) -> tuple[int, int]:
    """Who sends it, and to whom."""
    reader = WireReader(frame, _BATCH)
    return reader.varint(), reader.varint()


def unpacked(frame: bytes) -> list[Message]:
    """The messages of a frame."""
    reader = WireReader(frame, _BATCH)
    reader.varint()
    reader.varint()
    found = [decode_message(reader.raw(reader.varint())) for _ in range(reader.count())]
    reader.end()
    if not found:
        raise damaged("no messages")
    return found


def be_process(who: Mapping[str, Any]) -> None:
    """Be a process of a network until the driver is gone."""
    process = NodeProcess(who["number"], who["token"], who["host"])
    with contextlib.suppress(OSError, ConnectionGone, HeadwaterError, NodeEnded):
        driver = Frames.to(who["driver_host"], who["driver_port"])
        port = port_of(process.listening)
        join = JoinNetwork(process.token, process.number, who["attempt"], os.getpid(), who["host"], port)
        driver.send(encode_control(join))
        while True:
            driver.send(encode_control(process.obey(decode_control(driver.receive()))))
    process.listening.close()
    process.leave()


def main() -> None:
    """Be a process of its own, that ends with the driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's affair
    who: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    be_process(who)
    os._exit(0)


def _end_with_parent() -> None:
    """End at once when the process that started this one is gone, whatever nodes are doing."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    main()
