"""The annotations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.annotations.bdd import BDD
from headwater.annotations.boolean import Trust
from headwater.annotations.clearance import Clearance
from headwater.annotations.counting import DerivationCount
from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.annotations.lineage import Lineage
from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.annotations.polynomial import Polynomial
from headwater.annotations.protocol import AnyAnnotation
from headwater.annotations.tropical import Tropical
from headwater.annotations.viterbi import Viterbi
from headwater.annotations.why import WhyProvenance
from headwater.errors import DataError
from headwater.spelling import did_you_mean
from headwater.values.scalars import show

ANNOTATIONS: Mapping[str, Callable[[], AnyAnnotation]] = {
    "counting": DerivationCount,
    "trust": Trust,
    "lineage": Lineage,
    "why": WhyProvenance,
    "dnf": MinimalDNF,
    "bdd": BDD,
    "absorption": DnfOrBdd,
    "polynomial": Polynomial,
    "tropical": Tropical,
    "viterbi": Viterbi,
    "clearance": Clearance,
}


def annotation(named: str | AnyAnnotation) -> AnyAnnotation:
    """An annotation by its name, or as it is given.

    >>> annotation("tropical").absorptive
    True
    """
    if isinstance(named, str) and named in ANNOTATIONS:
        return ANNOTATIONS[named]()
    if isinstance(named, (str, type)) or not callable(getattr(named, "times", None)):
        there = f"annotations are {', '.join(ANNOTATIONS)}, or an object with what `Annotation` asks for"
        meant = did_you_mean(named, ANNOTATIONS) if isinstance(named, str) else None
        raise DataError("unknown-annotation", f"there is no annotation {show(named)}", hint=meant or there)
    return named
