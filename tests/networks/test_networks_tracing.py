"""Traces are replayed message by message; what would be is asked without anything happening."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

import headwater as hw
from headwater.networks.tracing import replay_trace

TEXT = """
    near(@S, @D) :- #link(@S, @D, C), limit(@S, M, _), C < M.
    near(@S, @D) :- #link(@S, @Z, C), limit(@S, M, _), C < M, near(@Z, @D).
"""


def busy() -> hw.networks.network.Network:
    net = hw.network(TEXT, "transit-stub:25", metric="random", seed=4)
    net.insert("limit", [(node, 60 + number, (node, None)) for number, node in enumerate(net.topology.nodes)])
    net.run(until=0.03)
    net.fail(net.topology.links[3][:2])
    net.set_cost(net.topology.links[5][:2], 99)
    net.run()
    return net


def signed(lines: list[str]) -> str:
    body = "\n".join(lines) + "\n"
    return body + json.dumps({"messages": 0, "sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n"


def test_a_trace_gives_the_same_messages_and_the_same_trace_again(tmp_path: Path):
    net = busy()
    net.trace(tmp_path / "one")
    found = replay_trace(tmp_path / "one")
    assert found.difference is None and found.messages == net.messages > 100 and found.steps == 6
    busy().trace(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_what_differs_is_told(tmp_path: Path):
    busy().trace(tmp_path / "one")
    lines = (tmp_path / "one").read_text().splitlines()[:-1]
    number = next(n for n, line in enumerate(lines) if line.startswith("["))
    message = json.loads(lines[number])
    (tmp_path / "two").write_text(
        signed([*lines[:number], json.dumps([9.0, *message[1:]]), *lines[number + 1 :]])
    )
    difference = replay_trace(tmp_path / "two").difference
    assert difference is not None and difference.startswith("message 0: 9.000 s")
    (tmp_path / "three").write_text(signed(lines[:-1]))
    assert "now" in str(replay_trace(tmp_path / "three").difference)


@pytest.mark.parametrize("line", ["{}", '{"format": "other"}', "[]", "nonsense", ""])
def test_what_is_no_trace_is_refused(tmp_path: Path, line: str):
    (tmp_path / "one").write_text(signed([line]))
    with pytest.raises(hw.HeadwaterError) as refused:
        replay_trace(tmp_path / "one")
    assert refused.value.code == "damaged-trace"


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path):
    net = busy()
    with pytest.raises(hw.HeadwaterError) as refused:
        net.trace(tmp_path / "none" / "trace")
    assert refused.value.code == "cannot-write"
    net.trace(tmp_path / "one")
    before = (tmp_path / "one").read_bytes()
    (tmp_path / f"one.{os.getpid()}.part").symlink_to("/dev/full")
    net.fail(net.topology.links[0][:2])
    with pytest.raises(hw.HeadwaterError) as refused:
        net.trace(tmp_path / "one")
    assert refused.value.code == "cannot-write" and "No space left" in refused.value.message
    assert [path.name for path in tmp_path.iterdir()] == ["one"] and (tmp_path / "one").read_bytes() == before


def test_functions_of_this_process_have_no_trace(tmp_path: Path):
    net = hw.network(
        "p(@S) :- #link(@S, @D, C), odd(C).",
        "grid:2",
        functions={"odd": (lambda cost: cost % 2 == 1, ["int"], "bool")},
    )
    with pytest.raises(hw.HeadwaterError) as refused:
        net.trace(tmp_path / "one")
    assert refused.value.code == "functions-here"


def test_what_if_says_what_then_happens():
    net = hw.network("best-cost", "transit-stub:25", metric="random", seed=4)
    net.fail(net.topology.links[3])
    net.run()
    before, messages, links = net["bestCost"].rows(), net.messages, net.links
    failing = [link[:2] for link in net.topology.links[6:9]]
    found = net.what_if(
        fail=failing, restore=[net.topology.links[3]], set_cost={net.topology.links[9][:2]: 1}
    )
    assert (net["bestCost"].rows(), net.messages, net.links) == (before, messages, links)
    for link in failing:
        net.fail(link)
    net.restore(net.topology.links[3])
    net.set_cost(net.topology.links[9][:2], 1)
    net.run()
    changed = found.changes["bestCost"]
    assert set(net["bestCost"].rows()) == set(before) - set(changed.gone) | set(changed.come)
    assert changed.gone and found.messages > 0 and str(found).count(" -> ") >= len(changed.gone)
    with pytest.raises(hw.HeadwaterError) as refused:
        net.what_if(fail=[("t0", "nowhere")])
    assert refused.value.code == "no-such-link"


def test_what_is_no_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    net = hw.network("reachable", [("a", "b", 1)])
    net.run()
    with pytest.raises(hw.DataError) as error:
        net.trace(pipe)
    assert error.value.code == "cannot-write" and pipe.is_fifo()
