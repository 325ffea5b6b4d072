"""The logs of all peers at one place: publishing to one's own, and reading those of others.

An entry is kept under the number of its first transaction, and a place gives a number to one writer only. So
transactions are published exactly once, whole or not at all, also when a publisher is killed and tries again, and
when two publish as one peer at once: then one of them is refused, and told. Peers never wait for each other.

Readers get transactions in order and without a gap. An entry that is half there, damaged or missing raises, names
itself, and hides nothing before it; where a reader stands is its own business, so nothing is lost.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence

from headwater.errors import StoreError
from headwater.exchange.edit import Transaction
from headwater.exchange.edit_state import RowKey
from headwater.exchange.logs.entry import Damaged, Incomplete, LogEntry, check_line, seal, unseal
from headwater.exchange.logs.place import LogPlace
from headwater.exchange.published import unpublished
from headwater.exchange.wire import decode, mention

_KEPT = "restore it from a copy; everything before it can be read, and what peers have imported they keep"


class KeptLogs:
    """Published logs at a place that others can reach; a `PublishedLogs`."""

    def __init__(self, place: LogPlace):
        self.place = place
        self._newest: dict[str, LogEntry] = {}  # an entry never changes: saves reading it twice

    def last(self, peer: str) -> int:
        newest = self._last_entry(peer)
        return 0 if newest is None else newest.last

    def append(self, peer: str, transactions: Sequence[Transaction]) -> None:
        """Publish those that are not there; one entry, all or nothing. Refuses those that are there otherwise."""
        newest = self._last_entry(peer)
        last, after = (0, 0) if newest is None else (newest.last, newest.checksum)
        self._compare(peer, [one for one in transactions if one.id.number <= last])
        new = unpublished(peer, last, transactions)
        if not new:
            return
        if self.place.put(peer, last + 1, seal(peer, after, new)):
            return
        self.append(peer, transactions)  # somebody was faster: the same transactions, or a refusal

    def read(self, peer: str, after: int) -> Iterator[Transaction]:
        """What comes after a transaction, in order."""
        for entry in self._entries(peer, after):
            for number in range(max(after + 1, entry.first), entry.last + 1):
                yield entry.transaction(number)

    def editing(self, peer: str, rows: Collection[RowKey]) -> Iterator[Transaction]:
        """Transactions that edit some rows; others are read over, as bytes."""
        wanted = re.compile(b"|".join(re.escape(mention(relation, row)) for relation, row in rows))
        for entry in self._entries(peer, 0) if rows else ():
            for line in entry.lines:
                if wanted.search(line) is not None:
                    yield decode(line)

    def _entries(self, peer: str, after: int) -> Iterator[LogEntry]:
        """The entries with what comes after a transaction, in order."""
        starts = self.place.numbers(peer)
        if after and (not starts or self.last(peer) < after):
            there = self.last(peer) if starts else 0
            raise StoreError(
                "log-shortened",
                f"the log of {peer} at {self.place.what} ends at transaction {there}, and {after} were read before",
                hint="it was removed, or put back to an old copy: restore it; what was imported is kept",
            )
        if starts and starts[0] > after + 1:
            raise self._damaged(peer, after + 1, f"it is missing, though there is one from {starts[0]} on")
        before: LogEntry | None = None
        for start, following in itertools.zip_longest(starts, starts[1:]):
            if following is not None and following <= after + 1:
                continue  # all of it was read; if it is damaged, that does no harm any more
            entry = self._entry(peer, start)
            self._follows(peer, entry, before, following)
            yield entry
            before = entry

    def peers(self) -> list[str]:
        """Who has published something."""
        return self.place.peers()

    # ------------------------------------------------------------------ entries

    def _last_entry(self, peer: str) -> LogEntry | None:
        starts = self.place.numbers(peer)
        if not starts:
            return None
        known = self._newest.get(peer)
        if known is None or known.first != starts[-1]:
            known = self._newest[peer] = self._entry(peer, starts[-1])
        return known

    def _compare(self, peer: str, there: Sequence[Transaction]) -> None:
        """Refuse transactions whose numbers are taken by others."""
        starts = self.place.numbers(peer) if there else []
        entry: LogEntry | None = None
        for transaction in there:
            number = transaction.id.number
            if entry is None or not entry.first <= number <= entry.last:
                entry = self._entry(peer, max(start for start in starts if start <= number))
            check_line(entry, transaction)

    def _entry(self, peer: str, first: int) -> LogEntry:
        data = self.place.get(peer, first)
        if data is None:
            raise self._damaged(peer, first, "it is missing")
        try:
            return unseal(peer, first, data)
        except Incomplete:
            raise StoreError(
                "incomplete",
                f"{self._shown(peer, first)} ends after {len(data)} bytes, inside of what it holds",
                hint="is it still being copied? try again; else " + _KEPT,
            ) from None
        except Damaged as damage:
            raise self._damaged(peer, first, str(damage)) from None

    def _follows(self, peer: str, entry: LogEntry, before: LogEntry | None, following: int | None) -> None:
        """Refuse a gap, and an entry that was published after other ones than those before it."""
        if following is not None and entry.last + 1 != following:
            raise self._damaged(
                peer, entry.last + 1, f"it is missing, though there is one from {following} on"
            )
        if before is None and entry.first != 1:
            return
        if entry.after != (0 if before is None else before.checksum):
            raise self._damaged(
                peer, entry.first, "it was published after another entry than the one before it"
            )

    def _damaged(self, peer: str, first: int, what: str) -> StoreError:
        return StoreError("damaged", f"{self._shown(peer, first)}: {what}", hint=_KEPT)

    def _shown(self, peer: str, first: int) -> str:
        return f"the entry of {peer} from transaction {first} on, at {self.place.what}"
