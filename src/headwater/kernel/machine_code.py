"""Where machine code is kept from one process to the next.

numba's own disk cache goes by the file of a function: an edit in a called module goes unnoticed, and any edit of the
file, or another place of it, makes all its functions compile again. Here machine code is kept under a digest of what
it was made from: the function, the functions and constants that it uses, its signature, and how it is compiled. So
what was compiled stays good through upgrades, environments and places, until one of these is another; then only what
uses it is compiled again. (numba itself sees to its own version and to the processor.) Each signature has a file of
its own, so that processes which compile a function for rows of different widths are not in each other's way.

The folder is below `HEADWATER_CACHE` or the user's cache folder; a temporary one where that cannot be written. It is
only a cache: what is damaged there is compiled again, and what finds no place there is compiled by the next process.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

Function = Callable[..., Any]
MANNER = 2
"""How kernels are compiled (see `compiling`): one more with each other way, and what was kept is compiled again."""


@cache
def kept_folder() -> Path | None:
    """The folder that all processes of a user share, if it can be written."""
    root = os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(root).absolute() if root else Path.home() / ".cache") / "headwater" / "kernel"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # the latter where a user has no home
        return None
    return folder


@cache
def machine_code_folder() -> Path:
    """The folder of all machine code; a temporary one where no folder can be written."""
    return kept_folder() or Path(tempfile.mkdtemp(prefix="headwater-kernel-"))


@cache
def _names() -> str:
    """The names of all that is kept when the process last asked."""
    return " ".join(path.name for path in machine_code_folder().glob("*.nbc"))


def is_kept(digest: str, *, anew: bool = False) -> bool:
    """Whether there was machine code with this digest when the process first asked for any, or is now."""
    if anew:
        _names.cache_clear()
    return digest in _names()


def digest_of(function: Function, signature: str, called: Callable[[object], Function | None]) -> str:
    """What tells the machine code of a function from that of any other.

    `called` gives the Python function that stands behind a value which the function uses, if there is one.
    """
    digest = hashlib.sha256(f"{MANNER} {signature}".encode())
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


class KeptFunction:
    """The cache of a function's machine code, as numba asks for it: a file for each of its signatures, by digest. All
    goes on without it."""

    def __init__(self, function: Function, digests: Mapping[str, str]):
        self._function = function
        self._digests = digests
        self._files: dict[Any, Any] = {}
        self._found: dict[Any, Any] = {}

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether something whole is kept for a signature; it is there for who asks next."""
        found = self.load_overload(sig, target_context)
        if found is not None:
            self._found[found.signature.args] = found
        return found is not None

    @property
    def cache_path(self) -> str:
        """Where it is: part of numba's statistics."""
        return str(machine_code_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled with a signature, if it is kept and whole."""
        arguments = _arguments(sig)
        if arguments in self._found:
            return self._found.pop(arguments)
        kept = self._file(arguments)
        if kept is None:
            return None
        try:
            found = kept.load_overload(arguments, target_context)
            if found is None or found.signature.args == arguments:
                return found
        except MemoryError:
            raise
        except Exception:  # whatever unpickling makes of a damaged file
            pass
        with suppress(OSError):
            os.unlink(kept._cache_file._index_path)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled with a signature."""
        arguments = _arguments(sig)
        kept = self._file(arguments)
        if kept is not None:
            with suppress(OSError):
                kept.save_overload(arguments, data)

    def _file(self, arguments: Any) -> Any:
        if not self._files:
            self._files = {
                _arguments(signature): _file_of(self._function, digest)
                for signature, digest in self._digests.items()
            }
        return self._files.get(arguments)


def _arguments(signature: Any) -> Any:
    """The types of arguments, from any form of a signature."""
    from numba.core.sigutils import normalize_signature

    return tuple(normalize_signature(signature)[0])  # type: ignore[no-untyped-call]


def _file_of(function: Function, digest: str) -> Any:
    """numba's own cache for a function with one signature, with a name of ours."""
    from numba.core import caching

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

    class OneSignature(caching.FunctionCache):
        _impl_class = KeptResult

    return OneSignature(function)  # type: ignore[no-untyped-call]
