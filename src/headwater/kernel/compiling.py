"""How numba is told to compile kernels: with no more work than they need.

Kernels never allocate: they write into arrays they are given. So numba's reference counting is off, which makes them
about five times as fast where small functions over arrays are called for every row. And so a third of what LLVM does
for other functions of numba's is left out: those are optimised one by one, then with all that they call, then, when
counts that cancel each other have been taken out, once more with all that they call. Here only the last is done.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_rewrites": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
"""How functions are compiled. Rewrites are for expressions of whole arrays, and for what kernels do not use; wrappers
that nobody calls would take a quarter of the time."""
INLINED: dict[str, Any] = {**OPTIONS, "forceinline": True, "no_cpython_wrapper": True}
"""How those are that only compiled ones call."""


@contextmanager
def compiling() -> Iterator[None]:
    """What makes compiling quicker: nothing is collected meanwhile, loops of probes have no use for vectors, and all
    is optimised once. Nobody else compiles meanwhile."""
    from numba.core import config as of_numba
    from numba.core.compiler_lock import global_compiler_lock

    config: Any = of_numba
    with global_compiler_lock, _optimising_once():
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
def _optimising_once() -> Iterator[None]:
    """Leave out all passes of LLVM's but the last ones. A numba that does not have them by these names runs all."""
    from numba.core import codegen

    library: Any = codegen.CPUCodeLibrary
    before = {name: vars(library).get(name) for name in ("_optimize_functions", "_optimize_final_module")}
    if None in before.values():
        yield
        return
    library._optimize_functions = _leave_functions
    library._optimize_final_module = _optimise_module
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(library, name, method)


def _leave_functions(library: Any, module: Any) -> None:
    module.data_layout = library._codegen._data_layout


def _optimise_module(library: Any) -> None:
    passes, builder = library._codegen._module_pass_manager()
    passes.run(library._final_module, builder)
