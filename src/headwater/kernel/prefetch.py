"""Asking for memory before it is needed.

A probe of a large table waits some 80 ns for memory; a processor can wait for ten such probes at a time, if it is
told of them. So kernels work in blocks: first they ask for what a whole block needs, then they use it.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from headwater.kernel.compiled import instruction

BLOCK = 128
"""How many rows are asked for before the first of them is used."""


@instruction()
def prefetch(context, array, place):
    """Ask for the entry of an array at a place (counted through all its rows); there is no harm in a wrong one."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types

    def generate(target, builder, signature, values):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = target.make_array(signature.args[0])(target, builder, values[0]).data
        entry = builder.bitcast(builder.gep(data, [values[1]]), pointer)
        taking = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        asked = builder.module.declare_intrinsic("llvm.prefetch", [pointer], taking)
        builder.call(asked, [entry, number(0), number(3), number(1)])
        return target.get_dummy_value()

    return types.void(array, types.int64), generate
