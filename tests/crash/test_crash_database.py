"""A killed writer loses nothing that was acknowledged, and leaves nothing half done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headwater

SCRIPT = Path(__file__).with_name("crash_database.py")


@pytest.mark.parametrize("seed", [1, 2])
def test_thirty_kills_at_random_moments(seed: int):
    """In a process of its own, which forks the children that are killed."""
    source = str(Path(headwater.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "-n", "30", "--seed", str(seed)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("30 kills, ")
