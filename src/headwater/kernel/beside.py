"""A second core: another thread joins the next piece and enters rows in indexes, while the first adds rows.

A rule that is run over many rows is joined and added to its relation piece by piece (see `execute`). Unless the rule
itself joins with its own relation, nothing that is added matters to the next piece. So another thread joins that one
meanwhile. What is new is to be entered in the relation's indexes as well, and nobody looks at these before the run is
over: the other thread does that, too. Both are done in the same order as by one thread, and everything comes out as
with one, to the bit.

The two do not meet: codes of rows that are there do not change within a version, nor do their places, nor the ranks
of rows that a run begins from; where an array is replaced by a longer one, the one before has the rows that were
handed over; and indexes are left to the other thread until the run is over, whatever ends it. So nothing is under way
when a version is kept or undone. What the other thread has not come to when it is needed is done by the first: where
cores are taken by others, nothing waits for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

from headwater.kernel import indexing

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation

FEWEST_ROWS_HANDED_OVER = 1 << 11
"""How many new rows there must be at a time that it is worth another thread's while."""
FEWEST_STARTS_HELPED = 1 << 14
"""From how many rows a run must begin that the one thread has something to do while the other enters rows: with
fewer there is hardly a second piece."""
MOST_CORES = 2
"""How many cores are of use."""


def cores_of_use() -> int:
    """How many cores this process may have, as far as they are of use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(there, MOST_CORES)


class Helper:
    """A thread that does what it is handed, in order. It is kept for whoever needs one next."""

    idle: ClassVar[list[Helper]] = []

    def __init__(self) -> None:
        self._handed: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.hand = self._handed.put
        threading.Thread(target=self._work, name="headwater-helper", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._handed.get()()

    @classmethod
    def taken(cls) -> Helper:
        """One that nobody has; give it back."""
        try:
            return cls.idle.pop()
        except IndexError:
            return cls()

    def give_back(self) -> None:
        """No more is handed over; what it has not come to yet is nobody's any more."""
        self.idle.append(self)


if hasattr(os, "register_at_fork"):  # a process that is forked has none of these threads
    os.register_at_fork(after_in_child=Helper.idle.clear)


class Errand:
    """Something that another thread does or, if it has not come to it by the time that it is needed, this one."""

    def __init__(self, work: Callable[[], int]):
        self._work: Callable[[], int] | None = work
        self._lock = threading.Lock()
        self._outcome = 0
        self._error: BaseException | None = None

    def do(self) -> None:
        """Do it, unless that was done. Whoever has the lock does."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                try:
                    self._outcome = work()
                except BaseException as error:
                    self._error = error

    def outcome(self) -> int:
        """What came of it, once it is done."""
        self.do()
        if self._error is not None:
            raise self._error
        return self._outcome

    def drop(self) -> None:
        """Leave it undone, or wait until it is done."""
        with self._lock:
            self._work = None


class SecondThread:
    """While it is open, another thread has part in a run of a rule: rows that the rule's relation gets are entered in
    its indexes there, if they are many, and so is done what is handed over.

    Whoever has the lock enters rows; in the end this thread does, what the other has not come to.
    """

    def __init__(self, relation: Relation):
        self._relation = relation
        self._helper: Helper | None = None
        self._enters = False
        """Whether rows were handed over: then all that come later must follow them."""
        self._errand: Errand | None = None
        self._lock = threading.Lock()
        self._over = False
        self._error: BaseException | None = None

    def __enter__(self) -> SecondThread:
        self._relation.beside = self
        return self

    def hand(self, work: Callable[[], int]) -> Errand:
        """Have something done, once what was handed over before is; whatever ends the run, it is over by then."""
        self._errand = Errand(work)
        self._taken().hand(self._errand.do)
        return self._errand

    def enter(self, upto: int) -> None:
        """Have the rows entered that the version has created, up to so many."""
        if not self._enters:
            if upto - self._relation.entered < FEWEST_ROWS_HANDED_OVER or not self._relation.indexes:
                indexing.enter(self._relation, upto)
                return
            self._enters = True
        self._taken().hand(lambda: self._enter(upto))

    def _taken(self) -> Helper:
        if self._helper is None:
            self._helper = Helper.taken()
        return self._helper

    def _enter(self, upto: int) -> None:
        """What the other thread does; after an error it does nothing any more."""
        with self._lock:
            if not self._over and self._error is None:
                try:
                    indexing.enter(self._relation, upto)
                except BaseException as error:
                    self._error = error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._relation.beside = None
        if self._helper is None:
            return
        self._over = True
        if self._errand is not None:
            self._errand.drop()
        with self._lock:  # what is under way ends
            self._helper.give_back()
        if self._error is None:
            indexing.enter(self._relation, int(self._relation.sizes[4]))
        elif kind is None:
            raise self._error
