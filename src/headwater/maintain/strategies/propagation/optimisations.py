"""The optimisations of section 4, each of which can be left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

WORDS = {
    "order": "the order of subgoals is chosen for each query",
    "parity": "rows that can lead to nothing that is listened to are not propagated",
    "constants": "constants of views are pushed down into the rules below",
    "irrelevant": "changed rows that no rule can use are set aside before anything is asked",
}
"""What each of them does, for `explain`."""


@dataclass(frozen=True)
class Optimisations:
    """Which of them are in use."""

    order: bool = True
    parity: bool = True
    constants: bool = True
    irrelevant: bool = True

    @staticmethod
    def of(names: Iterable[str]) -> Optimisations:
        """Those that are named."""
        names = set(names)
        return Optimisations(**{field.name: field.name in names for field in fields(Optimisations)})

    def lines(self) -> list[str]:
        """In words, those that are left out too."""
        return [f"{name}: {text if getattr(self, name) else 'off'}" for name, text in WORDS.items()]
