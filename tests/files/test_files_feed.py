"""Change feeds, and rows in order."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.files.contents import FactFile
from headwater.files.feed import changes_of, net
from headwater.files.order import in_order
from headwater.files.read import read
from headwater.files.typed import typed
from headwater.values.types import INT

KINDS = ["insert", "delete", "update_preimage", "update_postimage"]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(KINDS), st.integers(0, 2)), max_size=12),
    st.booleans(),
)
def test_the_net_changes_lead_to_the_same_rows(changes: list[tuple[int, str, int]], versioned: bool) -> None:
    if versioned:
        done = sorted(changes, key=lambda change: (change[2], change[1] in ("insert", "update_postimage")))
    else:
        done = changes
    for start in (set(), {0, 1, 2, 3}):
        present = set(start)
        for row, kind, _ in done:
            (present.add if kind in ("insert", "update_postimage") else present.discard)(row)
        table = pa.table({"x": pa.array([row for row, _, _ in changes], pa.int64())})
        versions = [version for _, _, version in changes] if versioned else None
        inserted, deleted = net(table, [kind for _, kind, _ in changes], versions)
        gone = set(deleted["x"].to_pylist())
        come = set(inserted["x"].to_pylist())
        assert not gone & come
        assert (start - gone) | come == present


def test_nan_and_lists_are_equal_to_themselves() -> None:
    nan = float("nan")
    table = pa.table({"x": [nan, nan], "y": [["a"], ["a"]]})
    inserted, deleted = net(table, ["insert", "delete"], None)
    assert (inserted.num_rows, deleted.num_rows) == (0, 1)


def feed(folder: Path, text: str) -> tuple[Any, Any]:
    path = folder / "r.csv"
    path.write_text(text)
    contents = read(FactFile(path), "r", ("k", "v"), (INT, INT))
    inserted, deleted = changes_of(contents, typed(contents, (INT, INT)))
    return inserted.to_pylist(), deleted.to_pylist()


def test_a_feed_in_a_file(tmp_path: Path) -> None:
    text = """\
v,_change_type,k,_commit_version,_commit_timestamp
10,insert,1,1,2024-01-01
11,update_postimage,1,2,2024-01-02
10,update_preimage,1,2,2024-01-02
20,insert,2,1,2024-01-01
20,delete,2,3,2024-01-03
"""
    inserted, deleted = feed(tmp_path, text)
    assert inserted == [{"k": 1, "v": 11}]
    assert deleted == [{"k": 1, "v": 10}, {"k": 2, "v": 20}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k,v\n1,2\n", "no column _change_type"),
        ("k,v,_change_type\n1,2,insert\n1,2,remove\n", "line 3: _change_type is 'remove'"),
        ("k,v,_change_type,_commit_version\n1,2,insert,x\n", "_commit_version"),
        ("k,_change_type\n1,insert\n", "its columns are k, _change_type; r has k, v"),
    ],
)
def test_feeds_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        feed(tmp_path, text)


ROWS = st.lists(st.tuples(st.integers(0, 2), st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=2)))


@settings(deadline=None)
@given(ROWS, st.randoms())
def test_the_order_does_not_depend_on_the_order(rows: list[Any], random: Any) -> None:
    def table(rows: list[Any]) -> Any:
        types = pa.int64(), pa.list_(pa.float64())
        columns = list(zip(*rows, strict=True)) or [(), ()]
        return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["x", "y"])

    shuffled = random.sample(rows, len(rows))
    assert repr(in_order(table(rows)).to_pylist()) == repr(in_order(table(shuffled)).to_pylist())
