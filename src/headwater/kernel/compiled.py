"""Machine code for the kernel: numba functions, compiled once for a machine (see `machine_code`).

Importing the kernel loads neither numba nor machine code: whoever only reads rows needs none of it. A function is
loaded when it is first called, so that a program waits for what it uses and for nothing else; what would have to be
compiled, or would be the first to need numba, is interpreted while there is little to do (see `interpreted`). What
ends a version is loaded before there is much to end (`load_endings`): keeping or undoing it must not fail, and
compiling takes memory. Nodes load everything when they come up (`load`).

Rows are stored in 32 bits where their numbers fit, else in 64 (see `relation`). A signature says `stored` for them:
such a function is compiled for each of the two when it is first called with it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache, cached_property, partial, update_wrapper
from typing import Any, Literal

from headwater.kernel.compiling import INLINED, OPTIONS, compiling
from headwater.kernel.interpreted import SHORT, Patience, as_python
from headwater.kernel.machine_code import Function, digest_of, is_kept, kept, machine_code_folder

Ending = Literal["any", "earlier", "chains", "counts"] | None
"""Where a version may need a function to end: with any rows, with some that were there before it, with chains of
rows, or with counts (see `accumulating`)."""
PACKAGE = __name__.removesuffix("compiled")
COMPILER = "numba"
"""What is loaded with the first machine code, which takes as long as some thousand rows."""
STORED = "stored["
"""How signatures name the numbers of stored rows."""
WIDTHS = {4: "int32[", 8: "int64["}
"""What that stands for, by the bytes that a number takes."""


@cache
def _announce() -> None:
    if not any(machine_code_folder().glob("*.nbi")):
        print(
            "headwater: compiling the kernel for this machine (once; what a program uses, some seconds)",
            file=sys.stderr,
        )


class Kernel:
    """A function that stands for its machine code until that is loaded, and then gives way to it in all modules."""

    def __init__(
        self,
        function: Function,
        signature: str | None,
        *,
        ending: Ending = None,
        view: bool = False,
        missed_until: int = 0,
    ):
        self.function = function
        self.signature = signature
        self.ending = ending
        self.view = view
        self.missed_until = missed_until
        self.missed = 0
        self.machine_code: Function | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if not (self.kept and COMPILER in sys.modules) and self._patience.lasts(arguments):
            return self._patience.run(self.as_python, arguments)
        try:
            load([self], _widths if self.ending else ())
        except MemoryError:
            if self.ending is None:
                raise
            return self._patience.run(self.as_python, arguments)
        assert self.machine_code is not None
        return self.machine_code(*arguments)

    @cached_property
    def kept(self) -> bool:
        """Whether it has been compiled on this machine, by an earlier process."""
        return is_kept(self.digest)

    @cached_property
    def digest(self) -> str:
        """What its machine code is known by."""
        assert self.signature is not None
        return digest_of(self.function, self.signature, _python)

    @cached_property
    def as_python(self) -> Function:
        """The function that does the same without machine code."""
        return as_python(self.function, _interpreted)

    @cached_property
    def _patience(self) -> Patience:
        return Patience(self.function)

    def compile(self) -> Function:
        """The machine code, from the cache if it is there."""
        import numba

        if self.signature is None:
            how = {**INLINED, "inline": "always"} if self.view else INLINED
            inlined: Function = numba.njit(**how)(self.function)
            return inlined
        _announce()
        called: Any = numba.njit(**OPTIONS)(self.function)
        called._cache = kept(self.function, self.digest)
        if STORED in self.signature:
            called._compile_for_args = partial(_of_width, called, self.signature)
        else:
            with compiling():
                called.compile(self.signature)
            called.disable_compile()
        function: Function = called
        return function

    def calls(self) -> list[Kernel]:
        """The functions with signatures of their own that it calls, which have to be loaded before it."""
        found: list[Kernel] = []
        seen: set[Function] = set()
        todo = [self.function]
        while todo:
            function = todo.pop()
            if function in seen:
                continue
            seen.add(function)
            for name in function.__code__.co_names:
                called = _kernel(function.__globals__.get(name))
                if called is None:
                    continue
                if called.signature is None:
                    todo.append(called.function)
                elif called.machine_code is None:
                    found.append(called)
        return found

    def ready(self, width: int) -> None:
        """Have the machine code for stored numbers of so many bytes, if the function is given any."""
        if self.signature is not None and STORED in self.signature:
            code: Any = self.machine_code
            with compiling():
                code.compile(self.signature.replace(STORED, WIDTHS[width]))

    def give_way(self, machine_code: Function) -> None:
        """Let every module of the kernel that has this function have its machine code instead."""
        self.machine_code = machine_code
        _behind[id(machine_code)] = self
        for name, module in list(sys.modules.items()):
            if name.startswith(PACKAGE):
                names = [known for known, value in vars(module).items() if value is self]
                vars(module).update(dict.fromkeys(names, machine_code))


def _of_width(called: Any, signature: str, *arguments: Any) -> Any:
    """The machine code for rows as these arguments store them: numba asks for it when it meets others."""
    before, _, _ = signature.rpartition("(")[2].partition(STORED)
    place = before.replace("[:, ::1]", "").count(",")
    with compiling():
        return called.compile(signature.replace(STORED, WIDTHS[arguments[place].itemsize]))


class Instruction(Kernel):
    """A kernel that is given as code of LLVM: `function` is what `numba.extending.intrinsic` takes; `meaning` does
    the same in Python."""

    def __init__(self, function: Function, meaning: Function):
        super().__init__(function, None)
        self._meaning = meaning

    def compile(self) -> Function:
        from numba.extending import intrinsic

        made: Function = intrinsic(self.function)
        return made

    @cached_property
    def as_python(self) -> Function:
        return self._meaning


def nothing(*_: Any) -> None:
    """What an instruction means that only makes others quicker."""


_kernels: list[Kernel] = []
"""All functions, those that others call before the others."""
_behind: dict[int, Kernel] = {}
"""The functions behind machine code that is loaded."""
_widths = {min(WIDTHS)}
"""How many bytes the numbers of relations have taken so far."""
_large: set[Ending] = set()
"""Where there have been many rows, so that all is loaded that ends a version."""
_loading = threading.RLock()


def _kernel(value: object) -> Kernel | None:
    """What a value is, or what is behind it if it is machine code."""
    return value if isinstance(value, Kernel) else _behind.get(id(value))


def _python(value: object) -> Function | None:
    """The Python function behind a kernel, or behind its machine code."""
    kernel = _kernel(value)
    return None if kernel is None else kernel.function


def _interpreted(value: object) -> Function | None:
    """What stands for a kernel, or for its machine code, where Python runs those that call it."""
    kernel = _kernel(value)
    return None if kernel is None else kernel.as_python


def compiled(
    signature: str | None = None, *, ending: Ending = None, view: bool = False, missed_until: int = 0
) -> Callable[[Function], Function]:
    """A function to be compiled with the given signature; without one, it is inlined into compiled functions.

    `ending`: a version may need it to end, and where. `view`: what it returns is an array, which only a function can
    that is part of its caller before anything is compiled. `missed_until`: there are other ways to do what it does,
    and it is compiled once it was `missed` as often.
    """

    def decorate(function: Function) -> Function:
        _kernels.append(Kernel(function, signature, ending=ending, view=view, missed_until=missed_until))
        return _kernels[-1]

    return decorate


def instruction(meaning: Function = nothing) -> Callable[[Function], Function]:
    """An instruction of the processor, as a function that compiled ones can call; and what it means in Python."""

    def decorate(function: Function) -> Function:
        _kernels.append(Instruction(function, meaning))
        return _kernels[-1]

    return decorate


def load(kernels: Iterable[Kernel] | None = None, widths: Iterable[int] = ()) -> None:
    """Load machine code, compiling what was never compiled on this machine: of these functions, or of all; for stored
    numbers of some widths, or of those that come along. All are those for which there is no other way, and those that
    are kept."""
    with _loading:
        for kernel in _kernels:
            if kernel.signature is None and kernel.machine_code is None:
                kernel.give_way(kernel.compile())
        every = [kernel for kernel in _kernels if not kernel.missed_until or kernel.kept]
        for kernel in every if kernels is None else kernels:
            if kernel.machine_code is None:
                load(kernel.calls())
                kernel.give_way(kernel.compile())
            for width in widths:
                kernel.ready(width)


def at_hand(function: Function) -> bool:
    """Whether machine code of a function is loaded, or was kept and is loaded now: else there are other ways."""
    if not isinstance(function, Kernel):
        return True
    if COMPILER not in sys.modules or not function.kept:
        return False
    load([function])
    return True


def missed(function: Function, times: int) -> None:
    """Take note that a function which was not at hand was missed so often; compile it, if that is often enough."""
    if isinstance(function, Kernel):
        function.missed += times
        if function.missed >= function.missed_until:
            load([function])


def load_endings(rows: int, width: int, where: Ending = "any") -> None:
    """Load what may be needed to end a version, before there are so many rows with numbers of so many bytes. What is
    not loaded can be interpreted, and what is loaded is so for all widths that there are."""
    widths = _widths | {width}
    if (rows <= SHORT or where in _large) and widths == _widths:
        return
    large = {*_large, where} if rows > SHORT else _large
    load(
        [kernel for kernel in _kernels if kernel.ending in large or (kernel.ending and kernel.machine_code)],
        widths,
    )
    _widths.update(widths)
    _large.update(large)
