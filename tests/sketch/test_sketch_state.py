"""The state that maintains sketches: where it would be too large, and where it is damaged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
from sketch_queries import bag, database
from test_sketch_capture import SALES, TOP

import headwater as hw
from headwater.errors import SketchError
from headwater.sketch import asking, upkeep
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.query_book import QueryBook


def test_state_that_would_be_too_large_has_coarser_ranges(tmp_path, monkeypatch):
    rows = pa.table({"g": [n % 97 for n in range(3000)], "x": list(range(3000)), "v": [1] * 3000})
    address = database(tmp_path / "t.db", {"t": rows})
    text = "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > 30"
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=400)
        plain = bag(sketches.ask(text, way="capture").rows)
        sketches.update("t", insert=[(1, 5000, 1)])
        sketches.ask(text, way="maintain")
        full = sketches._book._maintainers.pop(sketches.list()[0].name).nbytes
        sketches.update("t", insert=[(2, 5000, 1)])
        monkeypatch.setattr(upkeep, "MOST_STATE", full - 1)
        found = sketches.ask(text, way="maintain")
        assert len(bag(found.rows)) == len(plain)
        newest = sketches.list()[0].newest
        assert newest is not None
        assert newest.parts[0].ranges.count < 200
        monkeypatch.setattr(upkeep, "MOST_STATE", 10)
        sketches.update("t", insert=[(1, 5001, 1)])
        sketches._book._maintainers.clear()
        with pytest.raises(SketchError, match="state-too-large"):
            sketches.ask(text, way="maintain")


@pytest.mark.parametrize("file", ["manifest.json", "log/00000001.log"])
def test_damaged_state_of_a_sketch_is_made_again(tmp_path, file):
    """The tables have all that it had."""
    address = database(tmp_path / "shop.db", {"sales": SALES})
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("sales", partition="price", ranges=4)
        sketches.ask(TOP, way="capture")
        (name,) = sketches.maintain()
    damaged = tmp_path / "state" / "queries" / name / file
    assert damaged.exists()
    damaged.write_bytes(b"x")
    for reason in ("its state was made from the tables", "its tables changed"):
        with hw.sketches(address, tmp_path / "state") as sketches:
            sketches.update("sales", insert=[(8, "HP", "650 G10", 1299, 1)])
            assert sketches.maintain()[name].reason == reason


def test_that_state_is_too_large_is_found_once(tmp_path, monkeypatch):
    rows = pa.table({"g": [n % 97 for n in range(3000)], "x": list(range(3000)), "v": [1] * 3000})
    address = database(tmp_path / "t.db", {"t": rows})
    text = "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > 30"
    made = []
    capture = Maintainer.capture

    def counted(self, *args):
        made.append(1)
        return capture(self, *args)

    monkeypatch.setattr(Maintainer, "capture", counted)
    monkeypatch.setattr(upkeep, "MOST_STATE", 10)
    monkeypatch.setattr(upkeep, "FEWEST_RANGES", 1000)
    for opened in range(2):
        with hw.sketches(address, tmp_path / "state") as sketches:
            sketches.table("t", partition="x", ranges=400)
            sketches.ask(text, way="capture")
            for new in range(3):
                sketches.update("t", insert=[(1, 5000 + 10 * opened + new, 1)])
                sketches.explain(text)
                assert bag(sketches.ask(text).rows) == bag(sketches.ask(text, way="plain").rows)
                sketches.maintain()
    assert len(made) == 1
    monkeypatch.undo()
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert sketches.list()[0].unmaintained
        assert sketches.ask(text, way="maintain").decision.way == "maintain"
        sketches.update("t", insert=[(1, 6000, 1)])
        assert not sketches.list()[0].unmaintained


def test_a_table_that_is_named_with_fewer_ranges_is_maintained_after_all(tmp_path, monkeypatch):
    rows = pa.table({"x": range(1000), "g": [n % 50 for n in range(1000)]})
    address = database(tmp_path / "t.db", {"t": rows})
    text = "SELECT g, sum(x) AS s FROM t GROUP BY g HAVING sum(x) > 10200"
    monkeypatch.setattr(upkeep, "MOST_STATE", 10_000)
    monkeypatch.setattr(upkeep, "FEWEST_RANGES", 50)
    for weighed in ("loss_by_capturing", "loss_by_maintaining"):  # small tables are soon read as a whole
        monkeypatch.setattr(asking, weighed, lambda *_: "")

    def asked(new):
        sketches.update("t", insert=[(new, 1)] * 100)
        answer = sketches.ask(text)
        assert bag(answer.rows) == bag(sketches.ask(text, way="plain").rows)
        (kept,) = sketches.list()
        (part,) = kept.newest.parts
        return answer.decision.way, str(part.slot), part.ranges.bounds[-1]

    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=100)
        sketches.ask(text, way="capture")
        assert asked(2000)[:2] == ("capture", "t.x")
        assert asked(3000) == ("capture", "t.x", 3000)  # cut by the rows of now
        assert sketches.list()[0].unmaintained
        sketches.table("t", partition="g", ranges=10)
        assert not sketches.list()[0].unmaintained
        assert asked(5)[:2] == ("capture", "t.g")
        assert asked(6)[:2] == ("maintain", "t.g")


def test_one_thread_at_a_time_takes_in_what_changed(tmp_path, monkeypatch):
    """Two would take in the same change twice."""
    address = database(tmp_path / "t.db", {"t": pa.table({"x": list(range(100)), "g": [1] * 100})})
    inside: list[int] = []
    most: list[int] = []
    plain = QueryBook.moment

    @contextmanager
    def slow_moment(self: QueryBook) -> Iterator[None]:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.005)
        with plain(self):
            yield
        inside.pop()

    monkeypatch.setattr(QueryBook, "moment", slow_moment)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=10)
        ask = lambda: [sketches.ask("SELECT x FROM t WHERE x > 70") for _ in range(10)]  # noqa: E731
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(most) == 30
        assert set(most) == {1}
