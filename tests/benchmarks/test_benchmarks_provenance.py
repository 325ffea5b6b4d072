"""The benchmark of provenance runs, compares every view and reports every figure. Nothing here asserts a time."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("matplotlib")
pytest.importorskip("duckdb")  # `benchmarks` as a whole needs it

from benchmarks import command  # noqa: E402
from benchmarks.provenance.schemes import compare  # noqa: E402
from headwater.errors import DataError  # noqa: E402

pytestmark = pytest.mark.xdist_group("benchmarks_provenance")  # one run of the benchmark for all tests

ON_NODES = {"dred", "relative eager", "relative lazy", "absorption eager", "absorption lazy", "ranked"}
FIGURES = range(7, 15)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    options = ["provenance", "--quick", "--seeds", "1", "--resume", str(folder / "runs")]
    result = CliRunner().invoke(command, [*options, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return result.stdout, folder, json.loads((folder / "provenance.json").read_text())


def figure_of(data, number: int) -> dict:
    (found,) = [figure for figure in data["figures"] if figure["number"] == number]
    return found


def test_every_figure_is_there_with_its_picture(quick):
    _, folder, data = quick
    assert [figure["number"] for figure in data["figures"]] == list(FIGURES)
    page = (folder / "provenance.md").read_text()
    for number in FIGURES:
        assert (folder / f"provenance-{number}.svg").read_text().count("</svg>") == 1
        assert f"## Figure {number}:" in page
        assert f"provenance-{number}.svg" in page
    assert "## Links that flap" in page


@pytest.mark.parametrize("number", [7, 9])
def test_all_schemes_are_compared(quick, number):
    by_subnetwork = {"absorption eager, by sub-network"} if number == 7 else set()
    assert {point["scheme"] for point in figure_of(quick[2], number)["points"]} == ON_NODES | by_subnetwork


def test_every_point_has_its_metrics_or_was_given_up(quick):
    _, _, data = quick
    points = [point for figure in data["figures"] for point in figure["points"]]
    measures = [(point, measure) for point in points for measure in point["measures"]]
    for point, measure in measures:
        assert point["given_up"] is None
        assert measure["rows"] > 0 and measure["state"] > 0
        assert (measure["messages"] == 0) == (measure["bytes"] == 0) == (measure["converged"] == 0)
        if point["nodes"] == 1:
            assert measure["messages"] == 0
        assert (measure["provenance"] > 0) == (point["scheme"] != "dred")
    assert data["compared"] == len(measures) + len(data["flaps"]["samples"])


def ends(data, number: int, metric: str) -> dict:
    """The last value of each scheme."""
    points = [point for point in figure_of(data, number)["points"] if point["measures"]]
    last = max(point["x"] for point in points)
    return {point["scheme"]: point["measures"][0][metric] for point in points if point["x"] == last}


def test_lazy_absorption_ships_far_less_than_dred_on_deletions(quick):
    """Messages are the same on every machine, so that this may be asserted."""
    stdout, _, data = quick
    messages = ends(data, 8, "messages")
    assert messages["dred"] > 20 * messages["absorption lazy"]
    assert "lazy absorption beside dred on deletions: messages" in stdout


def test_insertions_cost_as_many_messages_as_no_provenance(quick):
    messages = ends(quick[2], 7, "messages")
    assert messages["absorption lazy"] == messages["relative lazy"] == messages["ranked"] == messages["dred"]


def test_nothing_grows_with_the_flaps_of_a_link(quick):
    samples = quick[2]["flaps"]["samples"]
    assert samples[-1]["variables"] <= 2 * samples[0]["variables"]
    assert samples[-1]["state"] <= 2 * samples[0]["state"]


def test_a_run_goes_on_from_what_is_there(quick):
    """Nothing is measured again; what is not there is made, and nothing else."""
    _, folder, data = quick
    runs = folder / "runs"
    made = {path: path.stat().st_mtime_ns for path in runs.iterdir()}
    options = ["provenance", "--quick", "--seeds", "1", "--resume", str(runs)]
    found = CliRunner().invoke(command, [*options, "--found-only", "--out", str(folder / "again")])
    assert found.exit_code == 0, found.output
    again = json.loads((folder / "again" / "provenance.json").read_text())
    assert {key: again[key] for key in ("figures", "flaps", "compared", "aims")} == {
        key: data[key] for key in ("figures", "flaps", "compared", "aims")
    }
    (gone,) = runs.glob("quick-9-ranked*")
    gone.unlink()
    assert CliRunner().invoke(command, [*options, "--only", "9", "--scheme", "dred"]).exit_code == 0
    assert not gone.exists()
    assert CliRunner().invoke(command, [*options, "--only", "9"]).exit_code == 0
    assert gone.exists()
    assert {path: path.stat().st_mtime_ns for path in runs.iterdir() if path != gone} == {
        path: when for path, when in made.items() if path != gone
    }


def test_a_folder_is_needed_to_find_runs():
    result = CliRunner().invoke(command, ["provenance", "--found-only"])
    assert result.exit_code == 2 and "--resume" in result.output


def test_a_wrong_view_ends_the_run():
    with pytest.raises(DataError) as caught:
        compare("lazy", "figure 7", [(1, 2)], [(1, 2), (2, 3)])
    assert caught.value.code == "wrong-answer"
    assert "0 rows too many and 1 missing" in caught.value.message
