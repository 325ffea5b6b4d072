"""The benchmark runs, compares every answer and reports every row. Nothing here asserts a time."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("duckdb")
pytest.importorskip("matplotlib")
pytest.importorskip("nmo_python")

from benchmarks import PARTS, BenchmarkOptions, Measure, ReportRow, Target, command  # noqa: E402
from benchmarks.answers import WrongAnswer, compare  # noqa: E402
from benchmarks.pathway_rival import installed  # noqa: E402

pytestmark = pytest.mark.xdist_group("benchmarks_engine")  # one run of the benchmark for all tests

SIZES = ("1 edge", "30 edges", "all 300 edges")
LINK_CHANGES = ("cost up", "cost down", "delete 1 link", "insert 1 link")
DUCKDB, PATHWAY, BARE, ALONE = "DuckDB recompute", "Pathway", "the bare values", "a tenth of the data"
FLAT = ("10 copies of the graph", "unrelated edges", "180,000 orders of other shops")
EXPECTED = {
    "closure": {("load", DUCKDB), ("load, one thread each", DUCKDB)}
    | {(f"{change} 1 edge{by}", DUCKDB) for change in ("delete", "insert") for by in ("", ", means")},
    "batches": {(f"{change} {size}", DUCKDB) for change in ("delete", "insert") for size in SIZES}
    | {
        (f"{change} {size}, read counts", "the apply alone")
        for change in ("delete", "insert")
        for size in SIZES
    },
    "dred": {
        (what, "delete and rederive") for what in ("delete 1 edge", "delete 1 edge, means", "insert 1 edge")
    }
    | {
        (f"delete {size} edges of one of 10 graphs", rival)
        for size in (10, 30, 100, 400)
        for rival in ("the part derived anew", "all derived anew")
    },
    "revival": {
        (f"{graph}: delete {size}, back early by {what}, means", "back after going down")
        for graph in ("sparse", "medium", "dense")
        for size in (1, 10, 100)
        for what in ("rows of its own rank", "any rows")
    },
    "paths": {(change + costs, DUCKDB) for change in LINK_CHANGES for costs in ("", ", float costs")},
    "groups": {("change 10 rows", DUCKDB), ("change 1,000 rows", DUCKDB)},
    "goals": {
        ("ask what one node reaches", DUCKDB),
        ("ask what one node reaches, by hand", "DuckDB, started from the node"),
        ("links looked at", "the links of what it reaches"),
    },
    "memory": {("allocated for a row", BARE), ("resident memory for a row", BARE)},
    "flat": {(f"{what}: {of}", ALONE) for what in FLAT for of in ("time", "rows touched", "first change")}
    | {
        (f"100 copies of a smaller graph: {of}", "a hundredth of the data")
        for of in ("time", "rows touched", "first change")
    },
    "small": {(f"{change} 1 row under ten rules", "half a millisecond") for change in ("delete", "insert")},
}
EXPECTED["start"] = {
    ("first load, nothing compiled", "5 s of a core"),
    ("first change, nothing compiled", "with compiled code"),
    ("a few rows, nothing compiled", "with compiled code"),
    ("headwater show", "0.5 s of a core"),
    ("headwater query", "0.5 s of a core"),
    ("headwater why", "0.7 s of a core"),
}
NEMO = "Nemo, from scratch"
ORDINARY = (
    "same generation",
    "strings of 10 to 80 characters",
    "skewed keys",
    *(f"rows of {n} columns" for n in (2, 10, 40)),
)
EXPECTED["workloads"] = {
    (f"{name}: {what}", rival)
    for rival, names in ((NEMO, ("ontology", "points-to", "shared text")), (DUCKDB, ORDINARY))
    for name in names
    for what in ("load", "delete 1", "insert 1", "delete 1, the worst")
} | {
    ("same generation: load, one thread each", DUCKDB),
    ("ontology: resident memory", NEMO),
    ("ontology: most memory while loading", NEMO),
}
WITH_PATHWAY = {
    "closure": {(f"{change} 1 edge, smaller graph", PATHWAY) for change in ("delete", "insert")},
    "paths": {(change, PATHWAY) for change in LINK_CHANGES},
    "groups": {
        (f"change {n} rows{how}", PATHWAY) for n in ("10", "1,000") for how in ("", ", sending them counted")
    },
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    result = CliRunner().invoke(command, ["engine", "--quick", "--repeat", "1", "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return result.stdout, folder, json.loads((folder / "results.json").read_text())


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_its_rows_and_compared_its_answers(quick, part):
    _, _, data = quick
    found = {(row["what"], row["rival"]) for row in data["rows"] if row["part"] == part}
    found = {("unrelated edges: " + w.split(": ")[1], r) if "unrelated" in w else (w, r) for w, r in found}
    assert found == EXPECTED[part] | (WITH_PATHWAY.get(part, set()) if installed() else set())
    rivals = {check["against"] for check in data["checks"] if check["part"] == part}
    assert ("a search" if part == "revival" else DUCKDB) in rivals
    if part in WITH_PATHWAY and installed():
        assert PATHWAY in rivals


def test_every_row_was_measured(quick):
    _, _, data = quick
    for row in data["rows"]:
        assert row["ours"]["values"] and row["theirs"]["values"], row["what"]
        assert row["met"] in ((True, False) if row["target"] else (None,))


def test_the_machine_and_the_versions_are_on_record(quick):
    _, _, data = quick
    assert data["machine"]["cores"] >= 1 and data["machine"]["cpu"]
    assert {"headwater", "python", "numpy", "numba", "duckdb", "pathway"} <= data["versions"].keys()
    assert data["options"]["quick"] is True and data["started"]
    if not installed():
        assert any("Pathway" in note for note in data["notes"])


def test_the_report_is_shown_and_written(quick):
    shown, folder, data = quick
    page = (folder / "results.md").read_text()
    for row in data["rows"]:
        assert row["what"] in page
    assert "targets met" in shown and "answers compared and equal" in " ".join(shown.split())
    for name in ("batches.svg", "ratios.svg"):
        assert (folder / name).read_text().startswith("<?xml") and f"]({name})" in page


def test_the_page_ends_with_where_another_system_is_ahead_the_worst_first(quick):
    _, folder, data = quick
    last = (folder / "results.md").read_text().rpartition("## ")[2].splitlines()
    assert last[0] == "Where it loses, the worst first"
    told = [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in last[4:]]
    behind = []
    for row in data["rows"]:
        if not row["rival"].startswith(("DuckDB", "Nemo", "Pathway")):
            continue
        by = [row["ours"][how] / row["theirs"][how] for how in ("median", "mean")]
        if max(by) > 1:
            behind.append((max(by), row["part"], row["what"]))
    assert told == [(part, what) for _, part, what in sorted(behind, key=lambda found: -found[0])]
    assert len(told) > 0  # small sizes, for which nobody would need it


def test_wrong_answers_are_refused():
    ours = [np.array([1, 2]), np.array([3, 4])]
    assert compare(ours, [np.array([2, 1]), np.array([4, 3])], "a test", "another") == 2
    with pytest.raises(WrongAnswer, match="1 are only ours and 1 only theirs"):
        compare(ours, [np.array([1, 2]), np.array([3, 5])], "a test", "another")


def test_a_missed_target_says_so():
    row = ReportRow(
        "closure", "load", "other", Measure((3.0,)), Measure((1.0,)), "longer", Target("at most", 2)
    )
    assert row.figure == 3 and row.met is False


def test_unknown_parts_are_refused():
    with pytest.raises(ValueError, match="no part speed"):
        BenchmarkOptions(only=("speed",))
    assert CliRunner().invoke(command, ["engine", "--only", "speed"]).exit_code == 2
