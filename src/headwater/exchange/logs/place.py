"""What published logs ask of the place where they are kept.

A place keeps entries (bytes) by peer and number. An entry is never changed and never removed. That two writers
cannot both have a number is all the concurrency there is: each peer has a log of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol
from urllib.parse import quote, unquote

_ENTRY = re.compile(r"([0-9]{12})\.entry")


class LogPlace(Protocol):
    """Somewhere to keep entries."""

    @property
    def what(self) -> str:
        """Where it is, for errors; without passwords."""
        ...

    def put(self, peer: str, number: int, data: bytes) -> bool:
        """Keep an entry, whole and durably, unless the number is taken; whether it was kept."""
        ...

    def get(self, peer: str, number: int) -> bytes | None:
        """The bytes of an entry, or `None` if there is none."""
        ...

    def numbers(self, peer: str) -> list[int]:
        """The numbers of a peer's entries, in order."""
        ...

    def peers(self) -> list[str]:
        """Who has published something."""
        ...


def folder_name(peer: str) -> str:
    """A peer's name as that of a folder, whatever characters it has.

    >>> folder_name("uBio"), folder_name("../a b"), peer_name(folder_name("../a b"))
    ('uBio', '%2E%2E%2Fa%20b', '../a b')
    """
    return quote(peer, safe="").replace(".", "%2E")


def peer_name(folder: str) -> str:
    """The peer whose folder has this name."""
    return unquote(folder)


def entry_name(number: int) -> str:
    """The name of an entry's file; the order of names is that of numbers."""
    return f"{number:012d}.entry"


def entry_numbers(names: Iterable[str]) -> list[int]:
    """The numbers of the entries among files of these names, in order.

    >>> entry_numbers([entry_name(17), ".000000000018.a3f1.part", entry_name(3)])
    [3, 17]
    """
    return sorted(int(found[1]) for name in names if (found := _ENTRY.fullmatch(name)))
