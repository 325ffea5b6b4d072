"""Nodes on a real Spark: the shared cases, random streams and graphs, in local mode and across processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from oracle_lockstep import THOROUGH

PROGRAM = Path(__file__).parent / "nodes_on_spark.py"
ROOT = Path(__file__).parents[2]
PATH = [ROOT / "src", ROOT / "tests", ROOT / "tests" / "oracle", ROOT / "tests" / "cases"]


CASES = (
    [("local[5]", 2), ("local-cluster[2,2,1024]", 4)]
    if THOROUGH
    else [("local[5]", 8), ("local-cluster[2,2,1024]", 16)]
)
"""Where, and each which case. On nodes that are threads all of them are run (`tests/cases`)."""


@pytest.mark.parametrize(("master", "every"), CASES)
def test_the_same_rows_on_two_and_on_four_nodes(master: str, every: int):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATH))}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), master, str(every), "2", "4"],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"(\d) nodes: (\d+) cases, (\d+) versions, 25 graphs, 6 rows", done.stdout)
    assert [number for number, _, _ in found] == ["2", "4"]
    assert all(int(cases) >= 40 // every and int(versions) > 10 for _, cases, versions in found), done.stdout


def test_provenance_on_asynchronous_nodes_some_of_which_are_killed():
    """A program that is none of the papers', on two and on four nodes; explanations are those of one process."""
    path = os.pathsep.join(map(str, [*PATH, ROOT / "tests" / "nodes"]))
    done = subprocess.run(
        [sys.executable, str(PROGRAM.parent / "nodes_asynchronous_on_spark.py"), "2", "4"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"recovered in", done.stdout)) == 4
    found = re.findall(r"(\d) nodes, (\S+): 12 versions the same, (\d+) explanations the same", done.stdout)
    assert [(nodes, strategy) for nodes, strategy, _ in found] == [
        ("2", "absorption"),
        ("4", "absorption-eager"),
    ]
