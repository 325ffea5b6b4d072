"""Schemes by name: what is said to a process that is to be a node.

Eager shipping is where expressions grow: they are diagrams where they have many terms (`dnf_or_bdd`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.counting import counting
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.ranked import ranked
from headwater.networks.annotated.relative import relative
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY

SCHEMES: Mapping[str, Callable[[], SchemeMaker]] = {
    "absorption": lambda: absorption(LAZY),
    "absorption-bounded": lambda: absorption(BOUNDED),
    "absorption-eager": lambda: absorption(EAGER, algebra=DnfOrBdd),
    "relative": lambda: relative(LAZY),
    "relative-eager": lambda: relative(EAGER),
    "counting": counting,
    "dred": dred,
    "ranked": ranked,
}
