"""Schemes by name: what is said to a process that is to be a node.

Eager shipping is where expressions grow: they are diagrams where they have many terms (`dnf_or_bdd`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.counting import counting
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.ranked import ranked
from headwater.networks.annotated.relative import relative
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, timed

ABSORPTIONS: Mapping[str, Callable[..., SchemeMaker]] = {
    "absorption": partial(absorption, LAZY),
    "absorption-bounded": partial(absorption, BOUNDED),
    "absorption-eager": partial(absorption, EAGER, algebra=DnfOrBdd),
    "absorption-timed": partial(absorption, timed(1.0, nearest_first=True), algebra=DnfOrBdd),
}
"""Those whose deletions can go along links."""
SCHEMES: Mapping[str, Callable[[], SchemeMaker]] = {
    **ABSORPTIONS,
    "relative": lambda: relative(LAZY),
    "relative-eager": lambda: relative(EAGER),
    "counting": counting,
    "dred": dred,
    "ranked": ranked,
}
