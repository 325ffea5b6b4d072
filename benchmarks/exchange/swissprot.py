"""Entries like those of SWISS-PROT: a universal relation of 25 attributes, many of them long strings.

They are drawn from a seed, not taken from the database. Lengths are as its own: names and codes are short, comments
and sequences have hundreds of characters. In the "integer" dataset every string is a number that stands for it.
"""

from __future__ import annotations

import random
import zlib
from functools import lru_cache
from typing import Literal

Dataset = Literal["string", "integer"]
ATTRIBUTES: dict[str, int] = {
    "entry_name": 11, "accession": 6, "created": 11, "sequence_update": 11, "annotation_update": 11,
    "description": 60, "gene": 6, "organism": 24, "organelle": 12, "classification": 90, "taxon": 6,
    "host": 20, "reference_position": 40, "reference_comment": 30, "reference_author": 60,
    "reference_title": 80, "reference_location": 40, "comment_function": 200, "comment_location": 40,
    "comment_similarity": 60, "cross_reference": 80, "keywords": 50, "features": 200, "sequence_length": 4,
    "sequence": 350,
}  # fmt: skip
"""The attributes by line of an entry, and about how many characters each has."""
_LETTERS = "ACDEFGHIKLMNPQRSTVWY"
_SHARED = 500
"""Distinct values of an attribute in all entries together: many proteins share organism, keywords and the like."""
_OWN = frozenset({"entry_name", "accession", "sequence", "description", "gene"})
"""Attributes whose values are an entry's own."""


def value(attribute: str, number: int, dataset: Dataset) -> str | int:
    """The value of an attribute in the entry of this number.

    >>> value("gene", 7, "string") == value("gene", 7, "string"), type(value("gene", 7, "integer"))
    (True, <class 'int'>)
    """
    which = number if attribute in _OWN else (number * 7919 + zlib.crc32(attribute.encode())) % _SHARED
    return _drawn(attribute, which, dataset)


@lru_cache(maxsize=1 << 20)
def _drawn(attribute: str, which: int, dataset: Dataset) -> str | int:
    if dataset == "integer":
        return zlib.crc32(f"{attribute}/{which}".encode())
    choose = random.Random(f"{attribute}/{which}")
    length = max(3, int(ATTRIBUTES[attribute] * choose.uniform(0.6, 1.4)))
    text = f"{which:x}-" + "".join(choose.choices(_LETTERS, k=min(length, 64)))
    return (text * (1 + length // len(text)))[:length] if length > len(text) else text
