"""A program of its own that starts a network of processes and leaves without closing it. Called by the tests.

python networks_leaving.py end | error | wait
"""

from __future__ import annotations

import sys
import time

from headwater.networks.transports.tcp import TcpNetwork

net = TcpNetwork("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).", nodes=2)
net.insert("link", ("a", "b"))
print(*net.processes, flush=True)
if sys.argv[1] == "error":
    raise RuntimeError("the program's own error")
if sys.argv[1] == "wait":
    time.sleep(60)
