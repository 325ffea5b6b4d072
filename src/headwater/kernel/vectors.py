"""Several slots of a table looked at with one instruction.

In a table that is well filled, how far the slot is that ends a search is anybody's guess, and a processor that
guesses wrong loses as much time as it takes to look at a dozen slots. So slots are looked at in groups that lie in
one line of the cache, and where in its group a search ends is a number, not a way to go.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from headwater.kernel.compiled import instruction

GROUP = 16
"""How many slots are looked at together; a table is so many times a number long."""


def _end(slots, position, mark, mask):
    """What `search_end` means."""
    p = int(position)
    while True:
        entry = int(slots[p])
        if entry == 0 or entry ^ int(mark) <= mask:
            return p
        p += 1
        if p % GROUP == 0:
            return p


@instruction(_end)
def search_end(context, slots, position, mark, mask):
    """The first position from the given one on, in its group of slots, whose slot is empty or has this mark, which is
    above the bits of `mask` (see `row_table`); if there is none, where the next group begins."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types

    def generate(target, builder, signature, values):
        flag, number, wide = ir.IntType(1), ir.IntType(32), ir.IntType(64)
        several = ir.VectorType(number, GROUP)
        array, position, mark, mask = values

        def each(value):
            """The same number for each of the group."""
            nothing = ir.Constant(several, ir.Undefined)
            one = builder.insert_element(nothing, builder.trunc(value, number), number(0))
            return builder.shuffle_vector(one, nothing, ir.Constant(several, None))

        begin = builder.and_(position, wide(-GROUP))
        data = target.make_array(signature.args[0])(target, builder, array).data
        place = builder.bitcast(builder.gep(data, [begin]), several.as_pointer())
        slots_there = builder.load(place, align=4)
        marked = builder.icmp_unsigned("<=", builder.xor(slots_there, each(mark)), each(mask))
        vacant = builder.icmp_unsigned("==", slots_there, ir.Constant(several, None))
        ends = builder.zext(builder.bitcast(builder.or_(marked, vacant), ir.IntType(GROUP)), number)
        before = builder.trunc(builder.and_(position, wide(GROUP - 1)), number)
        ends = builder.and_(ends, builder.shl(number(-1), before))
        ends = builder.or_(ends, number(1 << GROUP))
        return builder.add(begin, builder.zext(builder.cttz(ends, flag(1)), wide))

    return types.int64(slots, types.int64, types.int64, types.int64), generate
