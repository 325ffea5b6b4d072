"""What is put into a store comes out of it, after any number of restarts."""

from __future__ import annotations

import datetime
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
import store_worker
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import StoreError
from headwater.store import Checkpoint, Record, Store

TYPES = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float64(), st.floats(allow_nan=False)),
    "string": (pa.string(), st.text(max_size=8)),
    "bool": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))),
    "timestamp": (
        pa.timestamp("us"),
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    ),
    "list": (pa.list_(pa.string()), st.lists(st.text(max_size=4), max_size=3)),
    "nested": (pa.list_(pa.list_(pa.int64())), st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=2)),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "b", "c"])),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 5))
    columns = {}
    for index, name in enumerate(draw(st.lists(st.sampled_from(sorted(TYPES)), max_size=4))):
        arrow, values = TYPES[name]
        cells = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        columns[f"{index}"] = pa.array(cells, arrow)
    return pa.table(columns)


names = st.text(max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
metas = st.dictionaries(st.text(), json_values, max_size=3)
contents = st.tuples(metas, st.dictionaries(names, tables(), max_size=3))


@settings(max_examples=50, deadline=None)
@given(st.lists(contents, max_size=3), contents, st.lists(contents, max_size=3))
def test_records_and_checkpoint_come_back(before, middle, after):
    with tempfile.TemporaryDirectory() as path:
        with Store.open(path, sync=False) as store:
            for version, (meta, content) in enumerate(before, 1):
                store.append(Record(version, "define", meta, content))
            assert_records(store, 0, before)
            store.write_checkpoint(Checkpoint(len(before), *middle))
            for version, (meta, content) in enumerate(after, len(before) + 1):
                store.append(Record(version, "apply", meta, content))
        for mode in ("r", "w"):
            with Store.open(path, mode=mode) as store:
                assert store.version == len(before) + len(after)
                assert store.checkpoint is not None
                assert store.checkpoint.meta == middle[0]
                assert_tables(store.checkpoint.tables, middle[1])
                assert_records(store, len(before), after)


def assert_records(store, version, expected):
    found = list(store.records())
    assert [r.version for r in found] == list(range(version + 1, version + 1 + len(expected)))
    for record, (meta, content) in zip(found, expected, strict=True):
        assert record.meta == meta
        assert_tables(record.tables, content)


def assert_tables(found, expected):
    assert sorted(found) == sorted(expected)
    for name, table in expected.items():
        assert found[name].schema == table.schema
        assert found[name].equals(table)


def test_large_tables_are_compressed(tmp_path: Path):
    table = pa.table({"name": [f"node-{i % 50}" for i in range(50_000)], "n": list(range(50_000))})
    with Store.open(tmp_path) as store:
        store.append(Record(1, "apply", {}, {"insert/link": table}))
        store.write_checkpoint(Checkpoint(1, {}, {"link": table}))
        store.append(Record(2, "apply", {}, {"insert/link": table}))
        assert store.stats().log_bytes < table.nbytes / 2
        assert store.stats().segment_bytes < table.nbytes / 2
    with Store.open(tmp_path, mode="r") as store:
        assert store.checkpoint is not None
        assert store.checkpoint.tables["link"].equals(table)
        assert next(store.records()).tables["insert/link"].equals(table)


def test_chunks_with_dictionaries_of_their_own(tmp_path: Path):
    flat = [pa.array(cells).dictionary_encode() for cells in (["a", "b"], ["c", "b"])]
    nested = [pa.ListArray.from_arrays([0, 1, 2], chunk) for chunk in flat]
    table = pa.table({"flat": pa.chunked_array(flat), "nested": pa.chunked_array(nested)})
    with Store.open(tmp_path) as store:
        store.append(Record(1, "apply", {}, {"t": table, "part": table.slice(1, 2)}))
        assert next(store.records()).tables["t"].to_pylist() == table.to_pylist()
        assert next(store.records()).tables["part"].to_pylist() == table.to_pylist()[1:3]
        store.write_checkpoint(Checkpoint(1, {}, {"t": table, "part": table.slice(1, 2)}))
        assert store.checkpoint is not None
        assert store.checkpoint.tables["t"].to_pylist() == table.to_pylist()
        assert store.checkpoint.tables["t"].schema == table.schema
        assert store.checkpoint.tables["part"].to_pylist() == table.to_pylist()[1:3]


def test_reused_tables_keep_their_file(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.append(store_worker.record(1))
        store.write_checkpoint(store_worker.checkpoint(1))
        first = files_by_table(tmp_path)
        store.append(store_worker.record(2))
        store.write_checkpoint(Checkpoint(2, {}, {"state": store_worker.state(2)}), reuse=["fixed"])
        second = files_by_table(tmp_path)
        assert second["fixed"] == first["fixed"] and second["state"] != first["state"]
        assert store.checkpoint is not None
        assert store.checkpoint.tables["fixed"].equals(store_worker.fixed())
    assert {p.name for p in (tmp_path / "segments").iterdir()} == set(second.values())
    store_worker.check_folder(tmp_path)


def files_by_table(path: Path) -> dict[str, str]:
    manifest = json.loads((path / "manifest.json").read_text())
    return {segment["table"]: segment["file"] for segment in manifest["body"]["segments"]}


def test_tables_not_named_again_are_dropped(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.write_checkpoint(Checkpoint(0, {}, {"a": store_worker.fixed(), "b": store_worker.fixed()}))
        store.write_checkpoint(Checkpoint(0, {}, {}), reuse=["a"])
        assert store.checkpoint is not None and list(store.checkpoint.tables) == ["a"]
        assert store.stats().segments == 1


def test_an_old_checkpoint_in_hand_stays_readable(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.write_checkpoint(store_worker.checkpoint(3))
        old = store.checkpoint
        store.write_checkpoint(Checkpoint(3, {}, {}))
        assert old is not None and old.tables["state"].equals(store_worker.state(3))


def test_records_read_on_while_the_log_is_replaced(tmp_path: Path):
    with Store.open(tmp_path) as store:
        for version in range(1, 4):
            store.append(store_worker.record(version))
        records = store.records()
        assert next(records).version == 1
        store.write_checkpoint(store_worker.checkpoint(3))
        assert [record.version for record in records] == [2, 3]
        assert list(store.records()) == []


def test_stats_count_what_is_there(tmp_path: Path):
    with Store.open(tmp_path) as store:
        empty = store.stats()
        assert (empty.version, empty.log_records, empty.segments) == (0, 0, 0)
        store.append(store_worker.record(1))
        write = store.stats()
        assert write.log_bytes == (tmp_path / "log" / "00000000.log").stat().st_size > empty.log_bytes
        store.write_checkpoint(store_worker.checkpoint(1))
        stats = store.stats()
        assert (stats.version, stats.checkpoint_version, stats.log_records) == (1, 1, 0)
        assert stats.log_bytes == empty.log_bytes
        assert stats.segment_rows == store_worker.state(1).num_rows + 2
        assert stats.segment_bytes == sum(p.stat().st_size for p in (tmp_path / "segments").iterdir())


@pytest.mark.parametrize("version", [0, 1, 3, -1])
def test_versions_are_consecutive(tmp_path: Path, version: int):
    with Store.open(tmp_path) as store:
        store.append(store_worker.record(1))
        with pytest.raises(StoreError) as caught:
            store.append(store_worker.record(version))
        assert caught.value.code == "version"
        with pytest.raises(StoreError) as caught:
            store.write_checkpoint(Checkpoint(version + (version == 1)))
        assert caught.value.code == "version"
        assert store_worker.check(store) == 1


def test_a_new_store_may_start_at_any_version(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.write_checkpoint(store_worker.checkpoint(41))
        store.append(store_worker.record(42))
        assert store_worker.check(store) == 42


@pytest.mark.parametrize("meta", [{"x": object()}, {"x": float("nan")}, {"x": b"bytes"}, {(1, 2): 3}])
def test_metadata_that_is_not_json_is_refused(tmp_path: Path, meta: dict[str, object]):
    with Store.open(tmp_path) as store:
        for write in (
            lambda: store.append(Record(1, "apply", meta)),
            lambda: store.write_checkpoint(Checkpoint(0, meta)),
        ):
            with pytest.raises(StoreError) as caught:
                write()
            assert caught.value.code == "not-json" and caught.value.hint
        store.append(store_worker.record(1))
        assert store_worker.check(store) == 1
    store_worker.check_folder(tmp_path)


def test_reuse_of_what_is_not_there_is_refused(tmp_path: Path):
    with Store.open(tmp_path) as store:
        with pytest.raises(StoreError) as caught:
            store.write_checkpoint(Checkpoint(0), reuse=["nothing"])
        assert caught.value.code == "table" and "'nothing'" in caught.value.message


def test_reuse_of_what_is_not_there_writes_it_if_given(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.write_checkpoint(store_worker.checkpoint(1), reuse=["fixed", "state"])
        assert store_worker.check(store) == 1
