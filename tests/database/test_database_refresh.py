"""Readers that follow their writer, a version at a time."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw


def followed(tmp_path, **options):
    """A writer, and a reader of the same folder that notes what it is told of `reach`."""
    writer = hw.connect(tmp_path / "state")
    writer.define(
        "link(src: int, dst: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
    )
    reader = hw.connect(tmp_path / "state", mode="r", **options)
    events: list[Any] = []
    reader.watch("reach", events.append)
    return writer, reader, events


def agree(writer, reader):
    """The reader stands where the writer stands."""
    assert reader.refresh() == writer.version == reader.version
    for name in writer.relations:
        assert sorted(reader[name].rows()) == sorted(writer[name].rows())
    assert reader.marks == writer.marks and reader.now == writer.now


def test_a_reader_takes_on_what_its_writer_does(tmp_path):
    writer, reader, events = followed(tmp_path)
    with writer, reader:
        writer.apply(insert={"link": [(1, 2)]}, marks={"feed": 3})
        assert len(reader["reach"]) == 0
        agree(writer, reader)
        writer.checkpoint()
        writer.define("loop(X) :- reach(X, X).")
        writer.apply(insert={"link": [(2, 1)]})
        writer.subscribe("somebody", "reach")
        writer.watch("link", print, name="durable")
        writer.advance(5)
        agree(writer, reader)
        assert reader["loop"].count() == 2 and [event.version for event in events] == [2, 4]
        assert list(reader.watches) == ["watch-1", "durable"]
        assert reader.refresh() == reader.version


def test_what_is_only_in_a_later_checkpoint_is_one_event(tmp_path):
    writer, reader, events = followed(tmp_path)
    with writer, reader:
        writer.apply(insert={"link": [(1, 2)]})
        agree(writer, reader)
        for node in range(2, 5):
            writer.apply(insert={"link": [(node, node + 1)]}, delete={"link": [(1, 2)]})
            writer.checkpoint()
        agree(writer, reader)
        writer.apply(insert={"link": [(5, 6)]})
        agree(writer, reader)
        assert [event.version for event in events] == [2, 3, 5, 6]
        rows: set[tuple[int, ...]] = set()
        for event in events:
            assert not rows & set(event.inserted) and rows >= set(event.deleted)
            rows = (rows - set(event.deleted)) | set(event.inserted)
        assert rows == set(writer["reach"].rows())


def test_watched_views_are_followed_over_a_later_checkpoint(tmp_path):
    writer = hw.connect(tmp_path / "state")
    writer.define('a(x: int). v(N) :- a(X), N = cat("n", to_string(X)), X > 3. .kind v watched')
    reader = hw.connect(tmp_path / "state", mode="r")
    events: list[Any] = []
    reader.watch("v", events.append, on="changed")
    with writer, reader:
        writer.apply(insert={"a": [(5,), (6,)]})
        reader.refresh()
        for value in range(5, 8):
            writer.apply(insert={"a": [(value + 2,)]}, delete={"a": [(value,)]})
            writer.checkpoint()
        reader.refresh()
        rows: set[tuple[str]] = set()
        for event in events:
            assert not rows & set(event.inserted) and rows >= set(event.deleted)
            rows = (rows - set(event.deleted)) | set(event.inserted)
        assert rows == {("n8",), ("n9",)} and [event.version for event in events] == [2, 3, 5]


def test_a_reader_of_an_earlier_version(tmp_path):
    writer, reader, _ = followed(tmp_path)
    with writer, reader:
        for node in range(3):
            writer.apply(insert={"link": [(node, node + 1)]})
        with hw.connect(tmp_path / "state", mode="r", version=2) as earlier:
            assert earlier.version == 2 and earlier["link"].rows() == [(0, 1)]
            agree(writer, earlier)
        writer.checkpoint()
        with pytest.raises(hw.StoreError) as caught:
            hw.connect(tmp_path / "state", mode="r", version=2)
        assert caught.value.code == "missed"
        with pytest.raises(hw.DataError):
            hw.connect(tmp_path / "other", version=2)


def test_refreshing_a_writer_does_nothing(tmp_path):
    writer, reader, _ = followed(tmp_path)
    with writer, reader:
        assert writer.refresh() == 1
    with pytest.raises(hw.StoreError, match="closed"):
        reader.refresh()


def test_a_reader_is_told_of_watches_that_its_writer_has_not_heard_of(tmp_path):
    writer, reader, _ = followed(tmp_path)
    with writer, reader:
        writer.watch("reach", print, name="mine")
        agree(writer, reader)
        with pytest.raises(hw.DataError) as caught:
            reader.watch("reach", print, name="mine")
        assert caught.value.code == "other-watch"
        with pytest.raises(hw.StoreError):
            reader.watches["mine"].stop()
        reader.watches["watch-1"].stop()
        assert list(reader.watches) == ["mine"]


@pytest.mark.parametrize("kind", ["watched", "stored"])
def test_a_later_checkpoint_tells_of_views_that_are_not_stored(tmp_path, kind):
    writer, reader, events = followed(tmp_path)
    with writer, reader:
        writer.keep("reach", kind)
        writer.apply(insert={"link": [(1, 2)]})
        writer.checkpoint()
        writer.apply(insert={"link": [(2, 3)]})
        writer.apply(delete={"link": [(1, 2)]})
        writer.checkpoint()
        agree(writer, reader)
        assert [(set(event.inserted), set(event.deleted)) for event in events] == [
            ({(1, 2)}, set()),
            ({(2, 3)}, {(1, 2)}),
        ]
