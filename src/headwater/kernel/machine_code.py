"""Where machine code is kept from one process to the next.

numba's own disk cache goes by the file of a function: an edit in a called module goes unnoticed, and any edit of the
file, or another place of it, makes all its functions compile again. Here machine code is kept under a digest of what
it was made from: the function, the functions and constants that it uses, and its signature. So what was compiled
stays good through upgrades, environments and places, until one of these is another; then only what uses it is
compiled again. (numba itself sees to its own version and to the processor.)

The folder is below `HEADWATER_CACHE` or the user's cache folder; a temporary one where that cannot be written. It is
only a cache: what is damaged there is compiled again, and what finds no place there is compiled by the next process.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

Function = Callable[..., Any]


@cache
def machine_code_folder() -> Path:
    """The folder of all machine code; a temporary one where no folder can be written."""
    root = os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(root) if root else Path.home() / ".cache") / "headwater" / "kernel"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # the latter where a user has no home
        folder = Path(tempfile.mkdtemp(prefix="headwater-kernel-"))
    return folder


@cache
def _names() -> str:
    """The names of all that is kept when the process first asks."""
    return " ".join(path.name for path in machine_code_folder().glob("*.nbi"))


def is_kept(digest: str) -> bool:
    """Whether there was machine code with this digest when the process first asked for any."""
    return digest in _names()


def digest_of(function: Function, signature: str, called: Callable[[object], Function | None]) -> str:
    """What tells the machine code of a function from that of any other.

    `called` gives the Python function that stands behind a value which the function uses, if there is one.
    """
    digest = hashlib.sha256(signature.encode())
    seen: set[Function] = set()

    def take(one: Function) -> None:
        if one in seen:
            return
        seen.add(one)
        digest.update(one.__name__.encode())
        _take_code(digest, one.__code__, documented=one.__doc__ is not None)
        for name in one.__code__.co_names:
            value = one.__globals__.get(name)
            below = called(value)
            if below is not None:
                take(below)
            elif isinstance(value, int | float | np.generic):
                digest.update(f"{name}={value!r}:{type(value).__name__}".encode())

    take(function)
    return digest.hexdigest()[:20]


def _take_code(digest: Any, code: CodeType, *, documented: bool = False) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames[: code.co_argcount])).encode())
    for value in code.co_consts[1 if documented else 0 :]:
        if isinstance(value, CodeType):
            _take_code(digest, value)
        else:
            digest.update(repr(value).encode())


def kept(function: Function, digest: str) -> Any:
    """The cache of a function's machine code, for numba."""
    from numba.core import caching
    from numba.core.sigutils import normalize_signature

    class Locator(caching._CacheLocator):
        """Tells numba where, and under which name."""

        _py_file = function.__code__.co_filename

        def get_cache_path(self) -> str:
            return str(machine_code_folder())

        def get_source_stamp(self) -> str:
            return digest

        def get_disambiguator(self) -> str:
            return digest

        @classmethod
        def from_function(cls, py_func: Function, py_file: str) -> Any:
            return cls()

    class KeptResult(caching.CompileResultCacheImpl):
        _locator_classes = [Locator]  # type: ignore[list-item]

    class KeptFunction(caching.FunctionCache):
        """A cache without which all goes on."""

        _impl_class = KeptResult

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
                if found is None or found.signature.args == normalize_signature(sig)[0]:  # type: ignore[no-untyped-call]
                    return found
                # Two processes that compiled it for rows of different widths gave their files one name.
            except MemoryError:
                raise
            except Exception:  # whatever unpickling makes of a damaged file
                pass
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    return KeptFunction(function)  # type: ignore[no-untyped-call]
