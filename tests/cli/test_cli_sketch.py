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
    assert "t.v: 3 of 7 fragments (t at 0; 1 version)" in listed
    assert "safe: the answer over every sketch on t.v" in run("explain", QUERY)
    assert "t.v: safe" in run("advise", QUERY)
    assert "maintain:" in run("maintain")
    run("drop", listed[:4])
    assert run("list") == ""


def test_mistakes_have_codes(run):
    assert "unknown-column" in run("sql", "SELECT y FROM t", fails=True)
    assert "unknown-sketch" in run("drop", "nothing", fails=True)
    assert "not-clustered" in run("cluster", "t", "v", fails=True)
    assert "no-sketch" in run("sql", QUERY, "--way", "use", fails=True)


def test_what_is_not_there_is_refused_before_spark_starts(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    for words, code in (
        (["list", "nowhere"], "missing-source"),
        (["table", "state", "t", "nowhere"], "missing-source"),
        (["table", "state", "t", str(tmp_path), "--format", "delta"], "missing-source"),
        (["table", "state", "t", "duckdb:///t.db"], "missing-source"),
        (["table", "state", "t", "--database", f"duckdb:///{tmp_path}/typo.db"], "missing-source"),
        (["table", str(tmp_path / "mine"), "t", "--database", "duckdb:///:memory:"], "not-a-state"),
    ):
        found = CliRunner().invoke(main, ["sketch", *words])
        assert found.exit_code != 0 and code in found.output, found.output
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert not (tmp_path / "typo.db").exists()
