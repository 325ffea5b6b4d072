"""A program of its own that starts a network of processes and leaves without closing it. Called by the tests.

python networks_leaving.py end | error | wait
"""

from __future__ import annotations

import sys
import time

from headwater.networks.transports.tcp import TcpNetwork

RULES = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


def leave(way: str) -> None:
    net = TcpNetwork(RULES, nodes=2)
    net.insert("link", ("a", "b"))
    print(*net.processes, flush=True)
    if way == "error":
        raise RuntimeError("the program's own error")
    if way == "wait":
        time.sleep(60)


if __name__ == "__main__":
    leave(sys.argv[1])
