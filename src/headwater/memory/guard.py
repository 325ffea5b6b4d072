"""No bare `MemoryError` reaches a user: what the allocators of numpy, Arrow or the system refuse is our error."""

from __future__ import annotations

import errno
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from headwater.errors import OutOfMemory

Class = TypeVar("Class")
SPECIAL = ("__init__", "__getitem__", "__contains__", "__iter__", "__len__")


def refused_memory(error: BaseException, doing: str) -> OutOfMemory | None:
    """The error of an allocator as ours; `None` for any other error, and for what is ours already."""
    if isinstance(error, OutOfMemory):
        return None
    if not isinstance(error, MemoryError) and not _says_so(error):
        return None
    size = f": {error}" if str(error) and getattr(error, "errno", None) is None else ""
    return OutOfMemory(
        "out-of-memory",
        f"the system gave no more memory during {doing}{size}",
        hint="ask for less at once, or set a budget below what the process may have: memory=...",
    )


def _says_so(error: BaseException) -> bool:
    """Whether an error of the system, or of a library that has no better class for it, is about memory."""
    if not isinstance(error, OSError):
        return False
    return error.errno == errno.ENOMEM or (error.errno is None and "not enough memory" in str(error))


@contextmanager
def memory_errors(doing: str) -> Iterator[None]:
    """Errors of allocators in this block are ours."""
    try:
        yield
    except (MemoryError, OSError) as error:
        ours = refused_memory(error, doing)
        if ours is None:
            raise
        raise ours from error


def memory_errors_are_ours(kind: type[Class]) -> type[Class]:
    """A class whose public methods and properties raise `OutOfMemory` for any `MemoryError`.

    So do those that it inherits from our classes; those of the standard library call ours.
    """
    for name in dir(kind):
        if name.startswith("_") and name not in SPECIAL:
            continue
        found = inspect.getattr_static(kind, name)
        if isinstance(found, property) and found.fget is not None and _ours(found.fget):
            setattr(kind, name, property(_guarded(found.fget), found.fset, found.fdel, found.__doc__))
        elif inspect.isfunction(found) and _ours(found):
            setattr(kind, name, _guarded(found))
    return kind


def _ours(method: Callable[..., Any]) -> bool:
    return method.__module__.partition(".")[0] not in sys.stdlib_module_names


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    doing = "opening" if method.__name__ == "__init__" else method.__name__.strip("_")

    @wraps(method)
    def run(*args: Any, **options: Any) -> Any:
        try:  # not the context manager, which costs more than the small methods
            return method(*args, **options)
        except (MemoryError, OSError) as error:
            ours = refused_memory(error, doing)
            if ours is None:
                raise
            raise ours from error

    @wraps(method)
    def generate(*args: Any, **options: Any) -> Iterator[Any]:
        with memory_errors(doing):
            yield from method(*args, **options)

    return generate if inspect.isgeneratorfunction(method) else run
