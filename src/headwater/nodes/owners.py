"""Which node holds a row: by a hash of the value, not of its code, so that all nodes agree.

Ints, floats, dates and the like are their own codes on every node. A string or list is hashed once, when it is
first seen, and so is a labelled null.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.dictionary import Dictionary
from headwater.values.keys import known_by
from headwater.values.label_text import literal
from headwater.values.layout import Layout
from headwater.values.scalars import is_coded
from headwater.values.special import FIRST, has_special, is_special
from headwater.values.types import STRING, Type

Numbers = npt.NDArray[np.int64]


class Owners:
    """The owners of values among a number of nodes."""

    def __init__(self, codec: Codec, nodes: int):
        self.nodes = nodes
        self._codec = codec
        self._special = np.zeros(1, np.uint64)
        self._known = {"string": np.empty(0, np.uint64), "list": np.empty(0, np.uint64)}

    def of(self, codes: Ints, type_: Type | None) -> Numbers:
        """The node that each value belongs to."""
        if has_special(codes):
            special = is_special(codes)
            hashes = np.empty(codes.shape[0], np.uint64)
            hashes[special] = self._special_hashes()[codes[special] - FIRST]
            hashes[~special] = self._plain_hashes(codes[~special], type_)
        else:
            hashes = self._plain_hashes(codes, type_)
        return (_mixed(hashes) % np.uint64(self.nodes)).astype(np.int64)

    def _plain_hashes(self, codes: Ints, type_: Type | None) -> npt.NDArray[np.uint64]:
        if type_ is not None and is_coded(type_):
            return self._hashes(type_)[codes]
        return codes.astype(np.uint64)

    def of_rows(self, rows: Ints, layout: Layout, column: int, missing: int = 0) -> Numbers:
        """The node that each row belongs to by its value in a (logical) column.

        `missing` is how many code columns before it the rows do not have.
        """
        code = layout.code(column)
        return self.of(rows[:, code - missing], layout.code_types[code])

    def _special_hashes(self) -> npt.NDArray[np.uint64]:
        """A hash for each special code from NULL on."""
        known, specials = self._special, self._codec.specials
        if known.shape[0] <= len(specials):
            new = [zlib.crc32(literal(entry).encode()) for entry in specials.since(known.shape[0] - 1)]
            known = self._special = np.concatenate([known, np.array(new, np.uint64)])
        return known

    def _hashes(self, type_: Type) -> npt.NDArray[np.uint64]:
        """A hash for each code of a dictionary."""
        dictionary: Dictionary = self._codec.strings if type_ == STRING else self._codec.lists
        name = "string" if type_ == STRING else "list"
        known = self._known[name]
        if known.shape[0] < len(dictionary):
            new = dictionary.since(known.shape[0])
            texts = new if type_ == STRING else [repr(known_by(value)) for value in new]
            hashed = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
            known = self._known[name] = np.concatenate([known, np.array(hashed, np.uint64)])
        return known


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Spread neighbouring values (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
