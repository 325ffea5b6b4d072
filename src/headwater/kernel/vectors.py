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
HOME_BITS = 5
TELLING = 32 - HOME_BITS
"""Where in an entry the bits begin that tell how far it is from its home, as its highest ones (see `row_table`)."""


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


def _back(slots, position):
    """What `empty_before` means."""
    for back in range(1, GROUP + 1):
        if slots[int(position) - back] == 0:
            return back
    return GROUP + 1


@instruction(_back)
def empty_before(context, slots, position):
    """How many slots back the nearest empty one is, of the `GROUP` slots before a position; if none is, one more than
    these are."""
    from llvmlite import ir
    from numba.core import types

    def generate(target, builder, signature, values):
        flag, number, wide = ir.IntType(1), ir.IntType(32), ir.IntType(64)
        several = ir.VectorType(number, GROUP)
        array, position = values
        data = target.make_array(signature.args[0])(target, builder, array).data
        place = builder.gep(data, [builder.sub(position, wide(GROUP))])
        slots_there = builder.load(builder.bitcast(place, several.as_pointer()), align=4)
        vacant = builder.icmp_unsigned("==", slots_there, ir.Constant(several, None))
        ends = builder.zext(builder.bitcast(vacant, ir.IntType(GROUP)), number)
        ends = builder.or_(builder.shl(ends, number(32 - GROUP)), number(1 << (31 - GROUP)))
        return builder.add(builder.zext(builder.ctlz(ends, flag(1)), wide), wide(1))

    return types.int64(slots, types.int64), generate


def _last(slots, gap):
    """What `last_movable` means."""
    found = GROUP + 1
    for way in range(1, GROUP + 1):
        p = int(gap) + way
        entry = int(slots[p])
        if entry == 0:
            return 0 if found > GROUP else found
        if (p - (entry >> TELLING)) % (1 << HOME_BITS) >= way:
            found = way
    return found


@instruction(_last)
def last_movable(context, slots, gap):
    """How many slots on the last entry is that may move to a gap, of the `GROUP` slots after it and up to an empty
    one, by what entries tell. If there is none: 0 if there is an empty slot, else one more than the slots are."""
    from llvmlite import ir
    from numba.core import types

    def generate(target, builder, signature, values):
        flag, number, wide = ir.IntType(1), ir.IntType(32), ir.IntType(64)
        several = ir.VectorType(number, GROUP)
        array, gap = values

        def all_of(numbers):
            return ir.Constant(several, list(numbers))

        def bits(each):
            return builder.zext(builder.bitcast(each, ir.IntType(GROUP)), number)

        ways = all_of(range(1, GROUP + 1))
        nothing = ir.Constant(several, ir.Undefined)
        one = builder.insert_element(nothing, builder.trunc(gap, number), number(0))
        places = builder.add(builder.shuffle_vector(one, nothing, ir.Constant(several, None)), ways)
        data = target.make_array(signature.args[0])(target, builder, array).data
        place = builder.gep(data, [builder.add(gap, wide(1))])
        slots_there = builder.load(builder.bitcast(place, several.as_pointer()), align=4)
        homes = builder.lshr(slots_there, all_of([TELLING] * GROUP))
        told = all_of([(1 << HOME_BITS) - 1] * GROUP)
        far = builder.and_(builder.sub(places, homes), told)
        moving = bits(builder.icmp_signed(">=", far, ways))
        vacant = bits(builder.icmp_unsigned("==", slots_there, ir.Constant(several, None)))
        before_vacant = builder.and_(builder.not_(vacant), builder.sub(vacant, number(1)))
        moving = builder.and_(moving, before_vacant)
        last = builder.sub(number(32), builder.ctlz(moving, flag(0)))
        none = builder.select(builder.icmp_unsigned("==", vacant, number(0)), number(GROUP + 1), number(0))
        found = builder.select(builder.icmp_unsigned("==", moving, number(0)), none, last)
        return builder.zext(found, wide)

    return types.int64(slots, types.int64), generate
