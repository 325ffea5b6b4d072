"""Sketches that never shrink cover the exact ones, what is not in doubt is needed, and answers are the plain ones."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from maintained_queries import SHAPES, Shape, Stream
from oracle_lockstep import FIGURES, examples
from plan_model import answer, sketch_of, sketched

import headwater as hw
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.switches import Switches

GROWING = Switches(shrink=False)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_sketch_that_does_not_shrink_covers_the_exact_one(shape: Shape, tmp_path: Path):
    for seed in range(100, 100 + examples(4)):
        stream = Stream(shape, seed)
        growing = Maintainer(stream.plan, stream.numbers, stream.backend, switches=GROWING)
        growing.capture()
        check(stream, growing)
        for step in range(6):
            before = growing.sketch
            stream.change()
            assert not growing.maintain().delta.lost
            assert growing.sketch.covers(before)
            check(stream, growing)
            if step == 3:
                growing.save(tmp_path / str(seed))
                again = Maintainer(stream.plan, stream.numbers, stream.backend, switches=GROWING)
                assert again.restore(tmp_path / str(seed)) and again.sketch == growing.sketch
                growing = again
        growing.capture()
        assert not any(part.doubtful for part in growing.sketch.parts)
        check(stream, growing)


def check(stream: Stream, growing: Maintainer) -> None:
    expected = sketch_of(stream.plan, stream.backend.tables, stream.partition)
    found = {part.slot: part.fragments for part in growing.sketch.parts}
    certain = {part.slot: part.fragments for part in growing.sketch.certain().parts}
    assert all(found[slot] >= expected[slot] for slot in expected), (stream.seed, stream.text)
    if stream.shape.exact:
        assert all(certain[slot] <= expected[slot] for slot in expected), (stream.seed, stream.text)
    if stream.shape.safe:
        less = sketched(stream.backend.tables, found, stream.partition)
        assert answer(stream.plan, less) == answer(stream.plan, stream.backend.tables)
    FIGURES["growing sketches compared"] += 1


def test_deletions_are_not_followed_where_nothing_has_state():
    stream = Stream(next(shape for shape in SHAPES if shape.name == "select"), 1)
    growing = Maintainer(stream.plan, stream.numbers, stream.backend, switches=GROWING)
    growing.capture()
    stream.backend.update("r", [], list(stream.backend.tables["r"]))
    held = growing.sketch.parts[0].fragments
    done = growing.maintain()
    assert done.rows == 0
    assert growing.sketch.parts[0].fragments == growing.sketch.parts[0].doubtful == held


def test_the_price_is_in_the_decision_and_the_explanation(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS x, range % 10 AS v FROM range(100)")
    text = "SELECT x FROM t WHERE v = 3 AND x < 50"
    address = f"duckdb:///{tmp_path}/t.db"
    with hw.sketches(address, tmp_path / "state", shrink=False) as sketches:
        sketches.table("t", partition="x", ranges=10)
        sketches.ask(text, way="capture")
        sketches.maintain()
        sketches.update("t", delete=[(3, 3), (13, 3)])
        found = sketches.ask(text, way="maintain")
        assert found.rows.column(0).to_pylist() == [23, 33, 43]
        assert found.decision.sketch == "t.x: 5 of 11 fragments (2 of them perhaps needless)"
        assert found.decision.surplus == pytest.approx(2 / 11)
        assert "at most 18.2% of the rows needlessly, as the sketch does not shrink" in str(found.decision)
    with hw.sketches(address, tmp_path / "state", shrink=False) as sketches:
        assert "45.5% of the rows would be read, at most 18.2% of the rows needlessly" in sketches.explain(
            text
        )
        assert sketches.ask(text, way="use").decision.surplus == pytest.approx(2 / 11)
        exact = sketches.ask(text, way="capture")
        assert (exact.decision.sketch, exact.decision.surplus) == ("t.x: 3 of 11 fragments", 0.0)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.maintain()
        sketches.update("t", delete=[(23, 3)])
        assert sketches.ask(text, way="maintain").decision.sketch == "t.x: 2 of 11 fragments"
