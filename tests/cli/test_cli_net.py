"""`headwater net`."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from headwater.cli import main


def headwater(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["net", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_a_program_of_the_library_is_checked():
    output = headwater("check", "shortest-path")
    assert output.count("holds") == 4 and "sp2a: link~at_1(Z, S, C1) :- link(S, Z, C1)." in output


def test_a_breach_is_told_with_its_place(tmp_path: Path):
    program = tmp_path / "p.ndlog"
    program.write_text("p(@S, @D) :- #link(@S, @D), q(@D, S).\n")
    output = headwater("check", str(program), code=1)
    assert "address-type: 1 breaches" in output and "p.ndlog:1" in output and "write @S" in output


def test_a_run_with_failures(tmp_path: Path):
    picture, trace = tmp_path / "bytes.svg", tmp_path / "messages.txt"
    output = headwater(
        "run", "best-cost", "-t", "grid:3", "--fail", "10%", "--fail", "s1.1:s2.1", "--show", "nextHop",
        "--node", "s0.0", "--plot", str(picture), "--trace", str(trace),
    )  # fmt: skip
    assert "9 nodes, 12 links" in output and "2 links fail" in output
    assert "nextHop(s0.0, s2.2, " in output and "nextHop(s0.1" not in output
    assert picture.read_text().startswith("<?xml") and "s -> " not in output
    assert trace.read_text().splitlines()[0].startswith("0.000 s  s0.0 -> ")


def test_what_is_not_there_is_told():
    assert "nor a program of this name" in headwater("run", "nothing", code=1)
    assert "did you mean topozoo/Abilene" in headwater(
        "run", "reachable", "-t", "topohub:topozoo/Abilne", code=1
    )
    assert "--fail" in headwater("run", "reachable", "-t", "grid:2", "--fail", "some", code=2)
