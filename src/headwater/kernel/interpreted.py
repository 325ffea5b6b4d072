"""Kernels as Python runs them: the same functions, without machine code.

Compiling takes seconds, and a program with a few rows needs none of it. What has never been compiled on this machine
is interpreted as long as there is little to do: every array that it is given is short, and not much time has gone
into it yet (see `Patience`). So a first try of some rows is done before a compiler would have been loaded, and no
version waits for more than what it is itself. Where there is no memory to load machine code, a version can still end.

What holds: a kernel writes the same into its arrays either way. Numbers are numpy's, which wrap around as those of
machine code do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from headwater.kernel.machine_code import Function

SHORT = 512
"""How long an array is at most where there is little to do."""
LONGEST_INTERPRETED = 0.02
"""How many seconds a function is interpreted for in all."""
OUTPUT = "out"
"""How functions name a buffer that is longer than what they write."""


def as_python(function: Function, below: Callable[[object], Function | None]) -> Function:
    """A function that calls Python functions where it would call compiled ones: `below` gives the one for a value, if
    there is one."""
    space = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = below(space.get(name))
        if called is not None:
            space[name] = called
    return FunctionType(function.__code__, space, function.__name__)


class Patience:
    """Whether a function is to be interpreted once more."""

    def __init__(self, function: Function):
        code = function.__code__
        self._outputs = {place for place in range(code.co_argcount) if code.co_varnames[place] == OUTPUT}
        self._spent = 0.0

    def lasts(self, arguments: tuple[Any, ...]) -> bool:
        """Whether there is little to do, and little has been done so far."""
        return self._spent < LONGEST_INTERPRETED and all(
            not isinstance(value, np.ndarray) or value.shape[0] <= SHORT or place in self._outputs
            for place, value in enumerate(arguments)
        )

    def run(self, function: Function, arguments: tuple[Any, ...]) -> Any:
        """Have Python run it; what comes back are Python's numbers, as from machine code."""
        begin = time.thread_time()
        with np.errstate(over="ignore"):
            result = function(*arguments)
        self._spent += time.thread_time() - begin
        if isinstance(result, tuple):
            return tuple(map(int, result))
        return None if result is None else int(result)
