"""Appends that are interrupted, raced, or many and small."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
import store_worker

from headwater.errors import StoreError
from headwater.store import Record, Store


@pytest.mark.parametrize("seed", range(4))
def test_interrupts_leave_a_version_whole_or_out(tmp_path: Path, seed: int):
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    store = Store.open(tmp_path)
    expected, interrupts = 0, 0
    for turn in range(300):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + (turn * 37 + seed * 11) % 200 * 0.000004)
                store.append(store_worker.record(expected + 1))
                if turn % 10 == 0:
                    store_worker.write_checkpoint(store)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupts += 1
        except StoreError as error:
            assert error.code == "unsure"
            store.close()
            store = Store.open(tmp_path)
        assert store.version in (expected, expected + 1)
        expected = store.version
    signal.signal(signal.SIGALRM, previous)
    store.close()
    assert interrupts > 10
    with Store.open(tmp_path) as store:
        assert store_worker.check(store) == expected
    store_worker.check_folder(tmp_path)


def test_threads_take_turns(tmp_path: Path):
    """Of threads that append the same version one succeeds, and the others are told."""
    with Store.open(tmp_path, sync=False) as store:
        refused = []

        def work() -> None:
            for _ in range(100):
                try:
                    store.append(store_worker.record(store.version + 1))
                except StoreError as error:
                    refused.append(error.code)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(refused) <= {"version"}
        assert store_worker.check(store) == 400 - len(refused)


def test_a_large_record_goes_out_in_parts(tmp_path: Path):
    table = pa.table({"x": pa.array([bytes([i % 251]) * 3_000_017 for i in range(3)])})
    with Store.open(tmp_path) as store:
        store.append(Record(1, "apply", {}, {"a": table, "b": table.slice(1)}))
        store.append(store_worker.Record(2, "apply"))
    with Store.open(tmp_path, mode="r") as store:
        first, second = store.records()
        assert first.tables["a"].equals(table) and first.tables["b"].equals(table.slice(1))
        assert second.version == 2


def test_small_appends_are_cheap(tmp_path: Path):
    """The least of several measurements, so that a busy machine does not count."""
    table = pa.table({"src": ["a"], "dst": ["b"]})
    with Store.open(tmp_path, sync=False) as store:
        least = 1.0
        for _ in range(10):
            start = time.process_time()
            for _ in range(100):
                store.append(Record(store.version + 1, "apply", {"batch": 1}, {"insert/link": table}))
            least = min(least, (time.process_time() - start) / 100)
    assert least < 150e-6
