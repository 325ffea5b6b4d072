"""Opens sketches, changes their table and asks, again and again, beside others that do the same: see
`test_sketch_writers`."""

from __future__ import annotations

import sys

import headwater as hw

QUERY = "SELECT g, sum(v) AS total FROM t GROUP BY g HAVING sum(v) > 40"


def write(address: str, state: str, first: int, rounds: int, openings: int) -> None:
    """Open so often, and change so often each time; every change brings two rows and takes one of them away later."""
    for opening in range(openings):
        with hw.sketches(address, state) as sketches:
            sketches.table("t", partition="x", ranges=10)
            for each in range(rounds):
                n = first + opening * rounds + each
                sketches.update("t", insert=[(n % 5, 3, n), (n % 5, 2, -n)])
                sketches.update("t", delete=[(n % 5, 2, -n)])
                asked = sketches.ask(QUERY, way="capture" if each == 0 else "maintain")
                plain = sketches.ask(QUERY, way="plain")
                same = asked.decision.versions != plain.decision.versions or (
                    sorted(map(str, asked.rows.to_pylist())) == sorted(map(str, plain.rows.to_pylist()))
                )
                assert same, (asked, plain)
    print("done", flush=True)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]))
