"""Arrays of which only the address is known, for compiled functions that are given any number of them.

A function takes a fixed number of arrays. One that goes through all relations and indexes of a stratum is given a
table of addresses instead (`address` in Python), and looks at what is there. Whoever calls it keeps the arrays alive.
There is no such thing in Python: these functions cannot be interpreted.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from headwater.kernel.compiled import instruction


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's memory is."""
    found: int = array.__array_interface__["data"][0]
    return found


def _nowhere(*_: Any) -> Any:
    raise AssertionError("Python has no addresses")


def _array(target, builder, type_, start, shape):
    """An array of numba's over memory that it does not own."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.np.arrayobj import populate_array

    made = target.make_array(type_)(target, builder)
    size = target.get_abi_sizeof(target.get_data_type(type_.dtype))
    whole = ir.IntType(64)
    strides = [whole(size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(length, strides[0]))
    populate_array(
        made,
        data=builder.inttoptr(start, made.data.type),
        shape=shape,
        strides=strides,
        itemsize=whole(size),
        meminfo=None,
    )
    return made._getvalue()


@instruction(_nowhere)
def ints_at(context, start, length):
    """An array of so many int64."""
    from numba.core import types

    type_ = types.Array(types.int64, 1, "C")

    def generate(target, builder, signature, values):
        return _array(target, builder, type_, values[0], [values[1]])

    return type_(types.int64, types.int64), generate


@instruction(_nowhere)
def numbers_at(context, start, length):
    """An array of so many int32."""
    from numba.core import types

    type_ = types.Array(types.int32, 1, "C")

    def generate(target, builder, signature, values):
        return _array(target, builder, type_, values[0], [values[1]])

    return type_(types.int64, types.int64), generate


@instruction(_nowhere)
def bytes_at(context, start, length):
    """An array of so many uint8."""
    from numba.core import types

    type_ = types.Array(types.uint8, 1, "C")

    def generate(target, builder, signature, values):
        return _array(target, builder, type_, values[0], [values[1]])

    return type_(types.int64, types.int64), generate


@instruction(_nowhere)
def entries_at(context, start, length):
    """An array of so many uint32."""
    from numba.core import types

    type_ = types.Array(types.uint32, 1, "C")

    def generate(target, builder, signature, values):
        return _array(target, builder, type_, values[0], [values[1]])

    return type_(types.int64, types.int64), generate


@instruction(_nowhere)
def matrix_at(context, start, rows, columns):
    """A matrix of int64."""
    from numba.core import types

    type_ = types.Array(types.int64, 2, "C")

    def generate(target, builder, signature, values):
        return _array(target, builder, type_, values[0], [values[1], values[2]])

    return type_(types.int64, types.int64, types.int64), generate


@instruction(_nowhere)
def stored_at(context, start, rows, columns, like):
    """A matrix of numbers as wide as those of another one."""
    from numba.core import types

    type_ = types.Array(like.dtype, 2, "C")

    def generate(target, builder, signature, values):
        return _array(target, builder, type_, values[0], [values[1], values[2]])

    return type_(types.int64, types.int64, types.int64, like), generate
