"""For all tests: hypothesis, processes that compile ahead, and which tests are run by one worker.

hypothesis gives the same examples every time, unless more are asked for.

`HEADWATER_ORACLE_EXAMPLES=5000 pytest tests/oracle` tries as many for each test, other ones each time. So a run of
the suite fails for what was changed, and the deep run is the one that goes looking.

Files that name a group (`xdist_group`) are run by one worker of xdist: one Spark session, or one run of a benchmark,
serves them all. Groups are begun first, since nothing can be done beside their last test.
"""

from __future__ import annotations

import os
import re
import signal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HEADWATER_COMPILE_AHEAD", "0")  # hundreds of processes: those that are about it say so
# A shell has what it runs in the background ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "headwater",
    derandomize="HEADWATER_ORACLE_EXAMPLES" not in os.environ,
    print_blob=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("headwater")


@cache
def group_of(file: Path) -> str | None:
    """The group that a file of tests names."""
    found = (
        re.search(r'xdist_group\("(\w+)"\)', file.read_text(encoding="utf-8"))
        if file.suffix == ".py"
        else None
    )
    return None if found is None else found[1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """xdist's own scheduler writes groups into the names of tests, which pytest has not let it since 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(config.rootpath / nodeid.partition("::")[0]) or nodeid

    return ByGroup(config, log) if config.getvalue("dist") == "loadgroup" else None
