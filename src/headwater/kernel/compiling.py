"""How numba is told to compile kernels: with no more work than they need.

Kernels never allocate: they write into arrays they are given. So numba's reference counting is off, which makes them
about five times as fast where small functions over arrays are called for every row. And so a third of what LLVM does
for other functions of numba's is left out: those are optimised one by one, then with all that they call, then, when
counts that cancel each other have been taken out, once more with all that they call. Here only the last is done.

Functions that are part of their callers are never called by themselves: they are neither optimised nor made into
machine code before they are such a part. And what an operation on some types comes to is the same wherever it is met,
so numba is made to find out once. Together that is a third of the time that a first load takes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headwater.kernel.machine_code import Function

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_rewrites": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "forceinline": False,
}
"""How functions are compiled, also where one that is part of others is the first to call them: numba would hand down
that it is. Rewrites are for expressions of whole arrays, and for what kernels do not use; wrappers
that nobody calls would take a quarter of the time."""
USED_OF_LIBRARIES = ("_linking_libraries", "_reload_init", "_get_module_for_linking")
"""What numba's libraries of code must have, so that some need not be made into machine code."""
INLINED: dict[str, Any] = {**OPTIONS, "forceinline": True, "no_cpython_wrapper": True}
"""How those are that only compiled ones call."""


@contextmanager
def compiling() -> Iterator[None]:
    """What makes compiling quicker: nothing is collected meanwhile, loops of probes have no use for vectors, and all
    is optimised once. Nobody else compiles meanwhile."""
    from numba.core import config as of_numba
    from numba.core.compiler_lock import global_compiler_lock

    config: Any = of_numba
    with global_compiler_lock, _doing_less():
        collected, vectors = gc.isenabled(), config.LOOP_VECTORIZE
        gc.disable()
        config.LOOP_VECTORIZE = 0
        try:
            yield
        finally:
            config.LOOP_VECTORIZE = vectors
            if collected:
                gc.enable()


@contextmanager
def _doing_less() -> Iterator[None]:
    """Leave out what kernels have no use for. A numba that does not have these by the same names leaves out none."""
    from numba.core import codegen, cpu
    from numba.core.types import functions

    library: Any = codegen.CPUCodeLibrary
    changed: list[tuple[Any, str, Callable[[Function], Function]]] = [
        (library, "_optimize_functions", _leaving_functions),
        (library, "_optimize_final_module", _optimising_module),
        (cpu.CPUContext, "get_executable", _leaving_inlined),
        (functions.BaseFunction, "get_call_type", _resolving_once),
    ]
    before = [(owner, name, vars(owner).get(name)) for owner, name, _ in changed]
    if any(method is None for _, _, method in before):
        yield
        return
    for (owner, name, change), (_, _, method) in zip(changed, before, strict=True):
        setattr(owner, name, change(method))
    try:
        yield
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


def _leaving_functions(_: Function) -> Function:
    def leave(library: Any, module: Any) -> None:
        module.data_layout = library._codegen._data_layout

    return leave


def _optimising_module(_: Function) -> Function:
    def optimise(library: Any) -> None:
        passes, builder = library._codegen._module_pass_manager()
        passes.run(library._final_module, builder)

    return optimise


def _leaving_inlined(executable: Function) -> Function:
    """Make no machine code for functions that are part of their callers, and do not optimise them before they are."""
    from numba import _dynfunc  # type: ignore[attr-defined]

    def leave(target: Any, library: Any, described: Any, environment: Any) -> Any:
        wrapper = described.llvm_cpython_wrapper_name
        called = any(each.name == wrapper for each in library._final_module.functions)
        if not described.inline or called or not all(hasattr(library, name) for name in USED_OF_LIBRARIES):
            return executable(target, library, described, environment)
        for below in dict.fromkeys(library._linking_libraries):
            library._reload_init.update(below._reload_init)
            library._final_module.link_in(below._get_module_for_linking(), preserve=True)
        library._finalized = True
        module, name = described.lookup_module(), described.qualname.rpartition(".")[2]
        return _dynfunc.make_function(module, name, "", 0, environment, (library,))

    return leave


_resolved: dict[Any, Any] = {}
"""What calls of numba's own functions come to: the signature, by function and types of arguments."""


def _resolving_once(resolve: Function) -> Function:
    """Find out once what an operation on some types is: numba tries a dozen definitions for each that it meets."""

    def resolved(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        key = (id(function), context, tuple(arguments), tuple(named.items()))
        if key not in _resolved:
            _resolved[key] = function, resolve(function, context, arguments, named)
        return _resolved[key][1]

    return resolved
