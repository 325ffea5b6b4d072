"""Frames on a socket: four bytes of length, then the bytes. Both ends may send at any time.

Whoever connects shows the network's token in the first frame, or is turned away. Nothing that comes is code, and
nothing is unpickled: frames are what `control` and `message_codec` make of them, checked to the last byte.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

_LENGTH = struct.Struct("<I")
MOST_BYTES_OF_A_FRAME = 1 << 28
"""A longer frame is none of ours."""


class ConnectionGone(OSError):
    """The other end is gone, or says what is no frame."""


class Frames:
    """A connection. Sending may be done by any thread, receiving by one."""

    def __init__(self, connection: socket.socket):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._sending = threading.Lock()
        self.bytes = 0
        """How many have been sent."""

    @classmethod
    def to(cls, host: str, port: int, timeout: float = 10.0) -> Frames:
        """Connect to a listener."""
        try:
            connection = socket.create_connection((host, port), timeout)
        except OSError as error:
            raise ConnectionGone(str(error)) from error
        connection.settimeout(None)
        return cls(connection)

    def send(self, frame: bytes) -> None:
        """Send a frame, whole."""
        try:
            with self._sending:
                self._socket.sendall(_LENGTH.pack(len(frame)) + frame)
                self.bytes += _LENGTH.size + len(frame)
        except OSError as error:
            raise ConnectionGone(str(error)) from error

    def receive(self, most: int = MOST_BYTES_OF_A_FRAME) -> bytes:
        """The next frame, of so many bytes at most."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > most:
            raise ConnectionGone(f"a frame of {length:,} bytes")
        return self._exactly(length)

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = self._socket.recv(min(size, 1 << 20))
            except OSError as error:
                raise ConnectionGone(str(error)) from error
            if not part:
                raise ConnectionGone("the other end is gone")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def patience(self, seconds: float | None) -> None:
        """How long `receive` waits; for ever with `None`."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def listener(host: str) -> socket.socket:
    """A socket that takes connections, at a port that is free."""
    found = socket.create_server((host, 0))
    found.listen()
    return found


def stop_listening(listening: socket.socket) -> None:
    """Take no more connections; whoever waits for one is told."""
    with contextlib.suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def port_of(listening: socket.socket) -> int:
    """The port that it listens at."""
    return int(listening.getsockname()[1])
