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
        proof = net.why("bestCost", ("Chicago", "Atlanta", 13))
        assert len(proof.messages()) == 4 and len(net.timeline()) > 100
    assert spark.range(3).count() == 3, "the session goes on"
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("reachable", [("a", "b")], transport="spark", spark="local")
    assert refused.value.code == "no-spark"
