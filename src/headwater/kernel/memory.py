"""Arrays that grow in place, on memory that is used again.

A large array is a window on an address range reserved once, several times as long as needed: growing it
moves the end of the window and copies nothing. Memory is used only as rows are written, from some size on in
huge pages where the system has them (random access then misses the processor's address cache far less often).
What a reserved range costs before it is used is addresses, of which there are plenty.

A range that no array uses any more is kept for the next one: clearing memory is twenty times as fast as
getting it from the system, above all in virtual machines. So the one is taken that has memory, if not too much; and
an array that outgrows the memory of its range moves to one that has more, if there is one.
When a new range is needed all the same, what is kept is cut down to `MOST_KEPT` bytes; at the end of a process's
first large load nothing is kept (`FirstLoad`). The ranges belong to the process, not to a database; a lock guards
them.

Where addresses are limited (`ulimit -v`), a range is reserved no longer than twice what is needed, and no longer
than needed once a quarter of the addresses is taken: other allocations need addresses too.

Who may have how much is not decided here: whoever grows an array asks its `Room` first. What the system refuses all
the same is a `MemoryError` that says how much it was.
"""

from __future__ import annotations

import math
import mmap
import resource
import sys
import threading
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Array = TypeVar("Array", bound=npt.NDArray[Any])
LARGE = 1 << 17
"""From how many bytes on an array has a range of its own."""
HUGE = 1 << 22
"""From how many bytes on it is worth having huge pages: the last one of an array is used in part."""
RESERVE = 16
"""How many times as long as needed a range is."""
SHORTEST_RANGE = 1 << 26
"""How long it is at the least: what begins small and grows need not move."""
MOST_KEPT = 1 << 28
"""How many bytes of ranges that nobody uses are kept when a new one is needed."""
MOST_HELD = 64
"""How many times as much memory as it needs an array may hold when it begins."""


class Reserved(Protocol):
    """Something that keeps memory for as long as it is there."""

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        ...


class Room(Protocol):
    """Who decides how much may be kept: what asks for `least` bytes or more is refused by an exception."""

    least: int

    def keep(self, holder: Reserved) -> None:
        """Count what this holds from now on."""
        ...

    def ask(self, needed: int, what: str) -> None:
        """Raise a `MemoryError` if there is no room for so many bytes more."""
        ...


class Unbounded:
    """Room for everything."""

    least = sys.maxsize

    def keep(self, holder: Reserved) -> None:
        """Nobody counts."""

    def ask(self, needed: int, what: str) -> None:
        """There is room."""


class Area:
    """A reserved range and how much of it has ever been used; idle when no array is a window on it."""

    def __init__(self, size: int):
        self.range = _mapped(size)
        self.used = 0
        self.huge = False

    def use(self, size: int) -> None:
        """Have so many bytes of it used."""
        if size >= HUGE and not self.huge and hasattr(mmap, "MADV_HUGEPAGE"):
            self.range.madvise(mmap.MADV_HUGEPAGE)
            self.huge = True
        self.used = max(self.used, size)

    def idle(self) -> bool:
        """Whether nobody but this object refers to the range (every window does)."""
        return sys.getrefcount(self.range) <= 2

    def clear(self, start: int, stop: int) -> None:
        """Make these bytes zero, as far as they have been used."""
        np.ndarray((self.used,), np.uint8, self.range)[start:stop] = 0


_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
_areas: list[Area] = []
_lock = threading.Lock()


def zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of zeros that can grow."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.zeros(shape, dtype)
    with _lock:
        area = _reserved(size)
        area.clear(0, size)
        area.use(size)
        return np.ndarray(shape, dtype, area.range)


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array that can grow, whatever is in it: for those of which nothing is read before it is written. What it
    grows by may be anything too."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    with _lock:
        area = _reserved(size)
        area.use(size)
        return np.ndarray(shape, dtype, area.range)


def grown(array: Array, length: int, make: Callable[..., npt.NDArray[Any]] = zeros) -> Array:
    """The array with `length` rows; new ones are zero, unless it was made and grows by `empty`. The old one must not
    be used any more."""
    if length <= array.shape[0]:
        return array
    shape = (length, *array.shape[1:])
    size = length * array.dtype.itemsize * math.prod(array.shape[1:])
    if isinstance(array.base, mmap.mmap) and len(array.base) >= size:
        with _lock:
            area = next(area for area in _areas if area.range is array.base)
            warmer = None if size <= area.used else _warmer(size)
            area = warmer or area
            if make is zeros:
                area.clear(array.nbytes, size)
            area.use(size)
            there = np.ndarray(shape, array.dtype, area.range)
            if warmer is not None:
                there[: array.shape[0]] = array
        return there
    longer = make(shape, array.dtype)
    longer[: array.shape[0]] = array
    return longer  # type: ignore[return-value]


def shrunk(array: Array, length: int) -> Array:
    """The first `length` rows of an array; the memory of the others is given back. Use the old one no more."""
    if length >= array.shape[0]:
        return array
    if not isinstance(array.base, mmap.mmap):
        return array[:length].copy()  # type: ignore[return-value]
    shorter = np.ndarray((length, *array.shape[1:]), array.dtype, array.base)
    first = -(-shorter.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    with _lock:
        area = next(area for area in _areas if area.range is array.base)
        np.ndarray((area.used,), np.uint8, area.range)[shorter.nbytes : first] = 0
        if first < area.used:
            _zero(area, first)
        area.used = shorter.nbytes
    return shorter


def vacate(array: npt.NDArray[Any], length: int) -> None:
    """Give back the memory behind the first `length` rows of an array, which stays as long as it is. Nothing is
    written there that matters."""
    if isinstance(array.base, mmap.mmap):
        first = -(-length * array.strides[0] // mmap.PAGESIZE) * mmap.PAGESIZE
        with _lock:
            area = next(area for area in _areas if area.range is array.base)
            if first < area.used:
                _zero(area, first)
            area.used = min(area.used, max(first, array.nbytes))


def _zero(area: Area, first: int) -> None:
    """Make a range zero from the page at `first` on, by giving the memory back where that is possible."""
    if hasattr(mmap, "MADV_DONTNEED") and sys.platform == "linux":
        area.range.madvise(mmap.MADV_DONTNEED, first, len(area.range) - first)
    else:
        np.ndarray((area.used,), np.uint8, area.range)[first:] = 0


def release_idle() -> None:
    """Give ranges that no array uses back to the system, and what the allocator of smaller ones keeps."""
    with _lock:
        _areas[:] = [area for area in _areas if not area.idle()]
    _give_back()


def _give_back() -> None:
    """Have the allocator of smaller arrays give back what it keeps."""
    trim = _trim()
    if trim is not None:
        trim(0)


class FirstLoad:
    """The first large load of a process: at its end what it needed on the way is given back, since most processes
    load once. One that loads again will do so once more, and is quicker with what it has."""

    def __init__(self) -> None:
        self.awaited = True
        self.ending = False

    def end(self) -> bool:
        """A large load ends, for a relation at least; whether it is the first one."""
        self.ending, self.awaited = self.ending or self.awaited, False
        return self.ending

    def ended(self, told: object = None) -> None:
        """It has ended for all relations: give back what nothing uses any more, and in the end what `told` of it
        takes, which somebody may still look at."""
        self.ending = False
        release_idle()
        if told is not None:
            weakref.finalize(told, _give_back).atexit = False


first_load = FirstLoad()


@cache
def _trim() -> Callable[[int], int] | None:
    """What makes the C library give back what it keeps; glibc has it."""
    import ctypes

    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return found


def _mapped(size: int) -> mmap.mmap:
    """A new range that holds at least so many bytes: as much longer as the system allows."""
    for length in _lengths(size):
        try:
            return mmap.mmap(-1, length, flags=_FLAGS)
        except (OSError, OverflowError):
            _areas[:] = [area for area in _areas if not area.idle()]
    raise MemoryError(f"no addresses for {size:,} bytes")


def _lengths(size: int) -> list[int]:
    """How long a range may be, the best first."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return [max(size * RESERVE, SHORTEST_RANGE), size * 2, size]
    taken = sum(len(area.range) for area in _areas)
    return [size * 2, size] if 4 * (taken + 2 * size) < limit else [size]


def _warmest(areas: list[Area], size: int) -> Area:
    """The one that has least memory beyond what is needed, if any has as much; else the one that has most."""
    enough = [area for area in areas if area.used >= size]
    return min(enough, key=lambda area: area.used) if enough else max(areas, key=lambda area: area.used)


def _warmer(size: int) -> Area | None:
    """An idle range with twice the memory that an array needs which outgrows what its own has: moving there costs
    less than new memory does, and an array moves a few times at most until it has what it will need."""
    fitting = [area for area in _areas if 2 * size <= area.used <= MOST_HELD * size and area.idle()]
    return max(fitting, key=lambda area: area.used, default=None)


def _reserved(size: int) -> Area:
    """A range of at least that size: an idle one if there is one, as it was left, else a new one."""
    idle = [area for area in _areas if area.idle()]
    fitting = [area for area in idle if len(area.range) >= size and area.used <= MOST_HELD * size]
    if fitting:
        return _warmest(fitting, size)
    kept = 0
    for area in idle:
        kept += area.used
        if kept > MOST_KEPT or area.used == 0:
            _areas.remove(area)
    area = Area(size)
    _areas.append(area)
    return area
