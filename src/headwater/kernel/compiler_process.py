"""The process that compiles ahead (see `ahead`, which starts it).

It is the first to go when memory runs out, the last to be given a core, and it does not go on for ever.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from headwater.kernel.ahead import Task
from headwater.kernel.compiled import kernels_of, load

LOWEST_PRIORITY = 19
MOST_SECONDS = 300
"""How many seconds of a core's time it may take: some twenty times what all functions need."""


def work(tasks: Iterable[Task]) -> None:
    """Compile what is not kept, function by function. What the package as it is now does not have is left out."""
    os.nice(LOWEST_PRIORITY)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    for module, digest, width in tasks:
        importlib.import_module(module)
        load([kernel for kernel in kernels_of(module) if kernel.digest(width) == digest], [width])
