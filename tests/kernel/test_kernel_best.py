"""The best rows of groups against brute force, while candidates come and go."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from kernel_model import matrix, values_of

from headwater.kernel import best, special
from headwater.kernel.relation import Relation
from headwater.kernel.states import LIVE, VISIBLE, WANTED
from headwater.values.codec import Codec
from headwater.values.special import FIRST, LAST, LAST_PLAIN, NULL, LabelledNull
from headwater.values.types import FLOAT, INT

Rows = np.ndarray
Key = Callable[[int], object]
FLOATS = [-math.inf, -2.5, -1e-300, -0.0, 0.0, 5e-324, 1.0, 1.5, 1e300, math.inf, math.nan, -math.nan]
CODEC = Codec()
FLOAT_CODES = CODEC.encode_column([value + 0.0 for value in FLOATS], FLOAT).tolist()
INT_CODES = CODEC.encode_column([-(2**63), -5, -1, 0, 1, 7, 2**63 - 1], INT).tolist()
SPECIAL = CODEC.specials.keys().copy()
PLACES = [3, 0, 6, 1, 5, 2, 4]


def float_key(code: int) -> object:
    number = CODEC.decode_value(code, FLOAT)
    return (math.isnan(number), 0.0 if math.isnan(number) else float(number))


KINDS: dict[str, tuple[int, list[int], Key]] = {
    "ints": (best.INTEGER, INT_CODES, lambda code: CODEC.decode_value(code, INT)),
    "floats": (best.FLOAT, FLOAT_CODES, float_key),
    "ordered": (best.ORDERED, list(range(7)), lambda code: PLACES[code]),
}


class Candidates:
    """A relation of (group, value, value, number) of which only the best by some criteria are visible."""

    def __init__(self, criteria: list[tuple[int, str, str]]):
        self.relation = Relation("r", 4, selected=True)
        self.criteria = criteria
        self.index = (0,)
        self.clock = 0

    def choose(self, affected: Rows, room: int = 10_000) -> tuple[Rows, Rows, np.ndarray]:
        relation, index = self.relation, self.relation.index(self.index)
        criteria = np.array(
            [(column, KINDS[kind][0], which == "max") for column, kind, which in self.criteria], np.int64
        )
        wanted, displaced = np.empty(room, np.int32), np.empty(room, np.int32)
        firsts, counts = np.empty(affected.shape[0], np.int32), np.zeros(4, np.int64)
        best.choose(
            affected, index.columns, index.slots, index.next, relation.rows, relation.state, criteria,
            np.array(PLACES, np.int64), SPECIAL, np.empty(len(criteria), np.int64), wanted, displaced, firsts,
            counts, np.empty((0, 2), np.int64),
        )  # fmt: skip
        assert not (relation.state & WANTED).any()
        return wanted[: counts[0]], displaced[: counts[1]], counts

    def add(self, rows: list[tuple[int, ...]]) -> Rows:
        self.clock += 1
        return self.relation.add(matrix([(*row, 0) for row in rows], 5), self.clock)

    def kill(self, rows: list[tuple[int, ...]]) -> Rows:
        fallen = self.relation.kill(self.relation.find(matrix(rows, 4)))
        self.relation.fall(fallen.falling)
        self.relation.settle(fallen.falling)
        return fallen.dead

    def fall(self, rows: Rows) -> None:
        self.relation.fall(rows)
        self.relation.settle(rows)

    def show(self, rows: Rows) -> None:
        shown = self.relation.show(np.ascontiguousarray(rows), self.clock)
        self.relation.indexes[self.index].to_front(self.relation, shown)

    def bring_in(self, rows: list[tuple[int, ...]]) -> None:
        """Add rows and show the best."""
        wanted, displaced, _ = self.choose(self.add(rows))
        self.fall(displaced)
        self.show(wanted)

    def having(self, bits: int) -> set[int]:
        return set(np.flatnonzero((self.relation.state & bits) == bits).tolist())

    def expected(self) -> set[int]:
        """The live rows that are best of their group by some criterion."""
        groups: dict[int, list[int]] = {}
        for row in self.having(int(LIVE)):
            groups.setdefault(int(self.relation.rows[row, 0]), []).append(row)
        good = set()
        for rows in groups.values():
            for column, kind, which in self.criteria:
                key = {row: KINDS[kind][2](int(self.relation.rows[row, column])) for row in rows}
                top = (max if which == "max" else min)(key.values())
                good |= {row for row in rows if key[row] == top}
        return good

    def shown(self) -> list[tuple[int, ...]]:
        return sorted(values_of(self.relation, self.relation.live_rows()))


ONE = [[(1, kind, which)] for kind in KINDS for which in ("min", "max")]
TWO = [
    [(1, "ints", "min"), (2, "ints", "max")],
    [(1, "floats", "max"), (2, "ordered", "min")],
    [(1, "ints", "min"), (1, "ints", "max")],
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("criteria", ONE + TWO, ids=str)
def test_the_best_rows_are_wanted_and_the_others_displaced(criteria: list[tuple[int, str, str]], seed: int):
    rng = random.Random(seed)
    candidates = Candidates(criteria)
    for version in range(40):
        affected = [candidates.kill(draw(rng, criteria)), candidates.add(draw(rng, criteria))]
        everything = np.concatenate(affected * rng.randint(1, 3))
        rng.shuffle(everything)
        wanted, displaced, _ = candidates.choose(everything)
        good, visible = candidates.expected(), candidates.having(int(LIVE | VISIBLE))
        assert sorted(wanted) == sorted(good - visible), "wanted once each"
        assert sorted(displaced) == sorted(visible - good), "displaced once each"
        if rng.random() < 0.5:  # the displaced fall first; then the same rows are wanted
            candidates.fall(displaced)
            again, nothing, _ = candidates.choose(np.concatenate([wanted, displaced]))
            assert (sorted(again), nothing.size) == (sorted(wanted), 0)
        else:
            candidates.fall(displaced)
        candidates.show(wanted)
        assert set(candidates.relation.live_rows().tolist()) == good
        if version % 5 == 4:
            candidates.relation.commit()


def draw(rng: random.Random, criteria: list[tuple[int, str, str]]) -> list[tuple[int, ...]]:
    """Candidates in few groups, with few values, so that there are ties."""
    kinds = {column: kind for column, kind, _ in criteria}

    def value(column: int) -> int:
        return rng.choice(KINDS[kinds.get(column, "ints")][1])

    return [
        (rng.randrange(3), value(1), value(2), rng.randrange(3)) for _ in range(rng.choice([0, 1, 4, 12]))
    ]


# ------------------------------------------------------------------ how codes compare


def test_floats_compare_as_numbers_with_nan_above_all():
    codes = np.array(FLOAT_CODES)
    rows = codes.reshape(-1, 1).copy()
    everyone = np.arange(len(codes), dtype=np.int32)
    values = np.empty(len(codes), np.int64)
    best.values_of(everyone, rows, 0, best.FLOAT, 0, np.empty(0, np.int64), SPECIAL, values)
    keys = [float_key(code) for code in FLOAT_CODES]
    for i in range(len(codes)):
        for j in range(len(codes)):
            assert (values[i] < values[j], values[i] == values[j]) == (keys[i] < keys[j], keys[i] == keys[j])


@pytest.mark.parametrize(("kind", "codes"), [(name, codes) for name, (_, codes, _) in KINDS.items()])
def test_the_largest_is_the_smallest_the_other_way_round(kind: str, codes: list[int]):
    rows = np.array(codes).reshape(-1, 1)
    everyone = np.arange(len(codes), dtype=np.int32)
    up, down = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    best.values_of(everyone, rows, 0, KINDS[kind][0], 0, np.array(PLACES), SPECIAL, up)
    best.values_of(everyone, rows, 0, KINDS[kind][0], 1, np.array(PLACES), SPECIAL, down)
    assert np.argsort(up, kind="stable").tolist() == np.argsort(-down.astype(object), kind="stable").tolist()


def test_nulls_are_worse_than_every_value_both_ways():
    codec = Codec()
    label = codec.encode_value(LabelledNull("f"), INT)
    for kind, codes in (
        (best.INTEGER, codec.encode_column([-(2**63), -1, 5, 2**63 - 1], INT).tolist()),
        (best.FLOAT, codec.encode_column([-math.inf, -5e-324, 1.5, math.nan], FLOAT).tolist()),
        (best.ORDERED, [0, 1, 2]),
    ):
        rows = np.array([*codes, NULL, label]).reshape(-1, 1)
        found = np.empty(len(rows), np.int64)
        for largest in (0, 1):
            best.values_of(
                np.arange(len(rows), dtype=np.int32), rows, 0, kind, largest, np.array(PLACES), codec.specials.keys(),
                found,
            )  # fmt: skip
            assert found[-1] == found[-2] == best.WORST > found[:-2].max()


def test_the_kernel_and_the_values_know_the_same_special_codes():
    assert (special.FIRST, special.LAST, special.LAST_PLAIN) == (FIRST, LAST, LAST_PLAIN)


# ------------------------------------------------------------------ single cases


def cheapest() -> Candidates:
    return Candidates([(1, "ints", "min")])


def test_ties_are_all_best():
    candidates = cheapest()
    candidates.bring_in([(1, 5, 0, 0), (1, 5, 0, 1), (1, 6, 0, 2)])
    assert candidates.shown() == [(1, 5, 0, 0), (1, 5, 0, 1)]
    candidates.bring_in([(1, 5, 0, 3)])
    assert candidates.shown() == [(1, 5, 0, 0), (1, 5, 0, 1), (1, 5, 0, 3)]


def test_the_next_best_follows_when_the_best_died():
    candidates = cheapest()
    candidates.bring_in([(1, 5, 0, 0), (1, 7, 0, 0), (1, 6, 0, 0), (2, 9, 0, 0)])
    wanted, displaced, _ = candidates.choose(candidates.kill([(1, 5, 0, 0)]))
    assert (values_of(candidates.relation, wanted), displaced.size) == ([(1, 6, 0, 0)], 0)


def test_a_group_without_live_rows_wants_nothing():
    candidates = cheapest()
    candidates.bring_in([(1, 5, 0, 0), (1, 6, 0, 0)])
    wanted, displaced, _ = candidates.choose(candidates.kill([(1, 5, 0, 0), (1, 6, 0, 0)]))
    assert wanted.size == displaced.size == 0


def test_a_worse_candidate_costs_one_look_whatever_the_group_holds():
    """Only when the best goes is the group gone through."""
    candidates = cheapest()
    candidates.bring_in([(1, 5 + (number + 700) % 2000, 0, 0) for number in range(2000)])
    _, _, counts = candidates.choose(candidates.add([(1, 5000, 0, 0)]))
    assert counts.tolist() == [0, 0, 0, 1]
    _, _, counts = candidates.choose(candidates.kill([(1, 300, 0, 0)]))
    assert counts.tolist() == [0, 0, 0, 1]
    _, _, counts = candidates.choose(candidates.kill([(1, 5, 0, 0)]))
    assert counts.tolist() == [1, 0, 1, 1 + 2001]


def test_outputs_too_short_say_how_long_they_should_be():
    candidates = cheapest()
    rows = candidates.add([(1, 5, 0, number) for number in range(50)])
    _, _, counts = candidates.choose(rows, room=3)
    assert counts[0] == 50
    wanted, _, _ = candidates.choose(rows, room=50)
    assert sorted(wanted) == sorted(rows)


def test_one_group_for_all():
    candidates = cheapest()
    candidates.index = ()
    candidates.bring_in([(1, 5, 0, 0), (2, 4, 0, 0), (3, 6, 0, 0)])
    assert candidates.shown() == [(2, 4, 0, 0)]
