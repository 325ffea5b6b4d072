"""`import headwater` is quick: large libraries come with the first database, optional ones when asked for."""

from __future__ import annotations

import json
import subprocess
import sys

IMPORT = """
import json, sys, time
started = time.perf_counter()
import headwater
seconds = time.perf_counter() - started
heavy = [name for name in ("numba", "pyarrow", "pandas", "polars", "numpy") if name in sys.modules]
print(json.dumps([seconds, heavy]))
"""
CONNECT = """
import json, sys
import headwater
db = headwater.connect()
db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
db.apply(insert={"link": [(1, 2), (2, 3)]})
optional = [name for name in ("pandas", "polars", "duckdb", "matplotlib", "networkx", "rich") if name in sys.modules]
print(json.dumps([sorted(db["reach"].rows()), optional]))
"""


def run(program: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_is_quick_and_brings_no_large_library():
    """Half a second; the best of three tries, and twice that on a machine that is busy with other things."""
    tries = [run(IMPORT) for _ in range(3)]
    assert all(heavy == [] for _, heavy in tries)
    assert min(seconds for seconds, _ in tries) < 1.0


def test_a_database_needs_no_optional_library():
    assert run(CONNECT) == [[[1, 2], [1, 3], [2, 3]], []]


COLUMNS = """
import sys
import numba
import headwater
db = headwater.connect()
db.define("named(name: string, size: int, good: bool). large(N) :- named(N, S, true), S > 10.")
db.apply(insert={"named": [(f"name {number}", number, number % 2 == 0) for number in range(5000)]})
assert db["large"].arrow().num_rows == 2494 and len(set(db["large"])) == 2494
assert "pandas" not in sys.modules
"""


def test_columns_of_strings_and_numbers_do_not_load_pandas():
    """It takes 50 MB, and longer than to load some hundred thousand rows."""
    subprocess.run([sys.executable, "-c", COLUMNS], check=True)
