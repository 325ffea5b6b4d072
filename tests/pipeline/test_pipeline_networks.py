"""Networks whose nodes are tasks of a real Spark: the session that all of these tests share."""

from __future__ import annotations

import os
import signal

import pytest

import headwater as hw

pytestmark = pytest.mark.xdist_group("spark")


def test_a_network_in_tasks_of_spark_some_of_which_are_killed(spark):
    simulated = hw.network("best-cost", "topohub:topozoo/Abilene")
    simulated.run()
    with hw.network("best-cost", "topohub:topozoo/Abilene", transport="spark", spark=spark) as net:
        assert net.run().quiet
        assert net["bestCost"].rows() == simulated["bestCost"].rows()
        tasks = net._nodes.network
        assert len(tasks.processes) == 2, "as many as the session has cores"
        os.kill(tasks.processes[0], signal.SIGKILL)
        for each in (net, simulated):
            each.fail("Indianapolis", "Atlanta")
            each.run()
        assert net["nextHop"].rows() == simulated["nextHop"].rows()
        assert tasks.losses >= 1
        proof = net.why("bestCost", ("Chicago", "Atlanta", 11735))
        assert len(proof.messages()) == 4 and len(net.timeline()) > 100
    assert spark.range(3).count() == 3, "the session goes on"
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("reachable", [("a", "b")], transport="spark", spark="local")
    assert refused.value.code == "no-spark"


PINGS = """
materialize(roundTrip, infinity, infinity, keys(1, 2)).
p1 ping(@Y, X, E) :- periodic(@X, E, 0.2, 3), #link(@X, Y, C).
p2 pong(@X, Y, E) :- ping(@Y, X, E).
p3 roundTrip(@X, Y, a_COUNT<*>) :- heard(@X, Y, E).
p4 heard(@X, Y, E) :- pong(@X, Y, E).
materialize(heard, infinity, infinity, keys(1, 2, 3)).
watch(pong). watch(roundTrip).
"""


def test_timers_and_traces_in_tasks_of_spark(spark):
    """Timers fire three times in real time; what nodes trace is as in the simulator, but for times and numbers."""
    links = [("a", "b", 1), ("b", "a", 1)]
    simulated = hw.network(PINGS, links)
    assert simulated.run().quiet
    with hw.network(PINGS, links, transport="spark", spark=spark) as net:
        assert net.run().quiet
        assert net["roundTrip"].rows() == simulated["roundTrip"].rows() == [("a", "b", 3), ("b", "a", 3)]
        seen = [(row.relation, row.sign, row.row[:2]) for row in net.watched]
        assert sorted(seen) == sorted((row.relation, row.sign, row.row[:2]) for row in simulated.watched)
        assert seen.count(("pong", "!", ("a", "b"))) == 3
        times = [row.time for row in net.watched]
        assert times == sorted(times) and times[0] >= 0.2 and times[-1] <= net.now
