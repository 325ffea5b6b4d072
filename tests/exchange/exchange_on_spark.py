"""A program of its own: a peer that computes on two nodes of a real Spark, one of which is killed.

Called by the tests. The other peers compute in this process. After every exchange the peer on nodes has the rows that
the same peer has that is opened beside it, in one process, on the same published logs.
"""

from __future__ import annotations

import os
import random
import signal

from exchange_support import ALL, PEERS, rows
from quick_java import quick

import headwater as hw
from headwater.exchange.peer import Peer
from headwater.exchange.published import LogsInMemory
from headwater.spark.session import spark_session

ROUNDS = 6


def run() -> int:
    """Edits, a curation deletion and a trust condition; how many rows were compared."""
    chance, logs, compared = random.Random(5), LogsInMemory(), 0
    spark = spark_session("local[3]", conf=quick())
    here = hw.exchange(peers=PEERS, mappings=ALL, logs=logs)
    with hw.exchange(peers=PEERS, mappings=ALL, logs=logs, run="spark", spark=spark, nodes=2) as found:
        ubio = found["uBio"]
        nodes = ubio.instance.database.runner.nodes
        for number in range(ROUNDS):
            made = [tuple(chance.randrange(6) for _ in range(3)) for _ in range(4)]
            here["GUS"].edit(insert={"G": made})
            here["BioSQL"].edit(insert={"B": [made[0][:2]]})
            if number == 2:
                here["BioSQL"].trust("distrust B(i, n) from GUS if n >= 3.")
            if number == 4:
                here["BioSQL"].edit(delete={"B": sorted(here["BioSQL"]["B"].rows())[:2]})
                here["GUS"].edit(delete={"G": made[:1]})
            for peer in ("GUS", "BioSQL"):
                here[peer].publish()
            if number == 3:
                os.kill(nodes.coordinator.meeting.processes[0], signal.SIGKILL)
            ubio.update()
            for relation in ("G", "B", "U"):
                expected = rows(beside(logs), relation)
                assert rows(ubio, relation) == expected, (number, relation)
                compared += len(expected)
        assert nodes.losses == 1
    here.close()
    return compared


def beside(logs: LogsInMemory) -> Peer:
    """The same peer from scratch, in this process."""
    found = hw.exchange(peers=PEERS, mappings=ALL, logs=logs)["uBio"]
    found.update()
    return found


if __name__ == "__main__":
    print(f"{run()} rows the same, one node lost")
