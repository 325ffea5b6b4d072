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


def test_what_if_tells_routes_before_and_after():
    output = headwater("run", "best-cost", "-t", "grid:1x4", "--what-if", "s0.1:s0.2")
    assert "If s0.1:s0.2 failed" in output and "bestCost: 8 rows gone, 0 come" in output
    assert "(s0.0, s0.2, 4) -> nothing" in output and "(s0.1, s0.1, 4) -> " not in output


def test_a_live_view_ends_with_what_a_run_says():
    plain = headwater("run", "best-cost", "-t", "grid:3", "--fail", "s1.1:s2.1")
    assert headwater("run", "best-cost", "-t", "grid:3", "--fail", "s1.1:s2.1", "--live") == plain
    assert "not quiet yet" in headwater("run", "reachable", "-t", "grid:3", "--until", "0.003")


def test_a_network_of_processes():
    output = headwater(
        "run", "best-cost", "-t", "grid:2", "--transport", "tcp", "--processes", "2", "--fail", "s0.0:s0.1"
    )
    assert "4 nodes, 4 links" in output and "bestCost" in output


def test_a_trace_is_replayed(tmp_path: Path):
    trace = tmp_path / "run.trace"
    told = headwater(
        "trace", "best-cost", "-t", "grid:3", "--metric", "random", "--fail", "10%", "--out", str(trace)
    )
    assert "messages of 9 nodes, 12 links" in told
    assert headwater("trace", "--replay", str(trace)).startswith("the same ")
    lines = trace.read_text().splitlines()
    trace.write_text("\n".join(lines).replace("s1.1", "s1.2", 1) + "\n")
    assert "damaged-trace" in headwater("trace", "--replay", str(trace), code=1)
    trace.write_text("\n".join(lines[:-1]) + "\n")
    assert "unfinished" in headwater("trace", "--replay", str(trace), code=1)
    assert "missing-file" in headwater("trace", "--replay", str(tmp_path / "none"), code=1)
    headwater("trace", "--replay", str(trace), "--out", "x", code=2)
    headwater("trace", "reachable", code=2)
    assert "cannot-write" in headwater(
        "trace", "reachable", "-t", "grid:2", "--out", str(tmp_path / "none" / "x"), code=1
    )


def test_optimisations_are_options():
    plain = headwater("run", "shortest-path", "-t", "grid:3", "--metric", "random")
    shared = headwater(
        "run", "shortest-path", "-t", "grid:3", "--metric", "random", "--sharing-delay", "0.1",
        "--selection-period", "0.05", "--show", "shortestPath",
    )  # fmt: skip
    assert "shortestPath(s0.0, s0.1, [s0.0, " in shared and "shortestPath" in plain
    goal = headwater("run", "shortest-path", "-t", "grid:3", "--goal", "shortestPath('s0.0', 's2.2', P, C)")
    assert "shortestPath" in goal and "spCost" not in goal
    assert "ask path^bbfff" in headwater("check", "shortest-path", "--goal", "shortestPath('a', 'b', P, C)")
    assert "aggregate selection" not in headwater("check", "shortest-path", "--no-aggregate-selections")


def test_paths_are_searched():
    output = headwater("search", "s0.0:s2.2", "s0.1:s2.2", "-t", "grid:3", "--caching", "--zone-radius", "1")
    assert "zones: " in output and output.count("s2.2 ") >= 2 and " 4 " in output
    assert "no pair" in headwater("search", "a", code=2)
    assert "no-such-node" in headwater("search", "a:b", "-t", "grid:2", code=1)


def test_paths_are_searched_again_after_links_have_failed():
    """What was cached leads over the link that fails: it is not told as an answer."""
    output = headwater("search", "s0.0:s0.2", "-t", "grid:3", "--caching", "--fail", "s0.1:s0.2")
    before, after = output.split("s0.1:s0.2 down: ")
    assert "s0.0 s0.1 s0.2" in before and "s0.0 s0.1 s0.2" not in after
    assert after.count("s0.0") == 2 and "    4 " in after
