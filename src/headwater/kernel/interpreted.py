"""Kernels as Python runs them: the same functions, without machine code.

Compiling takes seconds, loading the compiler with what was compiled before takes half a second, and a program with
a few rows needs none of it. So kernels are interpreted as long as there is little to do: every array that they are
given is short, and not much time has gone into one of them yet (see `Patience`). A first try of some rows, or a
command that looks at them, is done before a compiler would have been loaded. Where there is no memory to load machine
code, a version can still end.

What holds: a kernel writes the same into its arrays either way. Numbers are numpy's, which wrap around as those of
machine code do. Python can be interrupted between any two steps, by a signal or for want of memory, and machine code
cannot: so short arrays are put back if it is, as if the function had not been called.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

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
            value.shape[0] <= SHORT for value in self._arrays(arguments)
        )

    def run(self, function: Function, arguments: tuple[Any, ...]) -> Any:
        """Have Python run it, all of it or nothing; what comes back are Python's numbers, as from machine code."""
        begin = time.thread_time()
        before = [(value, value.copy()) for value in self._arrays(arguments) if value.shape[0] <= SHORT]
        try:
            with np.errstate(all="ignore"):
                result = function(*arguments)
        except BaseException:
            for value, copied in before:
                if value.flags.writeable:
                    value[...] = copied
            raise
        self._spent += time.thread_time() - begin
        if isinstance(result, tuple):
            return tuple(map(int, result))
        return None if result is None else int(result)

    def _arrays(self, arguments: tuple[Any, ...]) -> list[npt.NDArray[Any]]:
        """What it reads, and what it changes: a buffer for what comes out is neither."""
        return [
            value
            for place, value in enumerate(arguments)
            if isinstance(value, np.ndarray) and place not in self._outputs
        ]
