"""Machine code for the kernel: numba functions, compiled once for a machine (see `machine_code`).

Importing the kernel loads neither numba nor machine code: whoever only reads rows needs none of it. A function is
loaded when it is first called, so that a program waits for what it uses and for nothing else; what would have to be
compiled, or would be the first to need numba, is interpreted while there is little to do (see `interpreted`). What
ends a version is loaded before there is much to end (`load_endings`): keeping or undoing it must not fail, and
compiling takes memory. When nodes come up, they compile all for which there is no other way
(`compile_missing`).

What will be needed soon is compiled ahead by another process (see `ahead`): with the first large load, what its own
rules come to when its rows are in (`joining`), so that two cores compile side by side, then what a first deletion
needs (`losing`); and functions for which there are other ways, once they were missed (see `at_hand`). Whoever calls
such a function before it is there compiles it.

Rows are stored in 32 bits where their numbers fit, else in 64 (see `relation`). A signature says `stored` for them:
such a function is compiled for each of the two when it is first called with it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable
from functools import cache, cached_property, partial, update_wrapper
from typing import Any, Literal

from headwater.kernel import ahead
from headwater.kernel.compiling import INLINED, OPTIONS, compiling
from headwater.kernel.interpreted import SHORT, Patience, as_python
from headwater.kernel.machine_code import Function, KeptFunction, digest_of, is_kept, machine_code_folder
from headwater.loading import loaded_whole

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
        joining: bool = False,
        losing: bool = False,
        missed_until: int = 0,
    ):
        self.function = function
        self.signature = signature
        self.ending = ending
        self.view = view
        self.joining = joining
        self.losing = losing
        self.missed_until = missed_until
        self.machine_code: Function | None = None
        self._digests: dict[int, str] = {}
        self._kept: dict[int, bool] = {}
        self._ready: set[int] = set()
        """For which widths machine code is loaded."""
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        at_once = COMPILER in sys.modules and self.is_kept(self._width(arguments))
        if not at_once and self._patience.lasts(arguments):
            return self._patience.run(self.as_python, arguments)
        try:
            load([self], _widths if self.ending else ())
        except MemoryError:
            if self.ending is None:
                raise
            return self._patience.run(self.as_python, arguments)
        assert self.machine_code is not None
        return self.machine_code(*arguments)

    @property
    def stores(self) -> bool:
        """Whether it is given stored rows."""
        return self.signature is not None and STORED in self.signature

    def signed(self, width: int) -> str:
        """Its signature for stored numbers of so many bytes."""
        assert self.signature is not None
        return self.signature.replace(STORED, WIDTHS[width])

    def digest(self, width: int) -> str:
        """What its machine code for a width is known by."""
        if width not in self._digests:
            self._digests[width] = digest_of(self.function, self.signed(width), _python)
        return self._digests[width]

    def is_kept(self, width: int, *, anew: bool = False) -> bool:
        """Whether it has been compiled on this machine for a width, when the process first asked; or by now."""
        if anew or width not in self._kept:
            self._kept[width] = is_kept(self.digest(width), anew=anew)
        return self._kept[width]

    def forget(self, width: int) -> None:
        """Take it that it is not kept, until somebody looks anew."""
        self._kept[width] = False

    def is_ready(self, width: int) -> bool:
        """Whether its machine code for a width is loaded."""
        return width in self._ready

    def _width(self, arguments: tuple[Any, ...]) -> int:
        """How many bytes the stored numbers among its arguments have; any, if there are none."""
        return int(arguments[self._stored].itemsize) if self.stores else min(WIDTHS)

    @cached_property
    def _stored(self) -> int:
        """Which of its arguments are stored rows."""
        assert self.signature is not None
        before, _, _ = self.signature.rpartition("(")[2].partition(STORED)
        return before.replace("[:, ::1]", "").count(",")

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
        widths = WIDTHS if self.stores else [min(WIDTHS)]
        called._cache = KeptFunction(
            self.function, {self.signed(width): self.digest(width) for width in widths}
        )
        if self.stores:
            called._compile_for_args = partial(self._of_width, called)
        else:
            with compiling():
                called.compile(self.signature)
            called.disable_compile()
            self._ready.update(WIDTHS)
        function: Function = called
        return function

    def _of_width(self, called: Any, *arguments: Any) -> Any:
        """The machine code for rows as these arguments store them: numba asks for it when it meets others."""
        with loaded_whole(), compiling():
            return called.compile(self.signed(self._width(arguments)))

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
                called = kernel_of(function.__globals__.get(name))
                if called is None:
                    continue
                if called.signature is None:
                    todo.append(called.function)
                elif called.machine_code is None:
                    found.append(called)
        return found

    def ready(self, width: int) -> None:
        """Have the machine code for stored numbers of so many bytes, if the function is given any."""
        if self.stores and not self.is_ready(width):
            code: Any = self.machine_code
            with compiling():
                code.compile(self.signed(width))
            self._ready.add(width)

    def give_way(self, machine_code: Function) -> None:
        """Let every module of the kernel that has this function have its machine code instead."""
        self.machine_code = machine_code
        _behind[id(machine_code)] = self
        for name, module in list(sys.modules.items()):
            if name.startswith(PACKAGE):
                names = [known for known, value in vars(module).items() if value is self]
                vars(module).update(dict.fromkeys(names, machine_code))


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


def kernel_of(value: object) -> Kernel | None:
    """What a value is, or what is behind it if it is machine code."""
    return value if isinstance(value, Kernel) else _behind.get(id(value))


def _python(value: object) -> Function | None:
    """The Python function behind a kernel, or behind its machine code."""
    kernel = kernel_of(value)
    return None if kernel is None else kernel.function


def _interpreted(value: object) -> Function | None:
    """What stands for a kernel, or for its machine code, where Python runs those that call it."""
    kernel = kernel_of(value)
    return None if kernel is None else kernel.as_python


def compiled(
    signature: str | None = None,
    *,
    ending: Ending = None,
    view: bool = False,
    joining: bool = False,
    losing: bool = False,
    missed_until: int = 0,
) -> Callable[[Function], Function]:
    """A function to be compiled with the given signature; without one, it is inlined into compiled functions.

    `ending`: a version may need it to end, and where. `view`: what it returns is an array, which only a function can
    that is part of its caller before anything is compiled. `joining`: it is first needed when rules run over rows
    that are in. `losing`: it is first needed when rows are deleted. `missed_until`: there are other ways to do what
    it does, and it is compiled once it was missed as often, or ahead (see `at_hand`).
    """

    def decorate(function: Function) -> Function:
        when: Any = {"ending": ending, "joining": joining, "losing": losing, "missed_until": missed_until}
        _kernels.append(Kernel(function, signature, view=view, **when))
        return _kernels[-1]

    return decorate


def instruction(meaning: Function = nothing) -> Callable[[Function], Function]:
    """An instruction of the processor, as a function that compiled ones can call; and what it means in Python."""

    def decorate(function: Function) -> Function:
        _kernels.append(Instruction(function, meaning))
        return _kernels[-1]

    return decorate


def load(kernels: Iterable[Kernel] | None = None, widths: Collection[int] = ()) -> None:
    """Load machine code, compiling what was never compiled on this machine: of these functions, or of all; for stored
    numbers of some widths, or of those that come along. All are those for which there is no other way, and those that
    are kept."""
    with _loading, loaded_whole():
        for kernel in _kernels:
            if kernel.signature is None and kernel.machine_code is None:
                kernel.give_way(kernel.compile())
        for kernel in _every(widths) if kernels is None else kernels:
            if kernel.machine_code is None:
                load(kernel.calls())
                kernel.give_way(kernel.compile())
            for width in widths:
                kernel.ready(width)


def compile_missing(widths: Collection[int] = tuple(WIDTHS)) -> None:
    """See to it that nothing has to be compiled later. What is kept is loaded when it is first called; if the first
    of it turns out to be unfit, all is compiled anew."""
    with _loading:
        every = [kernel for kernel in _every(widths) if kernel.signature is not None]
        kept = [kernel for kernel in every if all(kernel.is_kept(width) for width in widths)]
        load([*(kernel for kernel in every if kernel not in kept), *kept[:1]], widths)
        if any(_misses(kernel) for kernel in kept[:1]):
            load(every, widths)


def _misses(kernel: Kernel) -> int:
    """How often something was not found where it is kept."""
    code: Any = kernel.machine_code
    return sum(code.stats.cache_misses.values())


def _every(widths: Collection[int]) -> list[Kernel]:
    """All for which there is no other way, and those that are kept."""
    return [
        kernel
        for kernel in _kernels
        if not kernel.missed_until or all(kernel.is_kept(width) for width in widths or _widths)
    ]


def kernels_of(module: str) -> list[Kernel]:
    """The functions of a module that have signatures."""
    return [each for each in _kernels if each.signature is not None and each.function.__module__ == module]


def compile_ahead(kernels: Iterable[Kernel], width: int) -> None:
    """Have functions compiled for a width by another process, if that can be."""
    ahead.compile_ahead([(each.function.__module__, each.digest(width), width) for each in kernels])


def _needed_soon() -> list[Kernel]:
    """What is not needed for the first rows, but soon. What is needed last comes first: whoever cannot wait begins at
    the other end, and both seldom compile the same."""
    soon = [each for each in reversed(_kernels) if each.joining or each.losing or each.ending == "earlier"]
    return sorted(soon, key=lambda kernel: not kernel.joining)


def load_endings(rows: int, width: int, where: Ending = "any") -> None:
    """Load what may be needed to end a version, before there are so many rows with numbers of so many bytes. What is
    not loaded can be interpreted, and what is loaded is so for all widths that there are."""
    widths = _widths | {width}
    if (rows <= SHORT or where in _large) and widths == _widths:
        return
    large = {*_large, where} if rows > SHORT else _large
    if not _large and large and ahead.is_possible():
        compile_ahead([kernel for kernel in _needed_soon() if not kernel.is_kept(width)], width)
    load(
        [kernel for kernel in _kernels if kernel.ending in large or (kernel.ending and kernel.machine_code)],
        widths,
    )
    _widths.update(widths)
    _large.update(large)
