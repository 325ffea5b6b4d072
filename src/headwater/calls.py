"""Public calls: what their callers or the allocators get wrong is an error of ours, never a bare one.

>>> @public
... def connect(path=None, *, mode="w"): ...
>>> connect(mod="r")
Traceback (most recent call last):
headwater.errors.DataError: error[wrong-arguments]: connect has no argument mod
  = hint: did you mean mode? connect(path=None, *, mode='w')
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from headwater.errors import DataError, HeadwaterWarning
from headwater.memory.guard import memory_errors, refused_memory
from headwater.spelling import did_you_mean

Class = TypeVar("Class")
Function = TypeVar("Function", bound=Callable[..., Any])
SPECIAL = ("__init__", "__getitem__", "__contains__", "__iter__", "__len__", "__call__")


def public_class(kind: type[Class]) -> type[Class]:
    """A class whose methods and properties are public calls.

    So are those that it inherits from our classes; those of the standard library call ours.
    """
    for name in dir(kind):
        if name.startswith("_") and name not in SPECIAL:
            continue
        found = inspect.getattr_static(kind, name)
        called = kind.__name__ if name == "__init__" else name.strip("_")
        if isinstance(found, property) and found.fget is not None and _ours(found.fget):
            setattr(kind, name, property(_public(found.fget, called), found.fset, found.fdel, found.__doc__))
        elif inspect.isfunction(found) and _ours(found):
            setattr(kind, name, _public(found, called))
        elif isinstance(found, (staticmethod, classmethod)) and _ours(found.__func__):
            setattr(kind, name, type(found)(_public(found.__func__, called)))
    return kind


def public(function: Function) -> Function:
    """A function that is a public call."""
    return _public(function, function.__name__)  # type: ignore[return-value]


def warn(warning: HeadwaterWarning) -> None:
    """Tell the caller of a public call something by Python's `warnings`, at the caller's line."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "headwater":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def taking(options: type) -> Callable[[Function], Function]:
    """A function whose keyword arguments are the fields of a dataclass: its signature says so."""

    def signed(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters.values())
        fields = inspect.signature(options).parameters.values()
        named = [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in fields]
        function.__signature__ = inspect.Signature([*parameters[:-1], *named])  # type: ignore[attr-defined]
        return function

    return signed


def _ours(method: Callable[..., Any]) -> bool:
    return method.__module__.partition(".")[0] not in sys.stdlib_module_names


def _public(method: Callable[..., Any], called: str) -> Callable[..., Any]:
    doing = "opening" if method.__name__ == "__init__" else called

    @wraps(method)
    def run(*args: Any, **options: Any) -> Any:
        try:  # not a context manager, which costs more than the small methods
            return method(*args, **options)
        except (MemoryError, OSError) as error:
            ours = refused_memory(error, doing)
            if ours is None:
                raise
            raise ours from error
        except TypeError:
            misfit = _misfit(method, called, args, options)
            if misfit is None:
                raise
            raise misfit from None

    @wraps(method)
    def generate(*args: Any, **options: Any) -> Iterator[Any]:
        with memory_errors(doing):
            yield from method(*args, **options)

    return generate if inspect.isgeneratorfunction(method) else run


def _misfit(
    method: Callable[..., Any], called: str, args: tuple[Any, ...], options: dict[str, Any]
) -> DataError | None:
    """The error about arguments that a call does not take; `None` if it takes these."""
    signature = inspect.signature(method)
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        return _wrong_arguments(signature, called, options, str(error))
    return None


def _wrong_arguments(
    signature: inspect.Signature, called: str, options: dict[str, Any], said: str
) -> DataError:
    parameters = {name: one for name, one in signature.parameters.items() if name != "self"}
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters.values()]
    usage = f"{called}{inspect.Signature(plain)}"
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in plain)
    unknown = [] if open_ended else [name for name in options if name not in parameters]
    if not unknown:
        return DataError("wrong-arguments", f"{called}: {said}", hint=usage)
    meant = did_you_mean(unknown[0], parameters)
    hint = f"{meant} {usage}" if meant else usage
    return DataError("wrong-arguments", f"{called} has no argument {unknown[0]}", hint=hint)
