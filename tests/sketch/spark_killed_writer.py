"""Changes tables on Spark, captures and maintains their sketches, for as long as it is let: see
`test_sketch_spark_killed`."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path


def write(folder: Path) -> None:
    """Begin, or go on, and never end."""
    from quick_java import quick
    from test_sketch_spark_killed import QUERIES, random_rows

    import headwater as hw

    session = hw.spark_session("local[1]", conf={"spark.driver.memory": "512m", **quick()})
    sketches = hw.sketches(session, folder / "state", patience=5)
    firsts = {table: sketches.backend.version(table) for table in QUERIES}
    print("begun", flush=True)
    for number in itertools.count(max(firsts.values())):
        for table, text in QUERIES.items():
            come = random_rows(table, number)
            sketches.update(table, come, random_rows(table, number - 2) if number % 3 == 2 else None)
            sketches.ask(text, way=(None, "capture", "maintain")[number % 3] if number > 2 else None)
        if number % 4 == 3:
            sketches.maintain()
        print(number, flush=True)


if __name__ == "__main__":
    tests = Path(__file__).parent
    sys.path[:0] = [str(tests), str(tests.parent), str(tests.parent / "oracle")]
    write(Path(sys.argv[1]))
