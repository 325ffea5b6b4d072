"""The properties that the tests check on some examples, on many more, for as long as there is time.

    python tests/deep.py 30               # minutes; script/test --deep 30 does this
    python tests/deep.py 30 sketch kill   # only parts with one of these words in their names or folders

Random programs against clingo, DuckDB, networkx and plain Python, in one process, on nodes and in networks; writers
that are killed; nodes that are lost. Each round takes a new seed, which it prints (`--seed` repeats a round), and its
parts in another order, so that it is not always the same ones for which there is no time. Parts run side by side, one
for each core. Ends at the first failure, with its output. In any case the last line says how much was done.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parent
EXAMPLES = 40
"""Of each property, in each round."""


@dataclass(frozen=True)
class Part:
    """A command, the file it runs, and what it does for its figures: it may add to them itself (see `figures_of`)."""

    name: str
    path: str
    command: tuple[str, ...]
    done: Counter[str]


def tests(name: str, path: str, seed: int, done: dict[str, int] | None = None) -> Part:
    """A part that runs tests."""
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--hypothesis-seed={seed}",
    )
    return Part(name, path, (*command, str(TESTS / path)), Counter(done or {}))


def script(name: str, path: str, *arguments: str, done: dict[str, int]) -> Part:
    """A part that runs a program of its own."""
    return Part(name, path, (sys.executable, str(TESTS / path), *arguments), Counter(done))


def parts(seed: int) -> Iterator[Part]:
    """One round."""
    yield script(
        "killed writers", "crash/crash_database.py", "-n", "40", "--seed", str(seed), done={"kills": 40}
    )
    yield script(
        "killed while telling",
        "crash/crash_watches.py",
        "-n",
        "200",
        "--seed",
        str(seed),
        done={"kills": 200},
    )
    yield script(
        "lost nodes", "nodes/nodes_lost.py", "-n", "30", "--seed", str(seed), done={"node losses": 30}
    )
    yield tests("killed stores", "store/test_store_crash.py", seed, done={"kills": 3 * 8})
    yield tests("killed peers", "exchange/test_exchange_interrupted.py", seed, done={"kills": 2 * 20})
    yield tests("killed with databases", "exchange/test_exchange_killed.py", seed, done={"kills": 10})
    for path in sorted(TESTS.glob("**/test_*.py")):
        if path.parent.name == "oracle" or _tries_more(path):
            yield tests(path.stem.removeprefix("test_"), str(path.relative_to(TESTS)), seed)


def _tries_more(path: Path) -> bool:
    """Whether a file of tests has properties with a number of examples, or tries more ways where there is time."""
    text = path.read_text()
    wanted = ("import examples", ", examples", "import THOROUGH", ", THOROUGH", "HEADWATER_ORACLE_EXAMPLES")
    return any(words in text for words in wanted)


@dataclass
class DeepRun:
    """Parts that run until the time is over or one fails, and what was done so far."""

    until: float
    figures: Path
    done: Counter[str] = field(default_factory=Counter)
    failed: bool = False
    finished: int = 0

    @property
    def over(self) -> bool:
        """Whether no further part is begun."""
        return self.failed or time.time() >= self.until

    def run(self, part: Part, seed: int) -> None:
        """Run a part, unless all is over; say how it went."""
        if self.over:
            return
        started = time.time()
        process = subprocess.Popen(
            part.command, env=self._environment(seed), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, cwd=TESTS.parent,
        )  # fmt: skip
        said = self._output(process)
        if said is None:
            return
        well = process.returncode == 0
        if not well:
            self.failed = True
            print(said)
        print(
            f"  {part.name}: {'all is well' if well else 'FAILED'} ({time.time() - started:.0f} s)",
            flush=True,
        )
        if well:
            self.finished += 1
            self.done.update(part.done)

    def _output(self, process: subprocess.Popen[str]) -> str | None:
        """What a part has printed; `None` if it had to be ended, since the time is over or another has failed."""
        while True:
            try:
                return process.communicate(timeout=1.0)[0]
            except subprocess.TimeoutExpired:
                if self.over:
                    break
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return None

    def _environment(self, seed: int) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(TESTS.parent / "src"),
            "HEADWATER_ORACLE_EXAMPLES": str(EXAMPLES),
            "HEADWATER_SEED": str(seed),
            "HEADWATER_KILLS": "20",
            "HEADWATER_FIGURES": str(self.figures),
        }


def figures_of(folder: Path) -> Counter[str]:
    """What processes have written there about themselves."""
    total: Counter[str] = Counter()
    for file in folder.glob("*.json"):
        total.update(json.loads(file.read_text()))
    return total


def chosen(seed: int, words: Sequence[str]) -> list[Part]:
    """The parts of a round in its order, those with one of the words if there are any."""
    found = [
        part for part in parts(seed) if not words or any(word in f"{part.name} {part.path}" for word in words)
    ]
    random.Random(seed).shuffle(found)
    return found


def main() -> None:
    """Rounds until the time is over."""
    parser = argparse.ArgumentParser(
        description="Check the properties of Headwater for as long as there is time."
    )
    parser.add_argument("minutes", type=float, nargs="?", default=10.0)
    parser.add_argument("words", nargs="*", help="only parts with one of these in their names or folders")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    if not chosen(options.seed, options.words):
        parser.error(f"no part has any of: {', '.join(options.words)}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        deep = DeepRun(time.time() + 60 * options.minutes, Path(folder))
        seed = options.seed
        while not deep.over:
            round_parts = chosen(seed, options.words)
            print(f"seed {seed}: {len(round_parts)} parts", flush=True)
            with ThreadPoolExecutor(cores) as side_by_side:
                try:
                    for _ in side_by_side.map(lambda part: deep.run(part, seed), round_parts):  # noqa: B023
                        pass
                except BaseException:  # Ctrl-C, which parts do not hear
                    deep.until = 0.0
                    raise
            seed += 1
        deep.done.update(figures_of(Path(folder)))
        deep.done["parts"] = deep.finished
    print(
        ", ".join(f"{number:,} {what}" for what, number in sorted(deep.done.items()) if number)
        or "nothing was finished"
    )
    if deep.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
