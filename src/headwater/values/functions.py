"""The functions that rules may call: built-in ones and those a user registers.

Columns are columns of codes throughout. A test is a function that may stand as a literal by itself; it holds
where `apply` gives anything but 0. A generator gives any number of values a row: `range(a, b)` counts from a
to just before b (see `generators`). A column of one row stands for
as many rows as the others have.

A function must give the same result for the same arguments for ever: views are kept right by computing again
what a row once gave. So functions of the clock or of chance are refused, and a registered function is called
once for each distinct combination of arguments.

>>> from headwater.values.types import INT
>>> functions, codec = Functions(), Codec()
>>> functions.register("double", lambda x: 2 * x, ["int"], "int")
>>> str(functions.result_type("double", [INT])), functions.has("double", 2)
('int', False)
>>> functions.apply("double", [np.array([3, 4, 3])], [INT], codec).tolist()
[6, 8, 6]
>>> functions.suggest("strlne")
['strlen']
>>> functions.result_type("strlen", [INT])
Traceback (most recent call last):
headwater.values.signatures.FunctionMismatch: strlen takes (string), given (int)
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headwater.errors import DataError, EvaluationError, RuleError
from headwater.values import arguments
from headwater.values.arithmetic import ARITHMETIC
from headwater.values.codec import Codec
from headwater.values.decimals import DECIMALS
from headwater.values.dictionary import Codes
from headwater.values.families import MAPS, member, no_field
from headwater.values.generators import GENERATORS, Expansion
from headwater.values.lists import LISTS
from headwater.values.moments import MOMENTS
from headwater.values.ordering import check_comparable, compare
from headwater.values.patterns import compiled
from headwater.values.reals import REALS
from headwater.values.ring import RING
from headwater.values.scalars import Misfit, canonical, show
from headwater.values.signatures import (
    FunctionMismatch,
    NoMatch,
    Overload,
    Resolved,
    Signature,
    call_distinct,
    call_text,
)
from headwater.values.special import NULL, LabelledNull
from headwater.values.text import TEXT
from headwater.values.types import BOOL, INT, TYPES_IN_WORDS, Type, parse_type
from headwater.values.volatile import REFUSED

__all__ = ["FunctionMismatch", "Functions", "declared_functions"]

Declared = tuple[Callable[..., Any], Sequence[Type | str] | None, Type | str, bool]
"""A Python function for rules, the types of its arguments (`None`: any), the type of its result, and whether it is
called with nulls."""
Given = (
    tuple[Callable[..., Any], Sequence[Type | str] | None, Type | str]
    | tuple[Callable[..., Any], Sequence[Type | str] | None, Type | str, bool]
)
"""The same as users give it: it is not called with nulls if nothing is said."""

_BUILTINS: dict[str, Sequence[Overload]] = {
    **ARITHMETIC, **REALS, **TEXT, **LISTS, **MAPS, **MOMENTS, **RING,
}  # fmt: skip
for _name, _overloads in DECIMALS.items():  # before those of floats, which take decimals as well
    _BUILTINS[_name] = [*_BUILTINS[_name][:1], *_overloads, *_BUILTINS[_name][1:]]
_NEVER_NULL = {**ARITHMETIC, **REALS, **TEXT, **MOMENTS, **RING}.keys()
_INT_TESTS = ("f_member", "f_empty", "f_coinFlip")


class Functions:
    """Built-in and registered functions by name."""

    def __init__(self) -> None:
        """Start with the built-in functions."""
        self._functions: dict[str, Sequence[Overload]] = dict(_BUILTINS)
        self._resolved: dict[tuple[str, tuple[Type | None, ...]], Resolved] = {}
        self._result_types: dict[tuple[str, tuple[Type | None, ...]], Type | None] = {}

    def register(
        self,
        name: str,
        fn: Callable[..., Any],
        args: Sequence[Type | str] | None,
        returns: Type | str,
        *,
        nulls: bool = False,
    ) -> None:
        """Let rules call `fn`, with values of the types `args` (any number of any types if `None`).

        It gets plain Python values and must give one of type `returns`, or `None`. Where an argument is null, it is
        not called and the result is null; with `nulls` it is called, with `None` there. Registering a name again
        replaces the function; the names of built-in functions are taken.
        """
        arguments.identifier("the name of a function", name)
        if not callable(fn):
            raise arguments.wrong(f"function {name}", fn, "a Python function, or what can be called like one")
        if name in _BUILTINS or name in GENERATORS or name in REFUSED:
            raise RuleError("reserved-name", f"{name} is a built-in function", hint="register another name")
        result = _declared(name, returns)
        types = () if args is None else _declared_all(name, args)
        signature = Signature(types, args is None, result, name)
        call = _checked(name, fn, result)

        def run(columns: Sequence[Codes], types: Sequence[Type | None], result: Type, codec: Codec) -> Codes:
            results, places = call_distinct(name, call, columns, types, codec)
            return codec.encode_column(results, result)[places]

        self._functions[name] = [Overload(signature, run, strict=not nulls)]
        self._resolved.clear()
        self._result_types.clear()

    def names(self) -> list[str]:
        """The names of all functions that can be called."""
        return sorted([*self._functions, *GENERATORS])

    def has(self, name: str, arity: int | None = None) -> bool:
        """Whether there is such a function (also one that is known and refused), taking `arity` arguments."""
        if name in REFUSED or is_label(name):
            return True
        signatures = self._signatures(name)
        return any(arity is None or signature.takes(arity) for signature in signatures)

    def suggest(self, name: str) -> list[str]:
        """Names of functions that look like `name`, the most alike first."""
        folded = {known.lower(): known for known in self.names()}
        return [folded[near] for near in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.7)]

    def is_test(self, name: str) -> bool:
        """Whether a call may stand as a literal by itself."""
        return name in _INT_TESTS or _are_tests(self._overloads(name))

    def tests(self) -> list[str]:
        """The names of all functions for which that is so."""
        registered = [name for name in self._functions if name not in _BUILTINS and self.is_test(name)]
        return sorted([*_built_in_tests(), *registered])

    def is_generator(self, name: str) -> bool:
        """Whether a call gives any number of values, for `expand`."""
        return name in GENERATORS

    def gives_null(self, name: str) -> bool:
        """Whether a call may give null though no argument is."""
        return not (name in _NEVER_NULL or name in GENERATORS or is_label(name))

    def is_strict(self, name: str) -> bool:
        """Whether a call gives null wherever an argument is."""
        overloads = self._functions.get(name, ())
        return not is_label(name) and all(overload.strict for overload in overloads)

    def result_type(self, name: str, arg_types: Sequence[Type | None]) -> Type | None:
        """The type of a call's result; `None` if it depends on an argument whose type is unknown.

        A labelled null has no type of its own.
        """
        call = (name, tuple(arg_types))
        if call not in self._result_types:
            self._result_types[call] = self._result_type(*call)
        return self._result_types[call]

    def _result_type(self, name: str, arg_types: tuple[Type | None, ...]) -> Type | None:
        if is_label(name):
            return None
        if name in REFUSED:
            raise FunctionMismatch(f"{name} {REFUSED[name]}")
        signatures = self._signatures(name)
        if not signatures:
            near = self.suggest(name)
            raise FunctionMismatch(
                f"there is no function {name}" + (f"; did you mean {near[0]}?" if near else "")
            )
        results = [signature.result(arg_types) for signature in signatures]
        found = [result for result in results if not isinstance(result, NoMatch)]
        if not found:
            if name.startswith("."):
                raise FunctionMismatch(no_field(name, arg_types[0]))
            given = ", ".join("?" if type is None else str(type) for type in arg_types)
            taken = " or ".join(f"({_parameters(signature)})" for signature in signatures)
            raise FunctionMismatch(f"{name} takes {taken}, given ({given})")
        known = all(type is not None for type in arg_types)
        return found[0] if known or all(result == found[0] for result in found) else None

    def apply(self, name: str, columns: Sequence[Codes], types: Sequence[Type | None], codec: Codec) -> Codes:
        """The codes of a call's results, one a row; one result in all for a call without arguments.

        Where the type of an argument is not known, all its values are null.
        """
        return self.resolved(name, types).apply(columns, codec)

    def resolved(self, name: str, types: Sequence[Type | None]) -> Resolved:
        """How a call with arguments of these types runs."""
        call = (name, tuple(types))
        found = self._resolved.get(call)
        if found is None:
            found = self._resolved[call] = self._resolve(*call)
        return found

    def expand(
        self, name: str, columns: Sequence[Codes], types: Sequence[Type | None], codec: Codec
    ) -> Expansion:
        """All values that a generator gives, to be had in pieces."""
        self.result_type(name, types)
        if name not in GENERATORS:
            raise FunctionMismatch(f"{name} is not a generator")
        fitting = (each for each in GENERATORS[name] if not isinstance(each.signature.result(types), NoMatch))
        return next(fitting).expand(columns, types, codec.specials)

    def check_constants(self, name: str, arguments: Sequence[object]) -> None:
        """Raise `EvaluationError` for a call that is bound to fail by constants; `None` is what is not known."""
        if name == "match" and arguments and isinstance(arguments[0], str):
            compiled(arguments[0])

    def compare(
        self,
        op: str,
        left: Codes,
        right: Codes,
        left_type: Type | None,
        right_type: Type | None,
        codec: Codec,
    ) -> NDArray[np.bool_]:
        """Where `left op right` holds; see `ordering`."""
        return compare(op, left, right, left_type, right_type, codec)

    def check_comparable(self, op: str, left: Type | None, right: Type | None) -> None:
        """Raise `FunctionMismatch` unless values of these types can be compared."""
        check_comparable(op, left, right)

    def _resolve(self, name: str, types: tuple[Type | None, ...]) -> Resolved:
        """The first overload that fits.

        A result of no known type is null, as is all that its arguments have of that type; so any type will do.
        """
        result = self.result_type(name, types)
        if is_label(name):
            return Resolved(lambda columns, codec: _labelled(name, columns, types, codec), None)
        if None in types and self.is_strict(name):
            return Resolved(lambda columns, codec: np.full(len(columns[0]), NULL, np.int64), result)
        if name in GENERATORS:
            raise FunctionMismatch(f"{name} cannot be computed here: it is a generator")
        overloads = self._overloads(name)
        fitting = (each for each in overloads if not isinstance(each.signature.result(types), NoMatch))
        return Resolved(next(fitting).resolved(cast(Sequence[Type], types), result or INT), result)

    def _signatures(self, name: str) -> list[Signature]:
        if name in GENERATORS:
            return [generator.signature for generator in GENERATORS[name]]
        return [overload.signature for overload in self._overloads(name)]

    def _overloads(self, name: str) -> Sequence[Overload]:
        """The ways to call a function, which may be a member of a family (see `families`)."""
        return self._functions.get(name) or member(name)


def _are_tests(overloads: Sequence[Overload]) -> bool:
    return any(overload.signature.returns == BOOL for overload in overloads)


@cache
def _built_in_tests() -> frozenset[str]:
    return frozenset(name for name, known in _BUILTINS.items() if name in _INT_TESTS or _are_tests(known))


def is_label(name: str) -> bool:
    """Whether a call of this name makes a labelled null: `?f(X)`."""
    return name.startswith("?")


def _labelled(name: str, columns: Sequence[Codes], types: Sequence[Type | None], codec: Codec) -> Codes:
    """Codes of labelled nulls; one for each distinct combination of arguments."""
    if len({len(column) for column in columns}) > 1:
        columns = np.broadcast_arrays(*columns)
    if columns and len(columns[0]) == 0:
        return np.empty(0, dtype=np.int64)

    def label(*arguments: Any) -> LabelledNull:
        try:
            return LabelledNull(name[1:], arguments)
        except DataError as error:
            raise EvaluationError(error.code, error.message, hint=error.hint) from None

    labels, places = call_distinct(name, label, columns, types, codec)
    return codec.specials.encode(labels, intern=True)[places]


def declared_functions(functions: Mapping[str, Given] | None) -> dict[str, Declared]:
    """Python functions for rules, as users give them; each must say what it takes and gives."""
    form = "(function, argument types or None, result type[, called with nulls])"
    found = arguments.mapping("functions", functions, f"{{name: {form}}}")
    result: dict[str, Declared] = {}
    for name, given in found.items():
        if not isinstance(given, tuple) or len(given) not in (3, 4):
            raise arguments.wrong(f"functions[{name!r}]", given, form)
        function, args, returns, *nulls = given
        if nulls and not isinstance(nulls[0], bool):
            raise arguments.wrong(
                f"functions[{name!r}][3]", nulls[0], "true or false: whether it is called with nulls"
            )
        result[name] = (function, args, returns, bool(nulls and nulls[0]))
    return result


def _declared_all(name: str, types: Sequence[Type | str]) -> tuple[Type, ...]:
    if not isinstance(types, (list, tuple)):
        raise arguments.wrong(f"args of function {name}", types, "a list of types, or None for any arguments")
    return tuple(_declared(name, type) for type in types)


def _declared(name: str, type: Type | str) -> Type:
    found = type if isinstance(type, Type) else parse_type(type) if isinstance(type, str) else None
    if found is None:
        raise RuleError(
            "unknown-type",
            f"function {name}: there is no type {type if isinstance(type, str) else show(type)}",
            hint=f"the types are {TYPES_IN_WORDS}",
        )
    return found


def _checked(name: str, function: Callable[..., Any], returns: Type) -> Callable[..., Any]:
    """The function, with its results made canonical."""

    def call(*arguments: Any) -> Any:
        try:
            return canonical(function(*arguments), returns)
        except Misfit as misfit:
            problem = f"should give {returns}, but {misfit.reason}"
            raise EvaluationError("function-failed", f"{call_text(name, arguments)} {problem}") from None
        except Exception as error:
            problem = f"failed: {type(error).__name__}: {error}"
            raise EvaluationError("function-failed", f"{call_text(name, arguments)} {problem}") from error

    return call


def _parameters(signature: Signature) -> str:
    if signature.computed is not None:
        return signature.text.partition(" ->")[0]
    return ", ".join(map(str, signature.parameters)) + ("..." if signature.repeats else "")
