"""What starting costs: a first load on a machine where nothing was compiled, a few rows, and commands that only look.

Each is measured in a process of its own, from its beginning: seconds of a core, imports included. What is compiled
ahead by another process meanwhile is in nobody's way, and is said apart.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.duel import Duel
from benchmarks.graphs import Edge, random_digraph
from benchmarks.reachability import PROGRAM, QUERY, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage

PART = "start"
COMPILED = "with compiled code"
FIRST_LOAD = 5.0
"""Seconds that a first load may take."""
COMMANDS = {"show": (0.5, "reach"), "query": (0.5, "reach(0, X)"), "why": (0.7, "link(0, 1)")}
"""Commands, the seconds that each may take, and what it is asked."""
FEW = 5
"""Links of a chain that is no reason to compile anything."""
PROCESS = """
import json, os, resource, sys, threading, time
import headwater
job = json.load(sys.stdin)
db = headwater.connect()
db.define(job["program"])
db.apply(insert={"link": [tuple(edge) for edge in job["edges"]]})
loaded = time.process_time()
db.apply(delete={"link": [tuple(job["edges"][0])]})
changed = time.process_time() - loaded
db.apply(insert={"link": [tuple(job["edges"][0])]})
if job["answer"]:
    import numpy as np
    np.save(job["answer"], np.column_stack([column.to_numpy() for column in db["reach"].arrow().columns]))
while any(each.name == "headwater compiles ahead" for each in threading.enumerate()):
    time.sleep(0.05)
ahead = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([loaded, changed, ahead.ru_utime + ahead.ru_stime]))
"""


@dataclass(frozen=True)
class FirstUse:
    """Seconds of a core: until the first load was done, of the first change, and of what was compiled ahead."""

    load: float
    change: float
    ahead: float


def measure(stage: Stage) -> list[ReportRow]:
    """FirstUse processes with and without compiled code, and run commands on a small state."""
    options = stage.options
    nodes, count = (200, 300) if options.quick else (2000, 3000)
    repeat = 1 if options.quick else min(3, options.repeat)
    edges, few = random_digraph(nodes, count, options.seed), [(i, i + 1) for i in range(FEW)]
    stage.begin(PART, 3 * repeat)
    cold: list[tuple[FirstUse, FirstUse]] = []
    warm: list[tuple[FirstUse, FirstUse]] = []
    commands: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            answer = place / "reach.npy"
            few_first = _started(few, place)  # it compiles nothing
            cold.append((_started(edges, place, answer), few_first))
            _compare(stage, edges, answer)
            stage.step("without compiled code")
            warm.append((_started(edges, place), _started(few, place)))
            stage.step("with it")
            _make_state(few, place)
            for name, (_, asked) in COMMANDS.items():
                commands[name].append(_seconds_of([name, "-s", str(place / "state"), asked], place))
            stage.step("commands")
    return _rows(cold, warm, commands)


def _rows(
    cold: Sequence[tuple[FirstUse, FirstUse]],
    warm: Sequence[tuple[FirstUse, FirstUse]],
    commands: dict[str, list[float]],
) -> list[ReportRow]:
    ahead = max(start.ahead for start, _ in cold)
    wanted = Duel(
        PART, "first load, nothing compiled", f"{FIRST_LOAD:g} s of a core", "longer", Target("at most", 1)
    )
    wanted.ours += [start.load for start, _ in cold]
    wanted.theirs.append(FIRST_LOAD)
    first = Duel(PART, "first change, nothing compiled", COMPILED, "longer")
    first.ours += [start.change for start, _ in cold]
    first.theirs += [start.change for start, _ in warm]
    small = Duel(PART, "a few rows, nothing compiled", COMPILED, "longer")
    small.ours += [start.load for _, start in cold]
    small.theirs += [start.load for _, start in warm]
    rows = [
        wanted.row(
            f"seconds of a core with all imports; another process took {ahead:.1f} s to compile ahead"
        ),
        first.row(),
        small.row("interpreted"),
    ]
    for name, seconds in commands.items():
        most, asked = COMMANDS[name]
        looked = Duel(PART, f"headwater {name}", f"{most:g} s of a core", "longer", Target("at most", 1))
        looked.ours += seconds
        looked.theirs.append(most)
        rows.append(looked.row(asked))
    return rows


def _started(edges: Sequence[Edge], cache: Path, answer: Path | None = None) -> FirstUse:
    """What it takes a new process to load some edges and to delete one."""
    job = {"program": PROGRAM, "edges": edges, "answer": None if answer is None else str(answer)}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS],
        env=_environment(cache),
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    return FirstUse(*json.loads(done.stdout))


def _compare(stage: Stage, edges: Sequence[Edge], answer: Path) -> None:
    duck = load_duck(edges)
    duck.recompute(QUERY)
    ours = np.load(answer)
    stage.same("first load", [ours[:, 0], ours[:, 1]], duck.answer(), DUCKDB)
    duck.close()


def _make_state(edges: Sequence[Edge], place: Path) -> None:
    (place / "facts").mkdir(exist_ok=True)
    (place / "facts" / "link.facts").write_text("".join(f"{a}\t{b}\n" for a, b in edges))
    (place / "reach.dl").write_text("link(x: int, y: int).\n" + PROGRAM)
    facts, state = str(place / "facts"), str(place / "state")
    _seconds_of(["run", str(place / "reach.dl"), "-F", facts, "-D", str(place / "out"), "-s", state], place)


def _seconds_of(command: list[str], cache: Path) -> float:
    """Seconds of a core that a command takes, its process from beginning to end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "headwater", *command],
        env=_environment(cache),
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment(cache: Path) -> dict[str, str]:
    """That of a user: with bytecode, and with a folder for machine code that is its own."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**known, "HEADWATER_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
