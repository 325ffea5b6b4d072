"""Ctrl-C ends a deep run, whose parts do not hear it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = """
import sys, deep
sys.argv = ["deep.py", "5"]
endless = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(300)"
deep.parts = lambda seed: iter([deep.Part("endless", "", (sys.executable, "-c", endless), deep.Counter())])
deep.main()
"""


def test_ctrl_c_ends_a_deep_run():
    run = subprocess.run(
        (sys.executable, "-c", RUN),
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode != 0 and run.stderr.rstrip().endswith("KeyboardInterrupt")
