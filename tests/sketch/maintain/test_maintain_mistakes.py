"""What maintenance gets wrong if it follows the paper's draft, or the first idea: each of these was a fault
somewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from plan_model import ModelBackend, sketch_of

import headwater as hw
from headwater.language.sql.parser import parse
from headwater.language.sql.tables import table_schema
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.group_by import GroupByDelta
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot

TABLES = {"r": table_schema("r", "g int, v float, x int"), "s": table_schema("s", "k int, y int")}
TYPES = {
    "r": pa.schema([("g", pa.int64()), ("v", pa.float64()), ("x", pa.int64())]),
    "s": pa.schema([("k", pa.int64()), ("y", pa.int64())]),
}
BY_X = SlotRanges(Slot("r", "x"), Ranges("x", (10, 20, 30)))
BY_Y = SlotRanges(Slot("s", "y"), Ranges("y", (10, 20, 30)))


class Kept:
    """A query over r(g, v, x) and s(k, y) that is maintained, and compared with the accurate sketch whenever
    asked."""

    def __init__(self, text: str, r: list[Any], s: list[Any] | None = None, switches: Switches | None = None):
        rows = {"r": [row("r", each) for each in r], "s": [row("s", each) for each in s or []]}
        self.backend = ModelBackend(rows, types=TYPES)
        slots = (BY_X, BY_Y) if " s" in text else (BY_X,)
        self.plan = parse(text, TABLES).plan
        self.maintainer = Maintainer(self.plan, FragmentNumbers(slots), self.backend, switches=switches)
        self.partition = {each.slot: each.ranges for each in slots}
        self.maintainer.capture()

    def change(self, table: str, insert: list[Any] = (), delete: list[Any] = ()) -> None:  # type: ignore[assignment]
        self.backend.update(
            table, [row(table, each) for each in insert], [row(table, each) for each in delete]
        )

    def fragments(self) -> set[int]:
        """Those of r.x, after the sketch was brought up to date."""
        self.maintainer.maintain()
        found = {part.slot: part.fragments for part in self.maintainer.sketch.parts}
        assert found == sketch_of(self.plan, self.backend.tables, self.partition)
        return set(found[BY_X.slot])


def row(table: str, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(TYPES[table].names, values, strict=True))


def test_a_pair_of_mixed_signs_is_a_deletion():
    """A row of r comes as its partner in s goes: the text of section 5.5 emits nothing, and the pair stays for
    ever."""
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5)], [(1, 0), (2, 0)])
    kept.change("r", insert=[(2, 1.0, 15)])
    kept.change("s", delete=[(2, 0)])
    assert kept.fragments() == {0}


def test_filters_know_the_keys_of_both_states():
    """A filter made from the new keys only would leave out ΔR⋈ΔS of the key that s has just lost."""
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5), (2, 1.0, 15)], [(1, 0), (2, 0)])
    kept.change("r", delete=[(2, 1.0, 15)])
    kept.change("s", delete=[(2, 0)])
    assert kept.fragments() == {0}
    kept.change("r", insert=[(2, 1.0, 25)])
    kept.change("s", insert=[(2, 9)])
    assert kept.fragments() == {0, 2}


@pytest.mark.parametrize("lookups", [True, False])
def test_a_filter_saves_the_question(lookups: bool):
    switches = Switches(kept_rows=0, lookups=lookups)
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5)], [(1, 0)], switches)
    kept.change("r", insert=[(3, 1.0, 25)])
    assert kept.fragments() == {0}
    asked = kept.backend.asked
    kept.change("r", insert=[(4, 1.0, 25)])
    assert kept.fragments() == {0}
    assert kept.backend.asked == asked
    (block,) = [each for each in kept.maintainer.operators() if isinstance(each, BlockDelta)]
    assert block.left_out == 2


def test_new_rows_that_join_each_other_cost_no_question():
    """Neither side's key was there before, so each joins with the other's delta only."""
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5)], [(1, 0)])
    kept.change("r", insert=[(2, 1.0, 15)])
    kept.change("s", insert=[(2, 9)])
    assert kept.fragments() == {0, 1}
    asked = kept.backend.asked
    kept.change("r", insert=[(3, 1.0, 25)])
    kept.change("s", insert=[(3, 9), (3, 9)])
    assert kept.fragments() == {0, 1, 2}
    assert kept.backend.asked == asked


def test_an_old_state_is_the_new_one_without_its_delta():
    """Both sides go: the backend has neither. One goes and another of its key comes: only one of two pairs is new."""
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5), (2, 1.0, 15)], [(1, 0), (2, 0)])
    kept.change("r", delete=[(2, 1.0, 15)])
    kept.change("s", delete=[(2, 0)])
    assert kept.fragments() == {0}
    kept.change("r", delete=[(1, 1.0, 5)], insert=[(1, 1.0, 25)])
    kept.change("s", delete=[(1, 0)], insert=[(1, 15)])
    assert kept.fragments() == {2}


def test_rows_that_are_kept_follow_their_table():
    """s is kept, as it is small; when it changes, what was kept is of no use."""
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5)], [(1, 0)])
    kept.change("r", insert=[(1, 1.0, 15)])
    assert kept.fragments() == {0, 1}
    kept.change("s", insert=[(2, 0)])
    assert kept.fragments() == {0, 1}
    kept.change("r", insert=[(2, 1.0, 25)])
    assert kept.fragments() == {0, 1, 2}


def test_filters_that_are_dear_are_made_when_lookups_have_cost_as_much(monkeypatch: pytest.MonkeyPatch):
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5)], [(1, 0)], Switches(kept_rows=0))
    kept.backend.key_seconds = 3.0
    clock = iter(range(1000))
    monkeypatch.setattr(
        "headwater.sketch.maintain.join_walk.time", SimpleNamespace(perf_counter=lambda: next(clock))
    )
    (block,) = kept.maintainer._blocks
    made = []
    for g in range(2, 7):  # a lookup takes a second
        kept.change("r", insert=[(g, 1.0, 15)])
        assert kept.fragments() == {0}
        made.append(block._keys.kept)
    assert made == [0, 0, 0, 1, 1] and block.left_out == 2


def test_large_tables_are_kept_by_their_keys_and_read_again_when_they_stay(monkeypatch: pytest.MonkeyPatch):
    """s counts as large; it is looked up in until it has had one version for a while."""
    monkeypatch.setattr("headwater.sketch.maintain.join_walk.FEW_KEPT", 0)
    text = "SELECT r.g FROM r, s WHERE r.g = s.k AND r.x = s.y"
    kept = Kept(text, [(1, 1.0, 5)], [(1, 5), (1, 15), (2, 25), (None, 5)])
    (block,) = kept.maintainer._blocks
    (s,) = (scan.access for scan in block.block.scans if scan.table == "s")
    kept.change("r", insert=[(1, 1.0, 15), (2, 1.0, 5), (None, 1.0, 5)])
    assert kept.fragments() == {0, 1}
    kept.change("s", insert=[(3, 35)])
    assert kept.fragments() == {0, 1}
    versions = []
    for g in (3, 2, 4, 1):
        kept.change("r", insert=[(g, 1.0, 35 if g == 3 else 25)])
        assert kept.fragments() == ({0, 1, 3} if g == 3 else {0, 1, 2, 3})
        versions.append(block._walk._kept[s].version)
    assert versions == [0, 0, 1, 1]


@pytest.mark.parametrize("lookups", [True, False])
def test_conditions_that_read_no_column_hold_for_deltas_too(lookups: bool):
    text = "SELECT r.g, count(*) FROM r, s WHERE r.g = s.k AND 1 = 0 GROUP BY r.g HAVING count(*) > 0"
    kept = Kept(text, [(1, 1.0, 5)], [(1, 0)], Switches(lookups=lookups))
    kept.change("r", insert=[(1, 1.0, 15)])
    assert kept.fragments() == set()
    alone = Kept("SELECT g FROM r WHERE 1 = 0 AND v > 0", [(1, 1.0, 5)])
    alone.change("r", insert=[(1, 1.0, 15)], delete=[(1, 1.0, 5)])
    assert alone.fragments() == set()


def test_a_lookup_that_finds_too_much_is_left_to_the_backend(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headwater.sketch.maintain.join_walk.FEWEST_FOUND_AT_MOST", 3)
    monkeypatch.setattr("headwater.sketch.maintain.join_walk.MOST_FOUND_PER_ROW", 1)
    switches = Switches(kept_rows=0)
    kept = Kept("SELECT r.g FROM r, s WHERE r.g = s.k", [(1, 1.0, 5)], [(1, n) for n in range(9)], switches)
    kept.change("r", insert=[(1, 1.0, 15)])
    assert kept.fragments() == {0, 1}
    assert kept.maintainer.counts == {0: 9, 1: 9, 5: 18}
    kept.change("s", delete=[(1, n) for n in range(9)])
    assert kept.fragments() == set()


def test_equal_rows_count_as_often_as_they_are_there():
    """Two rows with the same group and value are two: a set below the aggregate would have them once."""
    kept = Kept("SELECT g FROM r GROUP BY g HAVING sum(v) > 3", [(1, 2.0, 5), (1, 2.0, 5)])
    assert kept.fragments() == {0}
    kept.change("r", delete=[(1, 2.0, 5)])
    assert kept.fragments() == set()


def test_deleting_one_of_two_least_values_leaves_the_other():
    kept = Kept("SELECT g FROM r GROUP BY g HAVING min(v) < 3", [(1, 2.0, 5), (1, 2.0, 15), (1, 7.0, 25)])
    kept.change("r", delete=[(1, 2.0, 5)])
    assert kept.fragments() == {1, 2}
    kept.change("r", delete=[(1, 2.0, 15)])
    assert kept.fragments() == set()


def test_an_aggregate_over_nothing_is_one_row():
    kept = Kept("SELECT count(*) FROM r HAVING count(*) < 2", [(1, 1.0, 5), (2, 1.0, 15)])
    assert kept.fragments() == set()
    kept.change("r", delete=[(1, 1.0, 5), (2, 1.0, 15)])
    assert kept.fragments() == set()
    kept.change("r", insert=[(1, 1.0, 25)])
    assert kept.fragments() == {2}


def test_a_group_rests_on_rows_of_the_join_not_of_the_table():
    kept = Kept(
        "SELECT g, count(*) FROM r, s WHERE r.x = s.k GROUP BY g HAVING count(*) >= 1",
        [(1, 1.0, 5), (1, 1.0, 15)],
        [(5, 0)],
    )
    assert kept.fragments() == {0}
    kept.change("s", insert=[(15, 0)])
    assert kept.fragments() == {0, 1}


def test_sums_of_floats_do_not_drift():
    """0.1 added and taken away leaves 2.8e-17 where sums are rounded, and HAVING keeps a group that it should not."""
    kept = Kept("SELECT g FROM r GROUP BY g HAVING sum(v) > 0", [(1, 0.0, 5)])
    for value in (0.1, 0.2, 0.3, 1e16, 0.7):
        kept.change("r", insert=[(1, value, 15)])
        assert kept.fragments() == {0, 1}
    for value in (0.1, 1e16, 0.2, 0.7, 0.3):
        kept.change("r", delete=[(1, value, 15)])
        kept.maintainer.maintain()
    assert kept.fragments() == set()


def test_a_limit_that_would_grow_again_loses_rows():
    """A buffer that took what comes above its limit would hold 9, not know of 5, and say that 9 is the least."""
    kept = Kept(
        "SELECT g FROM r GROUP BY g HAVING min(v) < 6",
        [(1, 1.0, 5), (1, 2.0, 5), (1, 5.0, 15)],
        switches=Switches(buffer=1),
    )
    kept.change("r", insert=[(1, 9.0, 25)], delete=[(1, 1.0, 5)])
    assert kept.fragments() == {0, 1, 2}
    kept.change("r", delete=[(1, 2.0, 5)])
    assert kept.fragments() == {1, 2}


def test_a_buffer_that_has_run_dry_says_so():
    kept = Kept(
        "SELECT g FROM r ORDER BY v, x, g LIMIT 1",
        [(1, float(n), 5 * n) for n in range(8)],
        switches=Switches(buffer=1),
    )
    for n in range(2):
        kept.change("r", delete=[(1, float(n), 5 * n)])
    refilled = kept.maintainer.maintain().refilled
    assert refilled == ("the buffer of the first 1 rows",)
    assert kept.fragments() == {1}


def test_selections_above_state_are_not_pushed_into_the_fetch():
    kept = Kept("SELECT g FROM r WHERE x > 3 GROUP BY g HAVING sum(v) > 3", [(1, 2.0, 5)])
    assert str(kept.maintainer._wanted["r"].condition).count("Compare") == 1
    kept.change("r", insert=[(1, 2.0, 15), (1, 100.0, 1)])
    assert kept.fragments() == {0, 1}


def test_changes_that_take_away_what_was_not_there_lose_the_state_and_nothing_else():
    kept = Kept("SELECT g FROM r GROUP BY g HAVING sum(v) > 1", [(1, 2.0, 5)])
    before = kept.maintainer.sketch
    delta = kept.backend.changes("r", 0, 0)
    wrong = type(delta)(
        "r", 0, 1, pa.Table.from_pylist([row("r", (7, 1.0, 5))], TYPES["r"]), -pa.array([1]).to_numpy()
    )
    with pytest.raises(hw.HeadwaterError) as caught:
        kept.maintainer.apply({"r": wrong}, {"r": 1})
    assert caught.value.code == "negative-count"
    assert kept.maintainer.sketch == before and kept.maintainer.is_lost
    with pytest.raises(hw.HeadwaterError) as caught:
        kept.maintainer.maintain()
    assert caught.value.code == "state-lost"
    assert kept.maintainer.capture() == before


def test_what_ends_maintenance_at_its_last_step_loses_no_fragment(monkeypatch: pytest.MonkeyPatch):
    """The state has seen the new version then: with the sketch of the old one, nothing would seem to be missing."""

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    kept = Kept("SELECT g FROM r GROUP BY g HAVING sum(v) > 1", [(1, 2.0, 5)])
    kept.change("r", insert=[(2, 2.0, 15)])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(kept.maintainer), "_changed", interrupted)
        kept.maintainer.maintain()
    assert kept.maintainer.is_lost
    kept.maintainer.capture()
    assert kept.fragments() == {0, 1}


def test_state_follows_the_groups_and_not_the_rows():
    kept = Kept("SELECT g FROM r GROUP BY g HAVING count(*) > 5000", [(1, 1.0, 5)])
    (groups,) = [each for each in kept.maintainer.operators() if isinstance(each, GroupByDelta)]
    size = groups.nbytes
    kept.change("r", insert=[(1, 1.0, 5)] * 3000)
    kept.fragments()
    assert groups.nbytes == size and len(groups.groups.pairs) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g FROM r WHERE NOT EXISTS (SELECT * FROM s WHERE s.k = r.g)",
        "SELECT r.g FROM r LEFT JOIN s ON r.g = s.k",
        "SELECT g FROM r EXCEPT SELECT k FROM s",
        "SELECT g, row_number() OVER (PARTITION BY g ORDER BY v) FROM r",
        "SELECT g FROM r WHERE EXISTS (SELECT * FROM s WHERE s.k < r.g)",
    ],
)
def test_what_is_not_maintained_is_refused(text: str):
    with pytest.raises(hw.HeadwaterError) as caught:
        Maintainer(parse(text, TABLES).plan, FragmentNumbers((BY_X,)), ModelBackend({"r": [], "s": []}))
    assert caught.value.code == "not-maintained" and caught.value.hint


def test_state_that_nears_the_tables_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Groups and fragments that have nothing to do with each other: a pair for almost every row."""
    monkeypatch.setattr("headwater.sketch.maintain.maintainer.FEWEST_PAIRS_REFUSED", 10)
    rows = [(n % 7, 1.0, 9 * (n % 5)) for n in range(40)]
    with pytest.raises(hw.HeadwaterError) as caught:
        Kept("SELECT g FROM r GROUP BY g HAVING count(*) > 1", rows)
    assert caught.value.code == "state-too-large" and "28 pairs" in caught.value.message
    kept = Kept("SELECT g FROM r GROUP BY g HAVING count(*) > 1", rows * 3)
    assert kept.maintainer.pairs == 28
