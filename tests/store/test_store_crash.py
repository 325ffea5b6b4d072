"""Processes that are killed: what was acknowledged is there, and nothing is there by half."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import store_worker
from crash import acked_versions, kill_somewhere

from headwater.store import Store

FIRST_SEED = int(os.environ.get("HEADWATER_SEED", 0))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 3))
def test_killed_at_random_again_and_again(
    tmp_path: Path, command: Callable[..., list[str]], environment: dict[str, str], seed: int
):
    """Eight lives of one store; each starts from what the last one left."""
    rng = random.Random(seed)
    state = tmp_path / "state"
    last = 0
    for _ in range(8):
        crash = kill_somewhere(command("loop", state), rng, env=environment)
        last = max(last, crash.last_acked)
        if not state.exists() or not (state / "manifest.json").exists():
            assert last == 0
            continue
        with Store.open(state, mode="r") as store:
            found = store_worker.check(store)
        assert last <= found <= last + 1, "the append under way may be there; nothing else"
        last = found
    with Store.open(state) as store:
        assert store_worker.check(store) == last
    store_worker.check_folder(state)


def test_killed_at_each_system_call(tmp_path: Path, run: Callable[..., str]):
    """Making a store, appends, checkpoints and removals, interrupted at every call."""
    run("killed_at_each_call", tmp_path)
    runs = sorted(tmp_path.glob("*.acked"), key=lambda file: int(file.stem))
    assert len(runs) > 80
    for file in runs:
        acked = acked_versions(file.read_bytes())
        last = acked[-1] if acked else 0
        state = file.with_suffix("")
        if (state / "manifest.json").exists():
            with Store.open(state, mode="r") as store:
                assert last <= store_worker.check(store) <= last + 1, file
        else:
            assert last == 0
        with Store.open(state, sync=False) as store:
            found = store_worker.check(store)
            assert last <= found <= last + 1, file
            store.append(store_worker.record(found + 1))
        store_worker.check_folder(state)
        with Store.open(state, mode="r") as store:
            assert store_worker.check(store) == found + 1
    assert last == 6, "the last run is the one that nobody killed"
