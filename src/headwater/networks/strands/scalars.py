"""Tests and computations of rules, one binding at a time, over Python values.

Set-at-a-time evaluation works on columns of codes (`values/functions`). A node handles a row at a time, so what is
common is done in plain Python: comparing, adding, subtracting and multiplying ints, and making paths of names. All
else goes through the very same functions, on columns of one row, so that results are the same; they are remembered,
since a function gives the same result for the same arguments for ever.

Values are canonical ones (`values/scalars`): what is equal in Python and of the same type is equal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from headwater.language.program import Call, Constant, Term, Variable
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.lists import concat_path
from headwater.values.scalars import INT_MAX, INT_MIN, value_type
from headwater.values.types import INT, Type
from headwater.values.volatile import VOLATILE

Registers = list[Any]
Scalar = Callable[[Registers], Any]
"""What a term is under a binding."""

MOMENT = "~moment"
"""The variable of the moment at which an update rule is fired."""


class Moment(Protocol):
    """What functions that give another value each time give now (`values/volatile`)."""

    def value(self, name: str, arguments: Sequence[Any]) -> Any: ...


MOST_REMEMBERED = 1 << 15
"""Results that are remembered, after which all are forgotten, with the dictionaries that grew for them."""

_COMPARED = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_INTS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_PATHS: Mapping[tuple[str, int], Callable[..., Any]] = {
    ("concat_path", 3): concat_path,
    ("f_prepend", 2): lambda name, path: (name, *path),
    ("f_concat", 2): operator.add,
    ("f_init", 2): lambda source, target: (source, target),
}
"""Functions that make lists of others, by name and number of arguments."""


class Evaluator:
    """Functions for single values. One serves all rules, and all nodes of a process."""

    def __init__(self, functions: Functions):
        self.functions = functions
        self._codec = Codec()
        self._known: dict[Any, Any] = {}

    def term(self, term: Term, places: Mapping[str, int], types: Mapping[str, Type | None]) -> Scalar:
        """What gives the value of a term; `places` are the registers of variables."""
        if isinstance(term, Variable):
            return operator.itemgetter(places[term.name])
        if isinstance(term, Constant):
            value = term.value
            return lambda registers: value
        assert isinstance(term, Call), term
        parts = [self.term(arg, places, types) for arg in term.args]
        if term.function in VOLATILE:
            return _volatile(term.function, places[MOMENT], parts)
        known = [self.type_of(arg, types) for arg in term.args]
        if term.function in _INTS and len(parts) == 2 and all(each in (INT, None) for each in known):
            return self._int_operation(term.function, known, parts)
        name = term.function
        if (name, len(parts)) in _PATHS:
            return self._path_operation(name, known, parts)
        return lambda registers: self.call(name, known, [part(registers) for part in parts])

    def test(
        self, op: str, left: Term, right: Term, places: Mapping[str, int], types: Mapping[str, Type | None]
    ) -> Callable[[Registers], bool]:
        """Whether a comparison holds under a binding."""
        one, other = self.term(left, places, types), self.term(right, places, types)
        left_type, right_type = self.type_of(left, types), self.type_of(right, types)
        if left_type == right_type and left_type is not None:
            if op == "=":
                return lambda registers: bool(one(registers) == other(registers))
            if op == "!=":
                return lambda registers: bool(one(registers) != other(registers))
            if left_type == INT and op in _COMPARED:
                compared = _COMPARED[op]

                def holds(registers: Registers) -> bool:
                    a, b = one(registers), other(registers)
                    if type(a) is int and type(b) is int:
                        return bool(compared(a, b))
                    return self.compare(op, left_type, right_type, a, b)

                return holds
        return lambda registers: self.compare(op, left_type, right_type, one(registers), other(registers))

    def type_of(self, term: Term, types: Mapping[str, Type | None]) -> Type | None:
        """The type of a term, as far as rules tell."""
        if isinstance(term, Variable):
            return types.get(term.name)
        if isinstance(term, Constant):
            return None if term.value is None else term.type or value_type(term.value)
        assert isinstance(term, Call)
        if term.function in VOLATILE:
            return VOLATILE[term.function][0]
        return self.functions.result_type(term.function, [self.type_of(arg, types) for arg in term.args])

    def _path_operation(self, name: str, known: Sequence[Type | None], parts: Sequence[Scalar]) -> Scalar:
        operation = _PATHS[name, len(parts)]

        def run(registers: Registers) -> Any:
            values = [part(registers) for part in parts]
            if all(map(_of_names, values)):
                return operation(*values)
            return self.call(name, known, values)

        return run

    def _int_operation(self, name: str, known: Sequence[Type | None], parts: Sequence[Scalar]) -> Scalar:
        operation, (one, other) = _INTS[name], parts

        def run(registers: Registers) -> Any:
            a, b = one(registers), other(registers)
            if type(a) is int and type(b) is int:
                result = operation(a, b)
                if INT_MIN <= result <= INT_MAX:
                    return result
            return self.call(name, known, [a, b])

        return run

    # ------------------------------------------------------------------ anything

    def call(self, name: str, types: Sequence[Type | None], arguments: Sequence[Any]) -> Any:
        """The value of a function."""
        key = (name, *((type(value), value) for value in arguments))
        try:
            return self._known[key]
        except KeyError:
            pass
        known = [self._type(type_, value) for type_, value in zip(types, arguments, strict=True)]
        columns = self._columns(arguments, known)
        resolved = self.functions.resolved(name, known)
        codes = resolved.apply(columns, self._codec)
        return self._remember(key, self._codec.decode_value(int(codes[0]), resolved.result))

    def generate(self, name: str, types: Sequence[Type | None], arguments: Sequence[Any]) -> list[Any]:
        """All values of a generator."""
        known = [self._type(type_, value) for type_, value in zip(types, arguments, strict=True)]
        expansion = self.functions.expand(name, self._columns(arguments, known), known, self._codec)
        result = self.functions.result_type(name, known)
        return [
            value
            for _, values in expansion.pieces(1 << 16)
            for value in self._codec.decode_column(values, result)
        ]

    def compare(self, op: str, left: Type | None, right: Type | None, a: Any, b: Any) -> bool:
        """Whether a comparison of two values holds."""
        key = (op, type(a), a, type(b), b)
        try:
            return bool(self._known[key])
        except KeyError:
            pass
        left, right = self._type(left, a), self._type(right, b)
        one, other = self._columns([a, b], [left, right])
        holds = self.functions.compare(op, one, other, left, right, self._codec)
        return bool(self._remember(key, bool(holds[0])))

    def _columns(self, values: Sequence[Any], types: Sequence[Type | None]) -> list[Any]:
        pairs = zip(values, types, strict=True)
        return [np.array([self._codec.encode_value(value, type_)], np.int64) for value, type_ in pairs]

    @staticmethod
    def _type(known: Type | None, value: Any) -> Type | None:
        """The type that rules tell; that of the value where they leave it open, or a part of it."""
        return known if value is None or not _is_open(known) else value_type(value)

    def _remember(self, key: Any, value: Any) -> Any:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
            self._codec = Codec()
        self._known[key] = value
        return value


def _is_open(type_: Type | None) -> bool:
    return type_ is None or any(map(_is_open, type_.parts))


def _of_names(value: Any) -> bool:
    """Whether it is a text, or a list of texts: lists have elements of one type."""
    kind = type(value)
    return kind is str or kind is tuple and (not value or type(value[0]) is str)


def _volatile(name: str, place: int, parts: Sequence[Scalar]) -> Scalar:
    return lambda registers: registers[place].value(name, [part(registers) for part in parts])
