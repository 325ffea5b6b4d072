"""All dictionaries of a codec: what the codes of its strings, lists and special values mean."""

from __future__ import annotations

from collections.abc import Callable

from headwater.values.dictionary import Dictionary
from headwater.values.keys import known_by
from headwater.values.special import Specials
from headwater.values.strings import Strings
from headwater.values.types import STRING, Type


class Dictionaries:
    """One dictionary of strings, one of what is made of parts (and of bytes), and one of special values.

    All of them only grow.
    """

    def __init__(self, ask: Callable[[int, str], None] = lambda needed, what: None):
        """Start empty; `ask` is told what many new values would take, and may refuse."""
        self.strings: Dictionary = Strings(ask)
        self.lists = Dictionary(known_by, ask=ask)
        self.specials = Specials(ask=ask)

    def of(self, type: Type) -> Dictionary:
        """The dictionary of a type that has one (see `is_coded`)."""
        return self.strings if type == STRING else self.lists

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return self.strings.nbytes + self.lists.nbytes + self.specials.nbytes
