"""The benchmark of update exchange runs and compares instances. Nothing here asserts a time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("nmo_python")
pytest.importorskip("matplotlib")

from benchmarks import command  # noqa: E402
from benchmarks.exchange.measuring import Sharing, same_rows  # noqa: E402
from benchmarks.exchange.swissprot import ATTRIBUTES, value  # noqa: E402
from benchmarks.exchange.workload import MOST_RELATIONS, SharingWorkload, zipf  # noqa: E402


def test_the_universal_relation_has_25_attributes_and_long_strings():
    assert len(ATTRIBUTES) == 25
    assert len(str(value("sequence", 1, "string"))) > 100
    assert isinstance(value("sequence", 1, "integer"), int)


def test_small_numbers_are_drawn_more_often():
    choose = random.Random(1)
    drawn = [zipf(4, choose) for _ in range(2000)]
    counts = [drawn.count(number) for number in (1, 2, 3, 4)]
    assert counts == sorted(counts, reverse=True)
    assert set(drawn) == {1, 2, 3, 4}


@pytest.mark.parametrize("peers", [2, 5, 20])
def test_every_peer_partitions_the_same_attributes(peers):
    workload = SharingWorkload.make(peers, "integer", 3)
    parts = [[column for columns in peer.relations.values() for column in columns] for peer in workload.peers]
    assert all(sorted(part) == sorted(parts[0]) for part in parts)
    assert all(len(peer.relations) <= MOST_RELATIONS for peer in workload.peers)
    assert len(workload.edges) == peers - 1


@pytest.mark.parametrize("strategy", ["recompute", "dred", "relative"])
def test_in_a_ring_every_entry_reaches_everybody_and_leaves_again(strategy):
    workload = SharingWorkload.make(5, "string", 2, cycles=1)
    ours, other = Sharing(workload), Sharing(workload, strategy)
    entries = workload.base(6)
    for one in (ours, other):
        one.take(one.change(workload.transactions("+", entries)))
    assert set(ours.outputs().values()) == {30}
    gone = {peer: each[:3] for peer, each in entries.items()}
    for one in (ours, other):
        one.take(one.change(workload.transactions("-", gone)))
    assert set(ours.outputs().values()) == {15}
    assert same_rows("half", ours, other, strategy) == sum(ours.outputs().values())


def test_the_command_compares_instances_and_writes_files(tmp_path: Path):
    result = CliRunner().invoke(command, ["exchange", "--quick", "--repeat", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "answers compared and equal" in " ".join(result.output.split())
    written = {path.name for path in tmp_path.iterdir()}
    assert {"exchange.json", "exchange.md", "exchange-deletions.svg", "exchange-joining.svg"} <= written
