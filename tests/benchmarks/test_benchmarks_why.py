"""The benchmark of explanations runs and checks every proof. Nothing here asserts a time."""

import pytest
from click.testing import CliRunner

pytest.importorskip("networkx")

from benchmarks import BenchmarkOptions, command  # noqa: E402
from benchmarks.why import PATHS, run  # noqa: E402


def test_every_question_is_asked_and_every_proof_checked():
    report = run(BenchmarkOptions(quick=True, repeat=1))
    assert [row.what.split(":")[0] for row in report.rows] == [
        "why", "the same as text, with 5 minimal explanations", "why not", "what if 1 edge were deleted",
    ]  # fmt: skip
    assert len(report.checks) == 5 and {check.against for check in report.checks} == {PATHS}
    assert all(len(row.ours.values) == len(row.theirs.values) == 4 for row in report.rows)


def test_the_command():
    result = CliRunner().invoke(command, ["why", "--quick", "--repeat", "1"])
    assert result.exit_code == 0, result.output
    assert "script/bench why" in result.output and "answers compared and equal" in " ".join(
        result.output.split()
    )
