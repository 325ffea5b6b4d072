"""Names that are near each other: what may have been meant, and what is most likely a slip.

>>> did_you_mean("lnk", ["link", "reach"])
'did you mean link?'
>>> [misspelt(*pair) for pair in (("lnk", "link"), ("raech", "reach"), ("hasLink", "has_link"))]
[True, True, True]
>>> [misspelt(*pair) for pair in (("link1", "link2"), ("mother", "brother"), ("edges", "edge"), ("q", "p"))]
[False, False, False, False]
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LEAST_LETTERS = 4
"""Shorter names differ by a letter on purpose."""


def near(name: str, others: Iterable[str], most: int = 1) -> list[str]:
    """The names that look like `name`, whatever their case, the most alike first."""
    folded: dict[str, str] = {}
    for other in sorted(others):
        if len(other) > 2:  # of one or two letters, nothing is like anything
            folded.setdefault(other.casefold(), other)
    return [folded[one] for one in get_close_matches(name.casefold(), folded, n=most)]


def did_you_mean(name: str, others: Iterable[str], most: int = 1) -> str | None:
    """The hint about a name that is not there."""
    found = near(name, others, most)
    return f"did you mean {' or '.join(found)}?" if found else None


def misspelt(name: str, other: str) -> bool:
    """Whether one of two names is most likely a slip for the other.

    They are the same but for case and `_`, or differ inside by one letter that is missing, two that have changed
    places, or, in long names, one that is another. Ends and digits are how names are told apart on purpose.
    """
    if name == other or max(len(name), len(other)) < LEAST_LETTERS:
        return False
    if _plain(name) == _plain(other):
        return True
    start = _common(name, other)
    end = _common(name[start:][::-1], other[start:][::-1])
    one, two = name[start : len(name) - end], other[start : len(other) - end]
    if end == 0 or any(letter.isdigit() or letter == "_" for letter in one + two):
        return False
    if len(one) == len(two) == 2:
        return one == two[::-1]
    if start == 0:
        return False
    if len(one) == len(two) == 1:
        return len(name) >= LEAST_LETTERS + 2
    return sorted((len(one), len(two))) == [0, 1]


def plural(name: str, other: str) -> bool:
    """Whether one name is the other with an s."""
    return name != other and (name + "s" == other or other + "s" == name)


def _plain(name: str) -> str:
    return name.casefold().replace("_", "")


def _common(one: str, two: str) -> int:
    """How many letters both begin with."""
    for position, (mine, yours) in enumerate(zip(one, two, strict=False)):
        if mine != yours:
            return position
    return min(len(one), len(two))
