"""Being a node in a process of its own: come to the driver, do what it says, until it is gone.

    python -m headwater.networks.transports.tcp.process < who.json

Where the driver is, and the network's token, come by standard input, where no other user of the machine can read
them. The process ends with the driver's connection, however the driver leaves.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from headwater.annotations.wire import WireReader, damaged, put_varint
from headwater.errors import HeadwaterError
from headwater.language.datalog import parse
from headwater.networks.annotated.named import SCHEMES
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.runtime.directory import Addresses, Directory, Hashed
from headwater.networks.runtime.message_codec import decode_message, encode_message
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.node_loop import NodeLoop
from headwater.networks.transports.tcp.control import (
    AskCounters,
    AskRows,
    BeginEpoch,
    BeginStage,
    ChangeBase,
    Control,
    CountersTold,
    Fine,
    JoinNetwork,
    NotDone,
    OpenChannel,
    RowsTold,
    decode_control,
    encode_control,
)
from headwater.networks.transports.tcp.frames import ConnectionGone, Frames, listener, port_of
from headwater.rules.check import check
from headwater.values.functions import Functions

_BATCH = 0xB0


class NodeProcess:
    """A node, its connections, and a method for what the driver says."""

    def __init__(self, number: int, token: str, host: str):
        self.number = number
        self.token = token
        self.listening = listener(host)
        self._loop: NodeLoop | None = None
        self._epoch = 0
        self._addresses: list[tuple[str, int]] = []
        self._channels: dict[int, Frames] = {}
        self._begun = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()

    # ------------------------------------------------------------------ other nodes

    def _accept(self) -> None:
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self._take, args=(Frames(connection),), daemon=True).start()

    def _take(self, frames: Frames) -> None:
        """Take in what another node says, in order; wait with it if this node has not begun that epoch yet."""
        with contextlib.suppress(ConnectionGone, HeadwaterError):
            opening = decode_control(frames.receive())
            if isinstance(opening, OpenChannel) and hmac.compare_digest(opening.token, self.token):
                while True:
                    frame = frames.receive()
                    with self._begun:
                        self._begun.wait_for(lambda: self._epoch >= opening.epoch)
                        if self._epoch != opening.epoch or self._loop is None:
                            break
                        self._loop.deliver(opening.number, lambda frame=frame: unpacked(frame))  # type: ignore[misc]
        frames.close()

    def _carry(self, epoch: int, receiver: int, messages: Sequence[Message]) -> None:
        channel = self._channels.get(receiver)
        if channel is None:
            channel = self._channels[receiver] = Frames.to(*self._addresses[receiver])
            channel.send(encode_control(OpenChannel(self.token, self.number, epoch)))
        channel.send(packed(messages))

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
            return Fine()
        loop = self._loop
        assert loop is not None, "no epoch has begun"
        if isinstance(command, ChangeBase):
            loop.do(lambda node: _change(node, command))
        elif isinstance(command, AskCounters):
            found = loop.counters()
            return CountersTold(found.sent, found.received, found.timers, int(found.wants))
        elif isinstance(command, BeginStage):
            loop.do(lambda node: node.quiet(QuietStage(command.stage)))
        elif isinstance(command, AskRows):
            return RowsTold(loop.do(lambda node: tuple(node.rows(command.relation))))
        else:
            raise AssertionError(f"{type(command).__name__} is nothing that a node does")
        return Fine()

    def _begin(self, command: BeginEpoch) -> None:
        """Forget everything, and be a node of a new epoch."""
        if self._loop is not None:
            self._loop.end()
        for channel in self._channels.values():
            channel.close()
        functions = Functions()
        plan = plan_nodes(compile_program(check(parse(command.text), functions)), functions)
        directory: Directory = Addresses(command.names) if command.names else Hashed(len(command.ports))
        node = NetworkNode(self.number, plan, directory, SCHEMES[command.scheme]())
        with self._begun:
            self._channels = {}
            self._addresses = list(zip(command.hosts, command.ports, strict=True))
            self._loop = NodeLoop(node, lambda to, messages: self._carry(command.epoch, to, messages))
            self._epoch = command.epoch
            self._begun.notify_all()


def _change(node: NetworkNode, command: ChangeBase) -> None:
    for inserted, relation, row in command.changes:
        (node.insert if inserted else node.delete)(relation, row)


def packed(messages: Sequence[Message]) -> bytes:
    """Messages as one frame."""
    out = bytearray([_BATCH])
    put_varint(out, len(messages))
    for message in messages:
        data = encode_message(message)
        put_varint(out, len(data))
        out += data
    return bytes(out)


def unpacked(frame: bytes) -> list[Message]:
    """The messages of a frame."""
    reader = WireReader(frame, _BATCH)
    found = [decode_message(reader.raw(reader.varint())) for _ in range(reader.count())]
    reader.end()
    if not found:
        raise damaged("no messages")
    return found


def main() -> None:
    """Be a node until the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's affair
    who: dict[str, Any] = json.loads(sys.stdin.readline())
    process = NodeProcess(who["number"], who["token"], who["host"])
    try:
        driver = Frames.to(who["driver_host"], who["driver_port"])
        join = JoinNetwork(process.token, process.number, who["host"], port_of(process.listening))
        driver.send(encode_control(join))
        while True:
            driver.send(encode_control(process.obey(decode_control(driver.receive()))))
    except (OSError, ConnectionGone, HeadwaterError):
        os._exit(0)


if __name__ == "__main__":
    main()
