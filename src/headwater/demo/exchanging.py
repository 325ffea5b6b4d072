"""Three peers who share what they know about the names of species, as in green-2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import headwater as hw

PEERS = {
    "GUS": {"G": "id: int, can: int, nam: int"},
    "BioSQL": {"B": "id: int, nam: int"},
    "uBio": {"U": "nam: int, can: int"},
}
MAPPINGS = """\
m1: G(i, c, n) -> B(i, n).
m2: G(i, c, n) -> U(n, c).
m3: B(i, n) -> exists c U(n, c).
m4: B(i, c), U(n, c) -> B(i, n).
"""
CONDITION = "distrust B(i, n) from GUS if n >= 3."
EXPECTED = {(3, 5), (3, 2), (1, 3), (3, 3)}


@dataclass(frozen=True)
class ExchangedNames:
    """What BioSQL would take on, why it has a row, what it has then, and what it still has once it trusts less."""

    supposed: str
    row: tuple[int, int]
    expression: str
    rows: frozenset[tuple[Any, ...]]
    trusted: frozenset[tuple[Any, ...]]

    @property
    def right(self) -> bool:
        """Whether it is what the paper says."""
        return self.rows == EXPECTED and self.trusted == {(3, 5), (3, 2)}


def exchange_names() -> ExchangedNames:
    """Let all publish, and BioSQL update; then let it trust less."""
    with hw.exchange(peers=PEERS, mappings=MAPPINGS) as confederation:
        confederation["GUS"].edit(insert={"G": [(1, 2, 3), (3, 5, 2)]})
        confederation["BioSQL"].edit(insert={"B": [(3, 5)]})
        confederation["uBio"].edit(insert={"U": [(2, 5)]})
        for peer in confederation.values():
            peer.publish()
        biosql = confederation["BioSQL"]
        supposed = str(biosql.preview())
        biosql.update()
        row = (3, 2)
        expression = biosql.why("B", row).expression()
        rows = frozenset(biosql["B"].rows())
        biosql.trust(CONDITION)
        return ExchangedNames(supposed, row, expression, rows, frozenset(biosql["B"].rows()))
