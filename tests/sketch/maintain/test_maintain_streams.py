"""Random queries, tables and changes: the maintained sketch is the one that a fresh capture gives, after every
version."""

from __future__ import annotations

from pathlib import Path

import pytest
from maintained_queries import SHAPES, Shape, Stream
from oracle_lockstep import FIGURES, examples
from plan_model import answer, sketch_of, sketched

from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.switches import Switches

SWITCHES = {
    "all": Switches(),
    "none": Switches(push_selections=False, bloom_filters=False, buffer=None),
    "small": Switches(buffer=1, kept_rows=0),
    "by the backend": Switches(lookups=False),
}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_maintained_sketch_is_a_captured_one(shape: Shape):
    for seed in range(examples(10)):
        stream = Stream(shape, seed)
        ways = {
            name: Maintainer(stream.plan, stream.numbers, stream.backend, switches=way)
            for name, way in SWITCHES.items()
        }
        for each in ways.values():
            each.capture()
        check(stream, ways)
        for _ in range(6):
            stream.change()
            for each in ways.values():
                each.maintain()
            check(stream, ways)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_state_goes_on_after_it_was_saved_and_restored(shape: Shape, tmp_path: Path):
    for seed in range(50, 50 + examples(3)):
        stream = Stream(shape, seed)
        switches = Switches(buffer=seed % 3, kept_rows=seed % 2 * 100)
        held = Maintainer(stream.plan, stream.numbers, stream.backend, switches=switches)
        held.capture()
        for _ in range(4):
            stream.change()
            held.maintain()
            held.save(tmp_path / str(seed))
            other = Maintainer(stream.plan, stream.numbers, stream.backend, switches=switches)
            assert other.restore(tmp_path / str(seed))
            assert other.sketch == held.sketch and other.counts == held.counts
            stream.change()
            assert other.maintain().delta == held.maintain().delta
            check(stream, {"restored": other})
            held = other


def check(stream: Stream, ways: dict[str, Maintainer]) -> None:
    expected = sketch_of(stream.plan, stream.backend.tables, stream.partition)
    for name, maintainer in ways.items():
        found = {part.slot: part.fragments for part in maintainer.sketch.parts}
        assert all(found[slot] >= expected[slot] for slot in expected), (name, stream.seed, stream.text)
        if stream.shape.exact:
            assert found == expected, (name, stream.seed, stream.text)
        FIGURES["sketches compared"] += 1
    if stream.shape.safe:
        less = sketched(stream.backend.tables, found, stream.partition)
        assert answer(stream.plan, less) == answer(stream.plan, stream.backend.tables)


def test_the_first_rows_of_nothing_are_saved_and_restored(tmp_path: Path):
    """Nothing has no types: those of rows that come later count."""
    stream = Stream(next(shape for shape in SHAPES if shape.name == "top_rows"), 3)
    for table, rows in stream.backend.tables.items():
        stream.backend.update(table, [], list(rows))
    held = Maintainer(stream.plan, stream.numbers, stream.backend)
    held.capture()
    for turn in range(3):
        held.save(tmp_path / "state")
        held = Maintainer(stream.plan, stream.numbers, stream.backend)
        assert held.restore(tmp_path / "state")
        stream.backend.update("r", [stream.row("r") | {"v": 7 + turn}], [])
        held.maintain()
        assert held.sketch.parts[0].fragments
