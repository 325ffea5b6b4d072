"""No bare `MemoryError` reaches a user: what the allocators of numpy, Arrow or the system refuse is our error."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import OutOfMemory


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
