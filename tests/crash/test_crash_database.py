"""A killed writer loses nothing that was acknowledged, leaves nothing half done, and does nothing twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headwater


def kill(script: str, kills: int, seed: int) -> str:
    """What a process says that forks children and kills them."""
    source = str(Path(headwater.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(script)), "-n", str(kills), "--seed", str(seed)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("seed", [1])  # tests/deep.py kills more of them, with other seeds
def test_thirty_kills_at_random_moments(seed: int):
    assert kill("crash_database.py", 30, seed).startswith("30 kills, ")


def test_kills_while_watches_are_told():
    assert kill("crash_watches.py", 10, 5).startswith("10 kills, ")
