"""How a stratum's fixpoint works with other nodes that hold other parts of the same relations.

All nodes run the same steps in the same order. Between exchanges each works for itself on what it has, for as
many rounds as there is anything to do (buffered semi-naive evaluation, loo-2006 section 3.3.1); an exchange
gives each node what others derived for it, and tells all of them whether anybody has work left. Ranks stay
comparable: an exchange sets every clock to the highest one, so what arrives gets a rank above those of its
premises, which is all that the count of supports needs. Derivations are found exactly once, because the
premises of a derivation meet on one node (`rules/localise`).

`Alone` is the exchange of a database in one process: nothing leaves, and nothing arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from headwater.plan.execute import Sink
from headwater.plan.steps import Ints
from headwater.rules.checked import CheckedRule

Flags = npt.NDArray[np.bool_]
ADD, LOSE, ASK, ANSWER = "add", "lose", "ask", "answer"


class Parcel(NamedTuple):
    """What another node sent: derivations gained or lost for a relation (`name`), rows whose derivations by a
    rule (`name`) it wants to know, or the numbers of its asker's rows for which one was found."""

    kind: str
    name: str
    rows: Ints
    sender: int


class Exchange(Protocol):
    """What a fixpoint asks of the other nodes. `quiet` says that a stratum has no need of them, `alone` that there
    are none."""

    alone: bool

    def quiet(self, rules: tuple[CheckedRule, ...], *, before: bool = False) -> bool:
        """Whether these rules can be run to the end without the other nodes; `before`: rules of the program that was
        in force when the version began."""
        ...

    def outward(self, rule: CheckedRule, kind: str, sink: Sink, *, before: bool = False) -> Sink:
        """A sink that keeps derivations of rows held here for `sink`, and the others to be sent; `before`: as for
        `quiet`."""
        ...

    def ask(self, rule: CheckedRule, rows: Ints, numbers: Ints) -> Ints:
        """Have other nodes look for derivations of these rows; return the places of those to look for here."""
        ...

    def tells(self, rule: CheckedRule, position: int) -> bool:
        """Whether a row of the premise at a position tells whether the rows that it leads to by the rule are held
        here: all of them, or none."""
        ...

    def leads_here(self, rule: CheckedRule, position: int, codes: Ints) -> Flags:
        """Which of these rows of a premise that `tells` lead to rows that are held here."""
        ...

    def answer(self, name: str, numbers: Ints, asker: int) -> None:
        """Tell a node which of its rows have derivations here, once a derivation."""
        ...

    def swap(self, clock: int, spent: int = 0) -> Swapped:
        """Send all that was kept for others, and wait for what they send."""
        ...

    def sums(self, *values: float) -> tuple[float, ...]:
        """The sums of these values over all nodes."""
        ...

    def forget(self, names: Sequence[str]) -> None:
        """The rows of these relations are about to get new ranks."""
        ...

    def dropped(self) -> int:
        """How many derivations were found here, since last asked, that another node finds too and keeps."""
        ...


class Swapped(NamedTuple):
    """What came of an exchange: whether anything was sent by anybody, the clock and what was spent on dead rows
    over all nodes, and what was sent to this node."""

    any: bool
    clock: int
    spent: int
    parcels: Iterator[Parcel]


class Alone:
    """One node that holds everything."""

    alone = True

    def quiet(self, rules: tuple[CheckedRule, ...], *, before: bool = False) -> bool:
        """Always."""
        return True

    def outward(self, rule: CheckedRule, kind: str, sink: Sink, *, before: bool = False) -> Sink:
        """All rows are held here."""
        return sink

    def ask(self, rule: CheckedRule, rows: Ints, numbers: Ints) -> Ints:
        """There is nobody to ask; see `Fixpoint`, which does not."""
        raise AssertionError("nobody to ask")

    def tells(self, rule: CheckedRule, position: int) -> bool:
        """All rows are held here."""
        return True

    def leads_here(self, rule: CheckedRule, position: int, codes: Ints) -> Flags:
        """All of them."""
        return np.ones(codes.shape[0], np.bool_)

    def answer(self, name: str, numbers: Ints, asker: int) -> None:
        """Nobody asked."""
        raise AssertionError("nobody asked")

    def swap(self, clock: int, spent: int = 0) -> Swapped:
        """Nothing is sent."""
        return Swapped(False, clock, spent, iter(()))

    def sums(self, *values: float) -> tuple[float, ...]:
        """They are as they are."""
        return values

    def forget(self, names: Sequence[str]) -> None:
        """Nothing is remembered."""

    def dropped(self) -> int:
        """None."""
        return 0
