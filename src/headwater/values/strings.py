"""The dictionary of strings, which takes whole columns of Arrow's at once.

With few strings it is a dictionary as any other. From the first column of many on, strings are bytes in a table of
the kernel (`kernel/texts`), looked up a column at a time, and become Python's when somebody first reads them. Codes
are the same either way. Single strings are found by a small dictionary of those that were asked for lately.

What numba takes to load is more than looking up some hundred thousand strings: as long as nothing else has loaded it,
as in a process that only reads, that many come one by one.

>>> import pyarrow as pa
>>> names = Strings()
>>> names.encode_texts(pa.array(["b", "a", "b"]), intern=True).tolist(), names.find("z"), len(names)
([0, 1, 0], -1, 2)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.arrow_numbers import array_of, text_array
from headwater.values.dictionary import MOST_ARROW_BYTES, Codes, Dictionary

if TYPE_CHECKING:
    from headwater.kernel.texts import TextColumn, Texts

MANY_STRINGS = 1000
"""So many at once are worth a table."""
MANY_TO_LOAD_FOR = 500_000
"""So many are worth loading numba as well."""
MOST_REMEMBERED = 1 << 16
"""Single strings that are remembered with their codes."""
MOST_DECODED_SINGLY = 32
STRING_OBJECT = 56
"""About what Python takes for a string, beyond its characters."""


class Strings(Dictionary):
    """Strings to codes and back."""

    def __init__(self, ask: Callable[[int, str], None] = lambda needed, what: None):
        super().__init__(ask=ask)
        self._texts: Texts | None = None
        self._read = np.zeros(0, bool)
        """Which strings of the table are among `_values`, as Python has them."""

    def __len__(self) -> int:
        return len(self._values) if self._texts is None else len(self._texts)

    # ------------------------------------------------------------------ to codes

    def takes_columns(self, count: int) -> bool:
        """Whether so many strings at once are looked up as a column."""
        return self._texts is not None or count >= _worth_a_table()

    def encode_texts(self, array: Any, *, intern: bool) -> Codes:
        """The codes of an Arrow array of strings without nulls; without `intern`, -1 for those not here."""
        texts = self._table_for(len(array))
        if texts is None:
            return super().encode_texts(array, intern=intern)
        return texts.add(_column(array)) if intern else texts.find(_column(array))

    def encode(self, values: Sequence[Any], keys: Sequence[Hashable] | None = None) -> Codes:
        """The codes of all `values`; new ones are added in the order given."""
        texts = self._table_for(len(values))
        return super().encode(values) if texts is None else texts.add(_column_of(values))

    def code(self, value: Any) -> int:
        """The code of `value`, which is added if it is new."""
        if self._texts is None:
            return super().code(value)
        code = self._codes.get(value)
        return self._remembered(value, True) if code is None else code

    def find(self, value: Any) -> int:
        """The code of `value`, or -1; nothing is added."""
        if self._texts is None:
            return super().find(value)
        code = self._codes.get(value)
        return self._remembered(value, False) if code is None else code

    def _find_keys(self, keys: Sequence[Any]) -> Codes:
        texts = self._table_for(len(keys))
        return super()._find_keys(keys) if texts is None else texts.find(_column_of(keys))

    def _remembered(self, value: str, intern: bool) -> int:
        assert self._texts is not None
        code = self._texts.number(value.encode("utf-8", "surrogatepass"), intern=intern)
        if code >= 0:
            if len(self._codes) >= MOST_REMEMBERED:
                self._codes.clear()
            self._codes[value] = code
        return code

    def _table_for(self, count: int) -> Texts | None:
        """The table, if so many strings at once are worth one and there is memory for it: what is known can be found
        without, so rows can be deleted where no more can be inserted."""
        if not self.takes_columns(count):
            return None
        try:
            return self._table()
        except MemoryError:
            return None

    def _table(self) -> Texts:
        """The table; from the first time on, it has all strings."""
        if self._texts is None:
            from headwater.kernel.texts import Texts

            texts = Texts(self._ask)
            texts.add(_column_of(self._values))
            self._read = np.ones(len(self._values), bool)
            self._texts = texts
            self._codes = {}  # last: what is there is right with a table and without
        return self._texts

    # ------------------------------------------------------------------ to strings

    def decode(self, codes: Iterable[int] | Codes) -> list[Any]:
        """The strings with these codes."""
        if self._texts is None:
            return super().decode(codes)
        given = codes if isinstance(codes, np.ndarray) else np.fromiter(codes, np.int64)
        self._read_all(given)
        return list(map(self._values.__getitem__, given.tolist()))

    def since(self, start: int) -> list[Any]:
        """The strings with codes `start` and above, in order."""
        return self.decode(np.arange(start, len(self), dtype=np.int64))

    def texts(self, codes: Codes, nulls: NDArray[np.bool_] | None = None) -> Any:
        """The strings with these codes as an Arrow array, null where `nulls` says so; an array of chunks, if they
        are too long for one."""
        import pyarrow as pa

        if self._texts is None:
            return super().texts(codes, nulls)
        column = self._texts.column()
        if int((column.places[codes + 1] - column.places[codes]).sum()) > MOST_ARROW_BYTES:
            return pa.array(self.decode(codes), pa.string(), mask=nulls)
        return _arrow(column).take(array_of(codes, nulls)).cast(pa.string())

    def _read_all(self, codes: Codes) -> None:
        """Have these strings as Python has them."""
        assert self._texts is not None
        texts, values = self._texts, self._values
        if len(texts) > len(values):
            values.extend(repeat(None, len(texts) - len(values)))
        if len(values) > self._read.shape[0]:
            more = max(len(values), self._read.shape[0] * 3 // 2) - self._read.shape[0]
            self._read = np.concatenate((self._read, np.zeros(more, bool)))
        if len(codes) <= MOST_DECODED_SINGLY:
            for code in codes.tolist():
                if values[code] is None:
                    values[code] = texts.bytes_of(code).decode("utf-8", "surrogatepass")
                    self._read[code] = True
            return
        new = codes[~self._read[codes]]
        if new.size:
            new = np.unique(new)
            for code, value in zip(new.tolist(), self._strings_of(texts, new), strict=True):
                values[code] = value
            self._read[new] = True

    @staticmethod
    def _strings_of(texts: Texts, codes: Codes) -> list[str]:
        try:
            return _arrow(texts.column()).take(array_of(codes)).to_pylist()  # type: ignore[no-any-return]
        except UnicodeDecodeError:  # half a surrogate pair, which Arrow has not
            return [texts.bytes_of(code).decode("utf-8", "surrogatepass") for code in codes.tolist()]

    @property
    def nbytes(self) -> int:
        """About how much memory the strings take."""
        if self._texts is None:
            return super().nbytes
        read = int(np.count_nonzero(self._read))
        each = self._texts.length // max(1, len(self._texts)) + STRING_OBJECT
        own = sys.getsizeof(self._values) + sys.getsizeof(self._codes) + self._read.nbytes
        return self._texts.nbytes + own + read * each


def _worth_a_table() -> int:
    return MANY_STRINGS if "numba" in sys.modules else MANY_TO_LOAD_FOR


def _column(array: Any) -> TextColumn:
    """An Arrow array of strings, where it lies if it can be."""
    import pyarrow as pa

    from headwater.kernel.texts import TextColumn

    if array.type == pa.string():
        kind: Any = np.int32
    else:
        kind, array = np.int64, array if array.type == pa.large_string() else array.cast(pa.large_string())
    _, places, data = array.buffers()
    size = np.dtype(kind).itemsize
    starts = np.frombuffer(places, kind, len(array) + 1, array.offset * size) if len(array) else np.zeros(1)
    return TextColumn(_bytes(data), starts.astype(np.int64))


def _column_of(values: Sequence[str]) -> TextColumn:
    """Strings of Python."""
    from headwater.kernel.texts import TextColumn

    if len(values) > MOST_DECODED_SINGLY:
        try:
            return _column(text_array(values))
        except UnicodeEncodeError:  # half a surrogate pair, which Arrow has not
            pass
    return TextColumn.of([value.encode("utf-8", "surrogatepass") for value in values])


def _bytes(buffer: Any) -> Any:
    return np.zeros(0, np.uint8) if buffer is None or not buffer.size else np.frombuffer(buffer, np.uint8)


def _arrow(column: TextColumn) -> Any:
    """A column as an array of Arrow's, where it lies."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(column.places), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(pa.large_string(), len(column), buffers)
