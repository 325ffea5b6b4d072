"""Growing arrays: contents stay, what is new is zero, and used memory is never shared or dirty."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwater.kernel import memory
from headwater.kernel.memory import LARGE, empty, grown, zeros

INT64 = 8


@pytest.fixture(autouse=True)
def _own_areas(monkeypatch: pytest.MonkeyPatch):
    """Areas of other tests stay out of the way; ranges are as long as arrays, not as what these may become."""
    monkeypatch.setattr(memory, "_areas", [])
    monkeypatch.setattr(memory, "SHORTEST_RANGE", 0)


def large(length: int, width: int = 2) -> np.ndarray:
    """An array on a reserved range."""
    array = zeros((length, width), np.int64)
    assert array.nbytes >= LARGE and len(memory._areas)
    return array


ROWS = LARGE // INT64


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.bool_])
def test_growing_keeps_the_contents_and_adds_zeros(dtype: type):
    """From small, over the limit to a reserved range, to beyond the range."""
    array = zeros((10,), dtype)
    array[:] = 1
    filled = 10
    for length in (11, 1000, 5_000_000, 9_000_000):
        array = grown(array, length)
        assert array.shape == (length,) and array.dtype == dtype
        assert array[:filled].all() and not array[filled:].any()
        array[:] = 1
        filled = length


def test_rows_keep_their_width():
    array = grown(np.arange(6, dtype=np.int64).reshape(3, 2), 5)
    assert array.tolist() == [[0, 1], [2, 3], [4, 5], [0, 0], [0, 0]]
    wide = grown(grown(array, ROWS), 3 * ROWS)
    assert wide.shape == (3 * ROWS, 2) and wide.flags.c_contiguous
    assert wide[:3].tolist() == [[0, 1], [2, 3], [4, 5]] and not wide[3:].any()


def test_growing_in_place_copies_nothing():
    array = large(ROWS)
    longer = grown(array, 4 * ROWS)
    assert np.shares_memory(array, longer)
    assert longer.ctypes.data == array.ctypes.data


def test_growing_beyond_the_range_moves():
    array = large(ROWS // 2)
    array[:] = 5
    longer = grown(array, ROWS // 2 * memory.RESERVE + 1)
    assert not np.shares_memory(array, longer)
    assert (longer[: ROWS // 2] == 5).all() and not longer[ROWS // 2 :].any()


def test_memory_is_used_again_and_is_zero():
    array = large(ROWS)
    array = grown(array, 2 * ROWS)
    array[:] = -1
    place = array.ctypes.data
    del array
    again = large(ROWS)
    assert again.ctypes.data == place and not again.any()
    again = grown(again, 3 * ROWS)
    assert again.ctypes.data == place and not again.any()


def test_memory_in_use_is_never_given_out():
    first, second = large(ROWS), large(ROWS)
    first[:], second[:] = 1, 2
    assert not np.shares_memory(first, second)
    third = large(ROWS // 2)
    assert not np.shares_memory(first, third) and not np.shares_memory(second, third)
    third[:] = 3
    assert (first == 1).all() and (second == 2).all()


@pytest.mark.parametrize(
    "window", [lambda a: a[:5], lambda a: a[7], lambda a: a.T, lambda a: grown(a, 3 * ROWS)]
)
def test_a_window_keeps_its_memory(window):
    """A slice, a row, a transposed or a longer window: the range is in use until the last one is gone."""
    array = large(ROWS)
    array[:] = 4
    kept = window(array)
    before = kept.copy()
    place = array.ctypes.data
    del array
    gc.collect()
    other = large(ROWS)
    other[:] = 9
    assert other.ctypes.data != place
    assert (kept == before).all()


def test_what_is_kept_for_later_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "MOST_KEPT", 3 * LARGE)
    arrays = [large(ROWS // 2) for _ in range(6)]
    assert len(memory._areas) == 6
    arrays.clear()
    huge = large(ROWS * memory.RESERVE)
    idle = [area for area in memory._areas if area.idle()]
    assert sum(area.used for area in idle) <= 3 * LARGE
    assert not huge[::1000].any()


def test_many_arrays_that_come_grow_and_go():
    rng = np.random.default_rng(5)
    alive: list[tuple[np.ndarray, int]] = []
    for mark in range(1, 60):
        choice = rng.integers(3)
        if choice == 0 or len(alive) < 2:
            array = zeros((int(rng.integers(LARGE, 2 * LARGE)),), np.uint8)
            assert not array.any()
            array[:] = mark
            alive.append((array, mark))
        elif choice == 1:
            array, was = alive.pop(int(rng.integers(len(alive))))
            length = array.shape[0]
            array = grown(array, length + int(rng.integers(1, LARGE)))
            assert (array[:length] == was).all() and not array[length:].any()
            array[:] = mark
            alive.append((array, mark))
        else:
            array, _ = alive.pop(int(rng.integers(len(alive))))
        del array
        assert all(part[0] == part[-1] == number for part, number in alive)
    assert all((part == number).all() for part, number in alive)


@pytest.mark.parametrize("rows", [10, ROWS + 3, 2 * ROWS + 1])
def test_shrinking_keeps_the_first_rows_and_what_grows_again_is_zero(rows: int):
    array = large(4 * ROWS)
    array[:] = 7
    array = memory.shrunk(array, rows)
    assert array.shape == (rows, 2) and (array == 7).all()
    assert memory._areas[0].used == array.nbytes
    array = grown(array, 3 * ROWS)
    assert (array[:rows] == 7).all() and not array[rows:].any()


def test_shrinking_gives_memory_back():
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    array = large(32 * ROWS)
    array[:] = 1
    full = resident()
    array = memory.shrunk(array, 10)
    assert resident() < full - array.itemsize * 32 * ROWS
    assert array.tolist() == [[1, 1]] * 10


def test_shrinking_a_small_array():
    array = memory.shrunk(np.arange(10), 4)
    assert array.tolist() == [0, 1, 2, 3] and array.base is None


def test_arrays_that_may_be_dirty_do_not_spoil_those_that_must_be_zero():
    """Memory goes from one kind of array to the other, and grows within a range that was used before."""
    first = memory.empty((4 * ROWS,), np.int64)
    first[:] = -1
    place = first.ctypes.data
    del first
    zero = zeros((ROWS,), np.int64)
    assert zero.ctypes.data == place and not zero.any()
    for length in (2 * ROWS, 3 * ROWS, 6 * ROWS):
        zero = grown(zero, length)
        assert zero.ctypes.data == place and not zero.any()
    zero[:] = 7
    del zero
    dirty = memory.empty((ROWS,), np.int64)
    dirty[:] = 3
    dirty = grown(dirty, 5 * ROWS, memory.empty)
    assert dirty.ctypes.data == place and (dirty[:ROWS] == 3).all()


def test_a_small_array_does_not_hold_much_memory():
    """What is kept warm goes to arrays that need about as much."""
    array = large(64 * ROWS)
    place = array.ctypes.data
    del array
    assert large(ROWS // 2).ctypes.data != place
    assert large(32 * ROWS).ctypes.data == place


def test_what_begins_small_has_room_to_grow(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "SHORTEST_RANGE", 64 * LARGE)
    array = large(ROWS)
    assert grown(array, 32 * ROWS).ctypes.data == array.ctypes.data


@pytest.mark.parametrize("make", [zeros, empty])
def test_what_outgrows_its_memory_moves_to_memory_that_is_there(make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "SHORTEST_RANGE", 64 * LARGE)
    array = make((LARGE,), np.uint8)
    warm = empty((20 * LARGE,), np.uint8)
    warm[:] = 7
    place = warm.ctypes.data
    del warm
    array[:] = expected = np.arange(LARGE) % 251
    before = array
    array = grown(array, 4 * LARGE, make)
    assert array.ctypes.data == place and before.ctypes.data != place
    assert (array[:LARGE] == expected).all() and (before == expected).all()
    array = grown(array, 20 * LARGE, make)
    assert array.ctypes.data == place
    assert make is empty or not array[LARGE:].any()


def test_nothing_moves_to_memory_that_is_little_more_or_in_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "SHORTEST_RANGE", 64 * LARGE)
    array = zeros((LARGE,), np.uint8)
    place = array.ctypes.data
    used, little = zeros((20 * LARGE,), np.uint8), zeros((5 * LARGE,), np.uint8)
    del little
    array = grown(array, 4 * LARGE)
    assert array.ctypes.data == place
    assert not used.any()


@pytest.mark.parametrize("make", [memory.zeros, memory.empty])
def test_memory_behind_what_is_used_is_given_back_and_can_be_used_again(make: Callable[..., Any]):
    length = 4 * memory.LARGE
    array = make((length, 2), np.uint8)
    array[:] = 7
    memory.vacate(array, 1000)
    assert array.shape == (length, 2) and (array[:1000] == 7).all()
    assert not array[mmap.PAGESIZE :].any()
    array[:] = 8
    longer = memory.grown(array, 2 * length, make)
    assert (longer[:length] == 8).all() and (make is memory.empty or not longer[length:].any())
    memory.vacate(np.ones(10), 5)  # what has no range of its own stays as it is


def test_what_was_left_behind_an_array_that_was_vacated_is_zero_for_others():
    dirty = memory.empty((1 << 20,), np.uint8)
    dirty[:] = 7
    del dirty
    shorter = memory.empty((200_001,), np.uint8)
    memory.vacate(shorter, 200_000)
    del shorter
    assert not memory.zeros((300_000,), np.uint8).any()
