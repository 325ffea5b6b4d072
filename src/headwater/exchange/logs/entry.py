"""One entry of a published log: transactions that were published together, as bytes and back.

    header of a frame (`store/frame`; its version is the number of the last transaction)
    a line of JSON: whose log, the first transaction, the checksum of the entry before
    the transactions (`exchange/wire`), a line each; all lines deflated

Checksums start from a seed that belongs to the peer, and each entry holds the checksum of the one before it. So an
entry is known to be whole, to be this peer's, and to follow the others. (Checksums find accidents, not forgeries:
whoever may write to the place can publish as any peer.)
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import ExchangeError
from headwater.exchange import wire
from headwater.exchange.edit import Transaction
from headwater.store.frame import HEADER_SIZE, MAGIC, read_header, seal_frame

_FAST = 1
"""How hard zlib tries: logs are written once and read by everybody, and the disk is not the bottleneck."""


@dataclass(frozen=True)
class LogEntry:
    """Transactions `first` to `last` of a peer, still encoded; `after` is the checksum of the entry before."""

    first: int
    last: int
    after: int
    checksum: int
    lines: tuple[bytes, ...]

    def line(self, number: int) -> bytes:
        """The transaction of this number, encoded."""
        return self.lines[number - self.first]

    def transaction(self, number: int) -> Transaction:
        """The transaction of this number."""
        return wire.decode(self.line(number))


class Incomplete(Exception):  # noqa: N818
    """Bytes that are the beginning of an entry."""


class Damaged(Exception):  # noqa: N818
    """Bytes that are no entry of this peer at this place; says why."""


def seal(peer: str, after: int, transactions: Sequence[Transaction]) -> bytes:
    """The bytes of an entry with some transactions, which follows the entry with the checksum `after`."""
    first, last = transactions[0].id.number, transactions[-1].id.number
    head = json.dumps({"peer": peer, "first": first, "after": after}).encode()
    payload = zlib.compress(b"\n".join([head, *map(wire.encode, transactions)]), _FAST)
    return seal_frame(last, [payload], _seed(peer)) + payload


def unseal(peer: str, first: int, data: bytes) -> LogEntry:
    """The entry in some bytes; raises `Incomplete` or `Damaged`."""
    header = read_header(data, _seed(peer))
    if header is None:
        if len(data) < HEADER_SIZE and data[: len(MAGIC)] == MAGIC[: len(data)]:
            raise Incomplete
        raise Damaged("its header is not that of an entry of this peer")
    payload = data[HEADER_SIZE:]
    if len(payload) < header.length:
        raise Incomplete
    if not header.fits(payload, _seed(peer)):
        raise Damaged("its checksum is wrong")
    try:
        head, *lines = zlib.decompress(payload).split(b"\n")
        said = json.loads(head)
        entry = LogEntry(
            int(said["first"]), header.version, int(said["after"]), header.checksum, tuple(lines)
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"it cannot be read: {error}") from error
    if said["peer"] != peer or entry.first != first or len(lines) != entry.last - first + 1:
        raise Damaged(f"it holds transactions {entry.first} to {entry.last} of {said['peer']}")
    return entry


def check_line(entry: LogEntry, transaction: Transaction) -> None:
    """Refuse a transaction that was published, by this number, with other content."""
    if entry.line(transaction.id.number) != wire.encode(transaction):
        raise ExchangeError(
            "published-elsewhere",
            f"{transaction.id} was published before, and says something else there",
            hint=f"two copies of {transaction.id.peer} publish: go on with the other one, or rename this one",
        )


def _seed(peer: str) -> int:
    return zlib.crc32(peer.encode())
