"""The demo runs from beginning to end, and what it finds is right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def test_the_demo_runs_and_draws_a_picture(tmp_path: Path):
    picture = tmp_path / "demo.svg"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        [sys.executable, "-m", "headwater.demo", "--picture", str(picture)],
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "10,000 rows of reach, 10,000 rows of cheapest" in done.stdout
    assert "Read by Spark from the file: 400 rows" in " ".join(done.stdout.split())
    assert "reach: yes, 10,000 rows; cheapest: yes, 10,000 rows" in " ".join(done.stdout.split())
    assert "131,634 rows compared" in " ".join(done.stdout.split())
    found = re.search(
        r"100 nodes found, a link looked at (\d+) times; with another network in the same tables (\d+) times\."
        r" The same nodes as in the stored view: yes",
        " ".join(done.stdout.split()),
    )
    assert found is not None and found[1] == found[2]
    assert "360 costs of 400 links are known" in " ".join(done.stdout.split())
    assert "4,183 rows of reach go (as in the stored view: yes), and 25 nodes get a ticket" in " ".join(
        done.stdout.split()
    )
    assert "is refused: t0a0 must reach t1a0" in " ".join(done.stdout.split())
    words = " ".join(done.stdout.split())
    assert "200,050 measurements lie in DuckDB" in words
    assert "the sketch follows 50 new rows" in words
    assert "As without a sketch: yes" in words
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    drawn = [element.text for element in ElementTree.parse(picture).iter() if element.text]
    assert "t0a0 to t1a0: 76 ms, now 126 ms" in drawn


def test_the_picture_in_the_readme_is_one_of_these():
    words = [element.text for element in ElementTree.parse(ROOT / "docs" / "demo.svg").iter() if element.text]
    assert "t0a0 to t1a0: 76 ms, now 126 ms" in words
