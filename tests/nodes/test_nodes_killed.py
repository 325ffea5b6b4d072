"""Nothing is lost and nothing is twice: a worker, an executor and the driver are really killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path(__file__).parent / "nodes_killed.py"
PATH = [Path(__file__).parents[2] / "src", Path(__file__).parents[1]]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATH))}


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *args],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def test_a_worker_is_killed_one_is_stopped_and_an_executor_is_killed_in_the_middle_of_a_stream():
    done = run("nodes")
    assert done.returncode == 0, done.stdout + done.stderr
    times = [float(seconds) for seconds in re.findall(r"recovered in ([\d.]+) s", done.stdout)]
    assert len(times) == 3, done.stdout
    assert "40 versions" in done.stdout
    assert "no sign of life" in done.stderr and "not all nodes have come" not in done.stderr
    assert "waiting for all nodes" in done.stderr and "nodes are back after" in done.stderr


def test_the_driver_is_killed_in_the_middle_of_a_stream(tmp_path: Path):
    state = str(tmp_path / "state")
    said = ""
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), "driver", state],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            said = line
            if line.startswith("done 20"):
                os.kill(process.pid, signal.SIGKILL)
                break
        process.wait(timeout=60)
    assert said.startswith("done 20"), said
    deadline = time.monotonic() + 60
    while (again := run("driver", state)).returncode != 0 and time.monotonic() < deadline:
        assert "locked" in again.stderr, again.stderr  # the dead driver's lock is free as soon as it is gone
    opened = int(re.findall(r"open at (\d+)", again.stdout)[0])
    assert opened >= 20 and "all done" in again.stdout
    checked = run("check", state)
    assert checked.returncode == 0 and "the same" in checked.stdout, checked.stderr
