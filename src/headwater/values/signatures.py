"""What a function takes and gives, and how it runs over columns of codes.

A function is one or more `Overload`s, tried in order. A signature is written as text, `int, int -> string`:
`T...` takes one or more; a capital letter stands for one type, the same at each occurrence; `_` for any type.
An int is taken where a float is expected. An argument of unknown type fits everything, so a call may fit
several overloads: its result type is then known only if all of them agree.

>>> append = parse_signature("list[T], T -> list[T]")
>>> str(append.result([list_of(None), parse_type("string")]))
'list[string]'
>>> append.result([list_of(parse_type("int")), parse_type("string")]) is NO_MATCH
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError, HeadwaterError
from headwater.values.codec import Codec
from headwater.values.columns import float_bits
from headwater.values.dictionary import Codes
from headwater.values.scalars import show
from headwater.values.special import NULL, Specials, has_special
from headwater.values.types import FLOAT, INT, Type, TypeClash, list_of, map_of, parse_type, unify


class FunctionMismatch(Exception):  # noqa: N818
    """A call that no overload fits; callers turn it into an error with a place."""


class NoMatch:
    """The class of `NO_MATCH`: what a signature gives for arguments that do not fit."""


NO_MATCH: Final = NoMatch()

# Codes in, codes out: the columns, their types, the result's type, and the codec the codes belong to.
Vectorised = Callable[[Sequence[Codes], Sequence[Type], Type, Codec], Codes]
Plain = Callable[[Sequence[Codes], Codec], Codes]
"""The same for arguments of exactly the parameters' types, none of whose codes is special."""
ResultType = Callable[[Sequence["Type | None"]], "Type | None | NoMatch"]
"""The type of a result by those of the arguments, of which some may not be known."""


@dataclass(frozen=True)
class Signature:
    """Parameter types and the result's type, with variables in both.

    The last parameter may repeat; if there is none to repeat, any number of arguments of any types is taken.
    """

    parameters: tuple[Type, ...]
    repeats: bool
    returns: Type | None
    text: str
    computed: ResultType | None = None
    """What the types of the arguments make of the result's, where a text cannot say it; `arity` then counts them."""
    arity: int | None = None

    def takes(self, count: int) -> bool:
        """Whether a call with `count` arguments can fit."""
        if self.computed is not None:
            return self.arity is None or (count >= self.arity if self.repeats else count == self.arity)
        return count >= len(self.parameters) if self.repeats else count == len(self.parameters)

    def parameter(self, place: int) -> Type:
        """The type expected at `place`, counted from 0."""
        return self.parameters[min(place, len(self.parameters) - 1)] if self.parameters else Type("_")

    def result(self, arguments: Sequence[Type | None]) -> Type | None | NoMatch:
        """The result's type for these arguments (`None`: depends on what is unknown), or `NO_MATCH`."""
        if not self.takes(len(arguments)):
            return NO_MATCH
        if self.computed is not None:
            return self.computed(arguments)
        bound: dict[str, Type | None] = {}
        for place, argument in enumerate(arguments):
            if not _fits(self.parameter(place), argument, bound):
                return NO_MATCH
        return None if self.returns is None else _substitute(self.returns, bound)


def parse_signature(text: str) -> Signature:
    """Read a signature from its text."""
    before, _, after = text.partition("->")
    words = [word.strip() for word in before.split(",") if word.strip()]
    repeats = bool(words) and words[-1].endswith("...")
    parameters = tuple(_parse(word.removesuffix("...")) for word in words)
    return Signature(parameters, repeats, _parse(after.strip()), text)


def _parse(word: str) -> Type:
    if word.startswith("list["):
        return list_of(_parse(word[5:-1]))
    if word.startswith("map["):
        return map_of(*(_parse(part.strip()) for part in word[4:-1].split(";")))
    found = Type(word) if len(word) == 1 else parse_type(word)
    assert found is not None, word
    return found


def _is_variable(type: Type) -> bool:
    return len(type.name) == 1


def _fits(parameter: Type, argument: Type | None, bound: dict[str, Type | None]) -> bool:
    if argument is None or parameter.name == "_":
        return True
    if _is_variable(parameter):
        try:
            bound[parameter.name] = unify(bound.get(parameter.name), argument)
        except TypeClash:
            return False
        return True
    if parameter.name in ("list", "map"):
        pairs = zip(parameter.parts, argument.parts, strict=False)
        return argument.name == parameter.name and all(
            one is None or _fits(one, own, bound) for one, own in pairs
        )
    if parameter == FLOAT:
        return argument in (FLOAT, INT) or argument.name == "decimal"
    return parameter == argument


def _substitute(type: Type, bound: dict[str, Type | None]) -> Type | None:
    if _is_variable(type):
        return bound.get(type.name)
    if type.parts:
        return Type(type.name, tuple(part and _substitute(part, bound) for part in type.parts), type.fields)
    return type


@dataclass(frozen=True)
class Overload:
    """One way to call a function."""

    signature: Signature
    run: Vectorised
    strict: bool = True

    plain: Plain | None = None

    def resolved(self, types: Sequence[Type], result: Type) -> Plain:
        """From columns to results, one a row, for arguments of these types, which fit.

        The result is NULL where an argument is a labelled null, and for a `strict` function also where one is NULL.
        """
        plain = self.plain if tuple(types) == self.signature.parameters else None

        def run(columns: Sequence[Codes], codec: Codec) -> Codes:
            if any(map(has_special, columns)):
                return self._around_nulls(columns, types, result, codec)
            return self._apply(columns, types, result, codec) if plain is None else plain(columns, codec)

        return run

    def _around_nulls(
        self, columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec
    ) -> Codes:
        nulls = self._nulls(columns, codec.specials)
        if not nulls.any():
            return self._apply(columns, types, result, codec)
        results = np.full(len(nulls), NULL, np.int64)
        if not nulls.all():
            rest = [column[~nulls] for column in columns]
            results[~nulls] = self._apply(rest, types, result, codec)
        return results

    def _nulls(self, columns: Sequence[Codes], specials: Specials) -> NDArray[np.bool_]:
        test = specials.nulls if self.strict else specials.labelled
        nulls: NDArray[np.bool_] = np.logical_or.reduce([test(column) for column in columns])
        return nulls

    def _apply(self, columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        """Of a function that takes nulls, some types may not be known."""
        columns, types = list(columns), list(types)
        for place, type in enumerate(types):
            if (
                type is None
                or type.name not in ("int", "decimal")
                or self.signature.parameter(place).name != "float"
            ):
                continue
            if type.name == "int":
                columns[place], types[place] = ints_as_floats(columns[place], codec.specials), FLOAT
            else:
                columns[place], types[place] = _decimals_as_floats(columns[place], type, codec), FLOAT
        return self.run(columns, types, result, codec)


def ints_as_floats(codes: Codes, specials: Specials) -> Codes:
    """Codes of ints as codes of the nearest floats; NULL stays NULL."""
    bits = float_bits(specials.numbers(codes).astype(np.float64))
    return np.where(codes == NULL, NULL, bits) if has_special(codes) else bits


def _decimals_as_floats(codes: Codes, type: Type, codec: Codec) -> Codes:
    """Codes of decimals as codes of the nearest floats."""
    values = [None if value is None else float(value) for value in codec.decode_column(codes, type)]
    return codec.encode_column(values, FLOAT)


@dataclass(frozen=True)
class Resolved:
    """A function as it is called: how it runs, and the type of its result, if it has one."""

    run: Plain
    result: Type | None

    def apply(self, columns: Sequence[Codes], codec: Codec) -> Codes:
        """The codes of the results, one a row; one in all without arguments."""
        if len({len(column) for column in columns}) > 1:
            columns = np.broadcast_arrays(*columns)
        if columns and len(columns[0]) == 0:
            return np.empty(0, dtype=np.int64)
        return self.run(columns, codec)


def vectorised(text: str, run: Vectorised, plain: Plain | None = None) -> Overload:
    """An overload that computes whole columns of codes at once; `plain` is a quicker way for plain ones."""
    return Overload(parse_signature(text), run, plain=plain)


def pointwise(name: str, text: str, function: Callable[..., Any], *, strict: bool = True) -> Overload:
    """An overload that computes values one by one, once for each distinct combination of arguments.

    One that is not `strict` gets `None` for NULL. The function must give canonical values of its result type, and the
    same ones whenever it is asked.
    """

    def run(columns: Sequence[Codes], types: Sequence[Type | None], result: Type, codec: Codec) -> Codes:
        results, places = call_distinct(name, function, columns, types, codec)
        return codec.encode_column(results, result)[places]

    return Overload(parse_signature(text), run, strict)


def computed(
    name: str,
    text: str,
    arity: int | None,
    result_type: ResultType,
    function: Callable[..., Any],
    *,
    nulls: bool = False,
) -> Overload:
    """As `pointwise`, for a result whose type depends on those of the arguments in a way no text can say.

    `nulls` says that it takes NULLs as well.
    """

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        results, places = call_distinct(name, function, columns, types, codec)
        return codec.encode_column(results, result)[places]

    return Overload(Signature((), False, None, text, result_type, arity), run, not nulls)


def call_distinct(
    name: str,
    function: Callable[..., Any],
    columns: Sequence[Codes],
    types: Sequence[Type | None],
    codec: Codec,
) -> tuple[list[Any], Codes]:
    """The results of `function` for the distinct combinations of arguments, and for each row which is its.

    Without arguments there is one combination, and one row. An exception becomes `function-failed`.
    """
    if not columns:
        return _call_all(name, function, [()]), np.zeros(1, dtype=np.int64)
    firsts, places = distinct_rows(columns)
    arguments = [
        codec.decode_column(column[firsts], type) for column, type in zip(columns, types, strict=True)
    ]
    try:
        return list(map(function, *arguments)), places
    except HeadwaterError:
        raise
    except Exception:
        return _call_all(name, function, list(zip(*arguments, strict=True))), places


def _call_all(name: str, function: Callable[..., Any], combinations: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The results one by one, so that a failure can be told by its arguments."""
    results = []
    for combination in combinations:
        try:
            results.append(function(*combination))
        except HeadwaterError:
            raise
        except Exception as problem:
            call = call_text(name, combination)
            raise EvaluationError("function-failed", f"{call} failed: {problem}") from problem
    return results


def call_text(name: str, arguments: Sequence[Any]) -> str:
    """A call with its arguments, for a message."""
    return f"{name}({', '.join(map(show, arguments))})"


def distinct_rows(columns: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Where each distinct row occurs first, and for each row which distinct one it is.

    >>> firsts, places = distinct_rows([np.array([5, 7, 5, 5]), np.array([1, 1, 1, 2])])
    >>> firsts.tolist(), places.tolist()
    ([0, 3, 1], [0, 2, 0, 1])
    """
    if len(columns[0]) == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    rows, width = _from_zero(columns[0])
    for column in columns[1:]:
        more, by = _from_zero(column)
        if width * by >= 2**63:
            (rows, width), (more, by) = _renumbered(rows), _renumbered(more)
        rows, width = rows * np.int64(by) + more, width * by
    _, firsts, places = np.unique(rows, return_index=True, return_inverse=True)
    return firsts.astype(np.int64), places.reshape(-1).astype(np.int64)


def _from_zero(column: Codes) -> tuple[Codes, int]:
    """Ints from 0 on, distinct where the column's are, and a bound above all of them."""
    low, high = int(column.min()), int(column.max())
    return (column - low, high - low + 1) if high - low < 2**62 else _renumbered(column)


def _renumbered(column: Codes) -> tuple[Codes, int]:
    distinct, places = np.unique(column, return_inverse=True)
    return places.reshape(-1).astype(np.int64), len(distinct)
