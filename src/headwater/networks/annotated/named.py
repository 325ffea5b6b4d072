"""Schemes and orders by name: what is said to a process that is to be a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
    "absorption-eager": lambda: absorption(EAGER),
    "relative": lambda: relative(LAZY),
    "relative-eager": lambda: relative(EAGER),
    "counting": counting,
    "dred": dred,
    "ranked": ranked,
}
