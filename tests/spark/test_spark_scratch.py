"""Scratch folders go with their process; those of a killed one go when the next is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import headwater

PROGRAM = """
import os, signal, sys
from headwater.spark.scratch import scratch_folder
folder = scratch_folder("test")
(folder / "file").touch()
print(folder, flush=True)
if sys.argv[1:] == ["killed"]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left(tmp_path: Path, *words: str) -> list[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(headwater.__path__[0]).parent),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == (-signal.SIGKILL if words else 0), done.stderr
    assert Path(done.stdout.strip()).parent == tmp_path
    return sorted(path.name for path in tmp_path.iterdir())


def test_a_folder_is_gone_with_its_process_or_with_the_next(tmp_path):
    (tmp_path / f"headwater-{os.getpid()}-test-ours").mkdir()
    (tmp_path / "headwater-notes").mkdir()
    others = [f"headwater-{os.getpid()}-test-ours", "headwater-notes"]
    assert left(tmp_path) == others
    assert len(left(tmp_path, "killed")) == 3
    assert left(tmp_path) == others
