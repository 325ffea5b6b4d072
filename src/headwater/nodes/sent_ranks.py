"""The rank filter of ranked support: a derivation that changes nothing at the receiver stays here.

It keeps back for good what MinShip (liu-2008, section 5) would hold until it is needed: ranks tell that it never is.

A derivation counts only if its premises' highest rank is below the row's own. Whoever has sent a row once knows
an upper bound of its rank at the receiver: the clock after that exchange, plus one. A later derivation, gained or
lost, whose premises' rank is not below the bound cannot change the count there, and is not sent.

The bound holds until the row dies and comes back with a higher rank. A row that dies is asked for on all nodes
that could derive it, so whoever hears a question forgets the row. Forgetting is always safe: then more is sent.
"""

from __future__ import annotations

import numpy as np

from headwater.kernel.relation import Relation, Rows
from headwater.kernel.states import LIVE
from headwater.plan.access import ANY_RANK
from headwater.plan.steps import Ints

MOST_RANKS_REMEMBERED = 1 << 22
"""Rows remembered for one relation; beyond that all are forgotten, to bound the memory."""


class SentRanks:
    """The rows of one relation that this node has sent, each with an upper bound of its rank at the receiver."""

    def __init__(self, name: str, arity: int):
        self.kept_back = 0
        self._sent = Relation(f"sent {name}", arity)
        self._pending: list[Rows] = []

    def news(self, tuples: Ints, gained: bool) -> Ints:
        """Those of the derivations that the receiver has to hear of."""
        sent = self._sent
        codes = np.ascontiguousarray(tuples[:, : sent.arity])
        places = sent.find(codes)
        known = (places >= 0) & ((sent.state[np.maximum(places, 0)] & LIVE) != 0)
        bounds = np.where(known, sent.ranks(np.maximum(places, 0)), ANY_RANK)
        news = tuples[tuples[:, -1] < bounds]
        self.kept_back += tuples.shape[0] - news.shape[0]
        if gained and news.shape[0]:
            marks = np.zeros((news.shape[0], sent.arity + 1), np.int64)
            marks[:, :-1] = news[:, :-1]
            fresh = sent.add(marks, ANY_RANK)
            if fresh.shape[0]:
                self._pending.append(fresh)
        return news

    def arrived(self, clock: int) -> None:
        """All that was sent has arrived, and the clocks of all nodes are this."""
        for rows in self._pending:
            self._sent.rank(rows, clock + 1)
        self._pending = []

    def forget(self, codes: Ints) -> None:
        """These rows may come back with another rank."""
        places = self._sent.find(codes)
        self._sent.kill(places[places >= 0])

    def commit(self) -> None:
        """Keep what was learned."""
        self._sent.commit()
        if self._sent.stored > MOST_RANKS_REMEMBERED:
            self._sent.clear()

    def rollback(self) -> None:
        """The version did not happen: nor did its ranks."""
        self._pending = []
        self._sent.rollback()
