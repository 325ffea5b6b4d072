"""Ordered streams of messages between processes, over Arrow Flight.

Whoever connects must show the run's secret, or is refused before anything is read. Each stream is one Flight
`do_exchange` call: messages go both ways, in order, and the end of either process ends it. A message (`messages`)
is cut into pieces where it is large.

Only the end that connected can end a stream that the other end does not care for: a server's handler waits for what
comes, and a server that is shut down waits for its handlers, at the end of the process too. So whoever must be able
to leave at any time connects, and does not listen for streams.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from headwater.nodes.encoding import NotAMessage, decode, encode
from headwater.nodes.messages.message import Message

log = logging.getLogger("headwater.nodes")

SECRET = "headwater-secret"
BYTES_A_MESSAGE = 32 << 20
SENDING = 1.0
"""Seconds that a message may take that is being sent when its stream is cancelled."""
MORE, LAST = b"\x01", b"\x00"
FAILURES = (pa.ArrowException, flight.FlightError, OSError, StopIteration, ValueError)
"""What Flight raises when the other end is gone, or is not there."""


class Gate(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Lets in only calls that show the secret."""

    def __init__(self, secret: str):
        self._secret = secret

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        """Refuse, or say nothing."""
        shown = (headers.get(SECRET) or [""])[0]
        if not hmac.compare_digest(str(shown), self._secret):
            raise flight.FlightUnauthenticatedError("this is a private exchange")


class StreamEnded(OSError):
    """The other end is gone, or this one has been let go."""


class FlightStream:
    """One end of a stream. Sending and receiving may be done by different threads."""

    def __init__(self, reader: Any, writer: Any):
        self._reader = reader
        self._writer = writer
        self._sending = threading.Lock()
        self._silent = False

    def send(self, message: Message | bytes) -> int:
        """Send a message, which may be encoded already; return its length in bytes."""
        payload = message if isinstance(message, bytes) else encode(message)
        with self._sending:
            if self._writer is None or self._silent:
                raise StreamEnded("the stream has ended")
            try:
                for start in range(0, len(payload), BYTES_A_MESSAGE):
                    last = start + BYTES_A_MESSAGE >= len(payload)
                    self._writer.write_metadata(
                        (LAST if last else MORE) + payload[start : start + BYTES_A_MESSAGE]
                    )
            except FAILURES as error:
                raise StreamEnded(str(error)) from error
        return len(payload)

    def silence(self, patience: float) -> None:
        """Let nothing more be sent; what is being sent may end first, for so many seconds.

        Before a call is cancelled: who receives then makes Flight say that nothing more is sent, and gRPC ends the
        whole process if that meets a message, or the same said by another thread.
        """
        self._silent = True
        if self._sending.acquire(timeout=patience):
            self._sending.release()

    def finish(self) -> None:
        """Say, once, that nothing more will be sent."""
        with self._sending, contextlib.suppress(*FAILURES):
            if self._writer is not None and not self._silent:
                self._silent = True
                self._writer.done_writing()

    def detach(self) -> None:
        """Let go of the call. Flight frees it when its handler returns, so nobody may hold on to it after that."""
        with self._sending:
            self._reader = self._writer = None

    def receive(self) -> Message | None:
        """The next message, or `None` if the other end is gone, or says what is none."""
        pieces: list[bytes] = []
        while True:
            try:
                piece = self._reader.read_chunk().app_metadata.to_pybytes()
            except FAILURES:
                return None
            pieces.append(piece[1:])
            if piece[:1] == LAST:
                try:
                    return decode(b"".join(pieces))
                except NotAMessage:
                    log.exception("what came is no message; the stream is ended")
                    return None

    def __iter__(self) -> Iterator[Message]:
        while (message := self.receive()) is not None:
            yield message


class Listener(flight.FlightServerBase):  # type: ignore[misc]
    """Takes streams from others, each in a thread of its own, and hands them to `arrived` with what they say they
    are. `told` answers short questions, which hold nothing open."""

    def __init__(
        self,
        host: str,
        secret: str,
        *,
        arrived: Callable[[list[str], FlightStream], None] = lambda says, stream: None,
        told: Callable[[Message], Message] | None = None,
    ):
        self._arrived = arrived
        self._told = told
        self._open = 0
        self._ended = threading.Condition()
        self.host = host
        super().__init__(f"grpc://{host}:0", middleware={"gate": Gate(secret)})

    @property
    def address(self) -> str:
        """Where to connect to."""
        return f"grpc://{self.host}:{self.port}"

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """A stream has arrived; it lasts until `arrived` returns."""
        with self._ended:
            self._open += 1
        writer.begin(pa.schema([]))
        stream = FlightStream(reader, writer)
        del reader, writer
        try:
            self._arrived([part.decode() for part in descriptor.path], stream)
        finally:
            stream.detach()
            with self._ended:
                self._open -= 1
                self._ended.notify_all()

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        """A question has arrived."""
        if self._told is None:
            raise flight.FlightUnavailableError("nobody answers questions here")
        return iter([encode(self._told(decode(action.body.to_pybytes())))])

    def close(self, patience: float = 10.0) -> None:
        """Stop listening, once all streams have ended; one that does not end is left to the end of the process."""
        with self._ended:
            if not self._ended.wait_for(lambda: self._open == 0, patience):
                return
        self.shutdown()


class Connection:
    """A stream to a listener. It can be cancelled at any time, by any thread."""

    def __init__(self, address: str, secret: str, says: Sequence[str]):
        try:
            self._client = flight.connect(address)
            descriptor = flight.FlightDescriptor.for_path(*says)
            self._writer, self._reader = self._client.do_exchange(descriptor, options=_options(secret))
            self._writer.begin(pa.schema([]))
        except FAILURES as error:
            raise StreamEnded(f"{address} cannot be reached: {error}") from error
        self.stream = FlightStream(self._reader, self._writer)

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        self.stream.finish()

    def cancel(self) -> None:
        """End the stream now: whoever sends or receives at either end is told that it has ended."""
        self.stream.silence(SENDING)
        with contextlib.suppress(*FAILURES):
            self._reader.cancel()

    def close(self, patience: float = 5.0) -> None:
        """End the stream: say so, wait for the other end to say so too, and only then let go of it.

        An end that says nothing for that long is not waited for.
        """
        timer = threading.Timer(patience, self.cancel)
        timer.daemon = True
        timer.start()
        self.finish()
        while self.stream.receive() is not None:
            pass
        timer.cancel()
        with contextlib.suppress(*FAILURES):
            self._writer.close()
        self._client.close()


def ask(address: str, secret: str, message: Message, timeout: float = 20.0) -> Message:
    """Ask a listener something; raises `StreamEnded` if it does not answer."""
    try:
        with flight.connect(address) as client:
            action = flight.Action("message", encode(message))
            (result,) = client.do_action(action, options=_options(secret, timeout))
            return decode(result.body.to_pybytes())
    except FAILURES as error:
        raise StreamEnded(f"{address} does not answer: {error}") from error


def _options(secret: str, timeout: float | None = None) -> Any:
    return flight.FlightCallOptions(headers=[(SECRET.encode(), secret.encode())], timeout=timeout)
