"""The benchmark of watched views runs and compares what is told of them. Nothing here asserts a time."""

import pytest
from click.testing import CliRunner

pytest.importorskip("duckdb")
pytest.importorskip("matplotlib")

from benchmarks import command  # noqa: E402
from benchmarks.rules.company import Company  # noqa: E402


@pytest.mark.parametrize("rows", [10_000, 1_000_000])
def test_a_company_has_as_many_rows_as_asked_for_and_everybody_a_boss_of_the_level_above(rows):
    company = Company.make(rows, 1)
    assert abs(company.rows - rows) <= 20
    reports = company.reports()
    depth = dict.fromkeys(company.levels[0], 0)
    for person, manager in reports.tolist():
        depth[person] = depth[manager] + 1
    assert sum(depth.values()) == company.rows


def test_the_command_compares_what_is_told_and_writes_files(tmp_path):
    result = CliRunner().invoke(command, ["rules", "--quick", "--repeat", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "answers compared and equal" in " ".join(result.output.split())
    assert {path.name for path in tmp_path.iterdir()} == {"rules.json", "rules.md", "rules.svg"}
