"""A peer on nodes of a real Spark: nothing is lost with a node, and nothing is there twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PATH = [FOLDER.parents[1] / "src", FOLDER.parent, FOLDER]


def finished(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / program)], cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATH))},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_peers_whose_relations_are_tables_of_spark(tmp_path: Path):
    done = finished("exchange_in_spark_tables.py", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("rows the same in Spark's tables\n")


def test_a_node_is_killed_between_exchanges(tmp_path: Path):
    done = finished("exchange_on_spark.py", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "249 rows the same, one node lost\n"
    assert "nodes are back after" in done.stderr
