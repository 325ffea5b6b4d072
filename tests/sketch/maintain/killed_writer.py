"""Changes a table, maintains its sketch and keeps the state, for as long as it is let: see `test_maintain_killed`."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path


def write(folder: Path) -> None:
    """Begin, or go on, and never end."""
    from test_maintain_killed import opened, random_rows

    backend, maintainer = opened(folder)
    if not maintainer.restore(folder / "state"):
        maintainer.capture()
        maintainer.save(folder / "state")
    print("begun", flush=True)
    first = backend.version("r")
    for number in itertools.count(first):
        gone = random_rows(number - 3) if number - 3 >= first else None
        backend.update("r", random_rows(number), gone)
        maintainer.maintain()
        if number % 2:
            maintainer.save(folder / "state")


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "oracle")]
    write(Path(sys.argv[1]))
