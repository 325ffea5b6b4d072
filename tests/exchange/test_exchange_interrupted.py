"""Peers that are killed (kill -9) at any moment: nothing acknowledged is lost, nothing is taken on twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from exchange_support import ALL, PEERS, rows

import headwater as hw

KILLS = int(os.environ.get("HEADWATER_KILLS", "2"))


def killed(folder: Path, seed: int, chance: random.Random) -> dict[str, int]:
    """The last transaction of each peer that was acknowledged before the kill."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("exchange_interrupted.py")), str(folder), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
    )
    acknowledged: dict[str, int] = {}
    assert process.stdout is not None
    process.stdout.readline()
    wanted = chance.randint(1, 25)
    for line in process.stdout:
        name, number = json.loads(line)
        acknowledged[name] = number
        wanted -= 1
        if not wanted:
            break
    process.kill()
    process.wait()
    for line in process.stdout:
        if line.endswith("\n"):
            name, number = json.loads(line)
            acknowledged[name] = number
    process.stdout.close()
    return acknowledged


@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(tmp_path, seed):
    chance = random.Random(seed)
    for turn in range(2):
        acknowledged = killed(tmp_path, 100 * seed + turn, chance)
        found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
        for name, number in acknowledged.items():
            assert found[name].instance.taken(name) >= number
        for peer in found.values():
            beside = peer.instance.recomputed()
            for relation in peer.instance.schemas.columns:
                output = peer.instance.compiled.names.output(relation)
                assert set(beside.database[output].rows()) == set(peer.instance.database[output].rows())
            beside.close()
        found.exchange()
        found.exchange()
        for relation in "GBU":
            assert len({frozenset(rows(peer, relation)) for peer in found.values()}) == 1
        numbers = [transaction.id.number for transaction in found.logs.read("GUS", 0)]
        assert numbers == list(range(1, len(numbers) + 1))
        found.close()


class Stopped(Exception):
    """Where a process would have ended."""


def test_a_process_that_ends_between_publishing_and_importing(tmp_path):
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    found["GUS"].edit(insert={"G": [(3, 5, 2)]})
    found["GUS"].publish()
    found.close()
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    assert found["GUS"].publish() == () and not found["GUS"].unpublished
    assert found["BioSQL"].update().inserted("B") == [(3, 2)]
    found.close()
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    assert not found["BioSQL"].update().transactions and (3, 2) in found["BioSQL"]["B"]
    found.close()


def test_a_publisher_that_ends_before_it_knows_that_it_has_published(tmp_path, monkeypatch):
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    gus = found["GUS"]
    gus.edit(insert={"G": [(3, 5, 2)]})

    def stop(last: int) -> None:
        raise Stopped

    monkeypatch.setattr(gus.instance, "forget_published", stop)
    with pytest.raises(Stopped):
        gus.publish()
    found.close()
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    assert found["GUS"].publish() == ()
    assert [str(one.id) for one in found["BioSQL"].update().transactions] == ["GUS:1"]
    found.close()


def test_a_policy_whose_program_was_not_taken_on_yet(tmp_path, monkeypatch):
    """The process ends after the version that holds a condition, before rows follow it."""
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    found["GUS"].edit(insert={"G": [(1, 2, 3)]})
    found.exchange()
    bio = found["BioSQL"]

    def stop(base):
        raise Stopped

    monkeypatch.setattr(bio.instance, "_take_on", stop)
    with pytest.raises(Stopped):
        bio.trust("distrust B(i, n) from GUS.")
    found.close()
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    assert found["BioSQL"].trust() == ("distrust B(i, n) from GUS.",)
    assert rows(found["BioSQL"], "B") == set()
    found.close()


def test_a_peer_whose_folder_is_lost_gets_back_what_it_had_published(tmp_path):
    import shutil

    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    found["GUS"].edit(insert={"G": [(3, 5, 2)]})
    found.exchange()
    found.close()
    shutil.rmtree(tmp_path / "peers" / "GUS")
    found = hw.exchange(peers=PEERS, mappings=ALL, path=tmp_path)
    assert rows(found["GUS"], "G") == {(3, 5, 2)}
    assert str(found["GUS"].edit(insert={"G": [(1, 2, 3)]})) == "GUS:2"
    found.close()
