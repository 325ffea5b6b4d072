"""Functions that give another value each time: the time, chance, numbers that nobody else has.

They have a value where an event of a network fires a rule, and there only: `networks/runtime/moment` says what it is.
What a view maintains must be the same whenever it is computed, so all other rules refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.values.types import FLOAT, INT, Type

VOLATILE: Mapping[str, tuple[Type, int]] = {
    "f_now": (FLOAT, 0),
    "f_rand": (INT, 0),
    "f_coinFlip": (INT, 1),
    "f_idgen": (INT, 0),
}
"""What each gives, and how many arguments it takes."""

_OTHERWISE = "; in a network, let an event fire the rule"
REFUSED: Mapping[str, str] = {
    "f_now": f"gives another time whenever it is asked; put the time into a relation and change that{_OTHERWISE}",
    "f_rand": f"gives another number whenever it is asked; put random numbers into a relation{_OTHERWISE}",
    "f_coinFlip": f"falls another way whenever it is asked; put random numbers into a relation{_OTHERWISE}",
    "f_idgen": f"gives another number whenever it is asked; number rows with data of your own{_OTHERWISE}",
}
"""What a rule that nothing fires is told."""


def result_type(name: str, given: int) -> Type | None:
    """What a call gives; `None` if it takes another number of arguments."""
    result, arity = VOLATILE[name]
    return result if given == arity else None
