"""`--on-null` and `--nan`: rows of files without a value where the relation needs one."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from cli_folder import Folder
from pyarrow import parquet

PROGRAM = "m(k: string, v: float).\nbig(K) :- m(K, V), V > 1.0.\n"


@pytest.fixture
def measured(folder: Folder) -> Folder:
    folder.write("p.dl", PROGRAM)
    table = pa.table({"v": [2.0, None, float("nan"), 3.0], "k": ["a", "b", "c", None]})
    Path("facts").mkdir()
    parquet.write_table(table, "facts/m.parquet")
    return folder


def lines(path: str) -> list[tuple[int, int, str]]:
    found = map(json.loads, Path(path).read_text().splitlines())
    return [(line["version"], line["row"], line["column"]) for line in found]


def test_a_missing_value_is_refused_with_its_row(measured: Folder) -> None:
    error = measured.refused("run", "p.dl", "-F", "facts", "-s", "state")
    assert "error[null-value]: facts/m.parquet, row 2, column v: there is no value, in m('b', null)" in error
    assert "--on-null drop" in error and not Path("state").exists()


def test_rows_are_left_out_or_put_aside(measured: Folder) -> None:
    done = measured.run("run", "p.dl", "-F", "facts", "--on-null", "drop")
    assert done.exit_code == 0 and "2 rows of facts/m.parquet left out: a value is missing" in done.stderr
    for _ in range(2):
        done = measured.run(
            "run", "p.dl", "-F", "facts", "-D", "out", "--on-null", "aside.jsonl", "--nan", "null"
        )
        assert "3 rows of facts/m.parquet left out: a value is missing; see aside.jsonl" in done.stderr
        assert lines("aside.jsonl") == [(1, 2, "v"), (1, 3, "v"), (1, 4, "k")]
    assert measured.read("out/big.csv") == "a\n"


def test_changes_are_looked_at_too(measured: Folder) -> None:
    measured.done("define", "-s", "state", "p.dl")
    assert "error[null-value]" in measured.refused("apply", "-s", "state", "--insert", "m=facts/m.parquet")
    assert "error[null-value]" in measured.refused("what-if", "-s", "state", "--insert", "m=facts/m.parquet")
    measured.done("apply", "-s", "state", "--insert", "m=facts/m.parquet", "--on-null", "aside.jsonl")
    assert lines("aside.jsonl") == [(2, 2, "v"), (2, 4, "k")]
    feed = {"k": ["a", None, "d"], "v": [2.0, 1.0, 5.0], "_change_type": ["delete", "insert", "insert"]}
    Path("changes").mkdir()
    parquet.write_table(pa.table(feed), "changes/m.parquet")
    measured.done("apply", "-s", "state", "changes", "--on-null", "aside.jsonl")
    assert lines("aside.jsonl")[2:] == [(3, 2, "k")]
    assert measured.done("show", "-s", "state", "big", "--format", "csv") == "K\nc\nd\n"


def test_a_way_that_does_not_exist_is_refused_before_anything_is_read(measured: Folder) -> None:
    assert "did you mean drop?" in measured.refused("run", "p.dl", "-F", "facts", "--on-null", "dorp")
    error = measured.refused("run", "p.dl", "-F", "facts", "--on-null", "facts/m.parquet")
    assert "error[overwrite]" in error


def test_a_column_takes_missing_values_from_now_on(measured: Folder) -> None:
    Path("facts/m.parquet").unlink()
    measured.write("facts/m.json", '[{"k": "a", "v": 2.0}]')
    run = ("run", "p.dl", "-F", "facts", "-s", "state", "-D", "out")
    measured.done(*run)
    measured.write("facts/m.json", '[{"k": "a", "v": 2.0}, {"k": "b", "v": null}]')
    assert "error[null-value]" in measured.refused(*run)
    measured.done(*run, "--on-null", "keep")
    measured.write("facts/m.json", '[{"k": "a", "v": 2.0}, {"k": "b", "v": null}, {"k": "c", "v": null}]')
    measured.done(*run)
    assert "error[null-value]" in measured.refused("apply", "-s", "state", "--insert", "m(null, 1.0)")
    measured.done("apply", "-s", "state", "--insert", "m(null, 9.0)", "--on-null", "keep")
    shown = json.loads(measured.done("show", "-s", "state", "big", "--format", "json"))
    assert sorted(str(row["K"]) for row in shown) == ["None", "a"]
    measured.done("run", "p.dl", "-F", "facts", "-D", "fresh", "--on-null", "keep")


def test_labelled_nulls_come_and_go_by_command(folder: Folder) -> None:
    folder.write("p.dl", "r(a: string, b: int?). v(X, Y) :- r(X, Y).")
    folder.done("define", "-s", "state", "p.dl")
    folder.done("apply", "-s", "state", "--insert", "r(x, ?f(1)). r(y, 2). r(z, null)")
    assert "?f(1)" in folder.done("show", "-s", "state", "v")
    assert "?f(1)" in folder.done("why", "-s", "state", "v(x, ?f(1))")
    folder.done("apply", "-s", "state", "--delete", "r(x, ?f(1))", "--insert", "r(w, 3)")
    assert "?f(1)" not in folder.done("show", "-s", "state", "v")
    assert "null-value" in folder.refused("apply", "-s", "state", "--insert", "r(?f(1), 2)")


def test_values_of_every_kind_are_shown(folder: Folder) -> None:
    folder.write(
        "p.dl",
        """
        r(a: {n: string, d: date}, b: map[string, int], c: interval_months, d: timestamp_ntz_ns, e: decimal(12,2)).
        r({n: "ann", d: 2024-01-31}, map("k", 1), interval_months("P1Y2M"),
          timestamp_ntz("2024-01-31T10:00:00.123456789"), decimal("12.50")).
        """,
    )
    folder.done("define", "-s", "state", "p.dl")
    for ask in (["show", "-s", "state", "r"], ["query", "-s", "state", "r(A, B, C, D, E)"]):
        shown = folder.done(*ask)
        for part in ("ann", "2024-01-31", "P1Y2M", "10:00:00.123456789", "12.50"):
            assert part in shown, shown
