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

ON_NODES = {"dred", "relative lazy", "absorption eager", "absorption lazy"}
FIGURES = range(7, 15)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    result = CliRunner().invoke(command, ["provenance", "--quick", "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return result.stdout, folder, json.loads((folder / "provenance.json").read_text())


def test_every_figure_is_there_with_its_picture(quick):
    _, folder, data = quick
    assert [figure["number"] for figure in data["figures"]] == list(FIGURES)
    page = (folder / "provenance.md").read_text()
    for number in FIGURES:
        assert (folder / f"provenance-{number}.svg").read_text().count("</svg>") == 1
        assert f"## Figure {number}:" in page
        assert f"provenance-{number}.svg" in page


@pytest.mark.parametrize("number", [7, 9])
def test_all_schemes_are_compared(quick, number):
    _, _, data = quick
    (figure,) = [figure for figure in data["figures"] if figure["number"] == number]
    assert {point["scheme"] for point in figure["points"]} == ON_NODES | {"ranked support"}


def test_every_point_has_its_metrics_or_was_given_up(quick):
    _, _, data = quick
    points = [point for figure in data["figures"] for point in figure["points"]]
    for point in points:
        if point["given_up"]:
            continue
        assert point["rows"] > 0 and point["state"] > 0 and point["seconds"] > 0
        assert (point["messages"] == 0) == (point["bytes"] == 0)
        if point["scheme"] == "ranked support" or point["nodes"] == 1:
            assert point["messages"] == 0
        if point["scheme"].startswith(("absorption", "relative")):
            assert point["provenance"] > 0
    assert data["compared"] == sum(not point["given_up"] for point in points)


def test_lazy_absorption_ships_far_less_than_dred_on_deletions(quick):
    """Messages are the same on every machine, so that this may be asserted: 41 times here, 130 in full size."""
    stdout, _, data = quick
    assert data["saved"] > 20
    assert "times fewer messages than dred" in stdout


def test_insertions_cost_lazy_absorption_as_many_messages_as_no_provenance(quick):
    _, _, data = quick
    (figure,) = [figure for figure in data["figures"] if figure["number"] == 7]
    ends = {point["scheme"]: point["messages"] for point in figure["points"] if point["x"] == 1}
    assert ends["absorption lazy"] == ends["relative lazy"] == ends["dred"]


def test_a_wrong_view_ends_the_run():
    with pytest.raises(DataError) as caught:
        compare("lazy", "figure 7", [(1, 2)], [(1, 2), (2, 3)])
    assert caught.value.code == "wrong-answer"
    assert "0 rows too many and 1 missing" in caught.value.message
