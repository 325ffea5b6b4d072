"""The running example of green-2007: GUS, BioSQL and uBio, with mappings m1 to m4."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

import headwater as hw
from headwater import LabelledNull

PEERS = {
    "GUS": {"G": "id: int, can: int, nam: int"},
    "BioSQL": {"B": "id: int, nam: int"},
    "uBio": {"U": "nam: int, can: int"},
}
M1, M2, M3, M4 = (
    "m1: G(i, c, n) -> B(i, n).",
    "m2: G(i, c, n) -> U(n, c).",
    "m3: B(i, n) -> exists c U(n, c).",
    "m4: B(i, c), U(n, c) -> B(i, n).",
)
ALL = " ".join((M1, M2, M3, M4))
TOKENS = {("B", (3, 5)): "p1", ("U", (2, 5)): "p2", ("G", (3, 5, 2)): "p3", ("G", (1, 2, 3)): "p4"}


def c(name: int) -> LabelledNull:
    """The paper's c1 for 5, c2 for 2, c3 for 3: the canonical name that nobody knows."""
    return LabelledNull("m3_c", (name,))


PLACE: dict = {}
"""Where peers compute, unless a test says otherwise."""
OPENED: list = []


def confederation(mappings: str = ALL, **options):
    """The peers with the edit logs of example 3, published and imported everywhere."""
    found = hw.exchange(peers=PEERS, mappings=mappings, **{**PLACE, **options})
    OPENED.append(found)
    found["GUS"].edit(insert={"G": [(1, 2, 3), (3, 5, 2)]})
    found["BioSQL"].edit(insert={"B": [(3, 5)]})
    found["uBio"].edit(insert={"U": [(2, 5)]})
    found.exchange()
    return found


def close_all() -> None:
    """Close the confederations that tests have left open."""
    while OPENED:
        OPENED.pop().close()


def rows(peer, relation, nulls=True):
    return set(peer[relation].rows(nulls=nulls))


COMMON = settings(
    deadline=None,
    database=None,
    derandomize="HEADWATER_ORACLE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
"""The same examples every time, unless more are asked for."""
