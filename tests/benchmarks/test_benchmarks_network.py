"""The benchmark of networks runs, and compares every path with Dijkstra's. Nothing here asserts a time."""

import pytest
from click.testing import CliRunner

pytest.importorskip("matplotlib")

from benchmarks import command  # noqa: E402


def test_the_command_measures_every_figure_and_writes_files(tmp_path):
    result = CliRunner().invoke(
        command, ["network", "--quick", "--nodes", "8", "--out", str(tmp_path)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.iterdir()} == {"network.json", "network.md", "network.svg"}
    assert "saved by sharing | 34 %" in result.output and "| 170 |" in result.output
    assert result.output.count("saved by periodic selections") == 4 and "How cost grows" in result.output
