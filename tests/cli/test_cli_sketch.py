"""`headwater sketch`, from naming a table to forgetting a query."""

from __future__ import annotations

import duckdb
import pytest
from click.testing import CliRunner

from headwater.cli import main

QUERY = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 300"


@pytest.fixture
def run(tmp_path):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i // 10 AS g, i AS v FROM range(60) AS r(i)")

    def invoke(*arguments: str, fails: bool = False):
        found = CliRunner().invoke(main, ["sketch", arguments[0], str(tmp_path / "state"), *arguments[1:]])
        assert (found.exit_code != 0) == fails, found.output
        return found.output

    invoke("table", "t", "--database", f"duckdb:///{tmp_path / 't.db'}", "--partition", "v", "--ranges", "6")
    return invoke


def test_a_query_from_a_shell(run):
    rows = ["4\t445", "5\t545"]
    for way in ("plain", "capture"):
        said = run("sql", QUERY)
        assert f"{way}:" in said
        assert sorted(line for line in said.splitlines() if line in rows) == rows
    assert "use:" in run("sql", QUERY, "--way", "use")
    listed = run("list")
    assert "t.v: 3 of 7 fragments (t at 0; 1 versions)" in listed
    assert "safe: the answer over every sketch on t.v" in run("explain", QUERY)
    assert "t.v: safe" in run("advise", QUERY)
    assert "maintain:" in run("maintain")
    run("drop", listed.split()[0])
    assert run("list") == ""


def test_mistakes_have_codes(run):
    assert "unknown-column" in run("sql", "SELECT y FROM t", fails=True)
    assert "unknown-sketch" in run("drop", "nothing", fails=True)
    assert "not-clustered" in run("cluster", "t", "v", fails=True)
    assert "no-sketch" in run("sql", QUERY, "--way", "use", fails=True)
