"""The properties that the tests check on some examples, on many more, for as long as there is time.

    python tests/deep.py 30        # minutes; script/test --deep 30 does this

Random programs against clingo, DuckDB, networkx and plain Python, in one process, on nodes and in networks; writers
that are killed; nodes that are lost. Each round takes a new seed, which it prints; `--seed` repeats a round. Ends
at the first failure, with its output. In any case the last line says how much was done.
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent
EXAMPLES = 40
"""Of each property, in each round."""


@dataclass(frozen=True)
class Part:
    """A command, and what it does for its figures: it may add to them itself (see `figures_of`)."""

    name: str
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
    return Part(name, (*command, str(TESTS / path)), Counter(done or {}))


def script(name: str, path: str, *arguments: str, done: dict[str, int]) -> Part:
    """A part that runs a program of its own."""
    return Part(name, (sys.executable, str(TESTS / path), *arguments), Counter(done))


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


def run(part: Part, seed: int, until: float, figures: Path) -> bool | None:
    """Run a part; whether all was well, or `None` if there was no time to finish."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(TESTS.parent / "src"),
        "HEADWATER_ORACLE_EXAMPLES": str(EXAMPLES),
        "HEADWATER_SEED": str(seed),
        "HEADWATER_KILLS": "20",
        "HEADWATER_FIGURES": str(figures),
    }
    process = subprocess.Popen(
        part.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, cwd=TESTS.parent,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=max(1.0, until - time.time()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return None
    if process.returncode:
        print(said)
    return process.returncode == 0


def figures_of(folder: Path) -> Counter[str]:
    """What processes have written there about themselves."""
    total: Counter[str] = Counter()
    for file in folder.glob("*.json"):
        total.update(json.loads(file.read_text()))
    return total


def main() -> None:
    """Rounds until the time is over."""
    parser = argparse.ArgumentParser(
        description="Check the properties of Headwater for as long as there is time."
    )
    parser.add_argument("minutes", type=float, nargs="?", default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        well: bool | None = True
        seed = options.seed
        while well:
            print(f"seed {seed}", flush=True)
            for part in parts(seed):
                started = time.time()
                well = run(part, seed, until, Path(folder))
                if well is None:
                    break
                print(
                    f"  {part.name}: {'all is well' if well else 'FAILED'} ({time.time() - started:.0f} s)",
                    flush=True,
                )
                if not well:
                    break
                done.update(part.done)
            seed += 1
        done.update(figures_of(Path(folder)))
    print(", ".join(f"{number:,} {what}" for what, number in sorted(done.items())) or "nothing was finished")
    if well is False:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
