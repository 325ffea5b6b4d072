"""Sessions of Spark: the embedded one, one that runs already, and executors in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from quick_java import options

import headwater as hw

pytest.importorskip("pyspark")
pytestmark = pytest.mark.xdist_group("spark")

SOURCE = str(Path(hw.__path__[0]).parent)
PROGRAM = """
import os, signal, sys
import headwater as hw
from headwater.errors import SparkError

before = signal.getsignal(signal.SIGINT), dict(os.environ)
conf = {"spark.driver.defaultJavaOptions": sys.argv[2], "spark.executor.defaultJavaOptions": sys.argv[2]}
spark = hw.spark_session(sys.argv[1], conf=conf)
after = {name: value for name, value in os.environ.items() if name in before[1]}
assert (signal.getsignal(signal.SIGINT), after) == before
assert not {"JAVA_HOME", "PYSPARK_PYTHON"} & (set(os.environ) - set(before[1]))
assert hw.spark_session() is spark and hw.spark_session(sys.argv[1]) is spark
try:
    hw.spark_session("local[7]")
except SparkError as error:
    assert error.code == "other-session", error
else:
    raise AssertionError
assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
assert spark.sparkContext.uiWebUrl is None

def work(batches):
    import os
    import pyarrow as pa
    import headwater as hw
    db = hw.connect()
    db.define("p(x: int). q(X) :- p(X), X > 1.")
    for batch in batches:
        db.apply(insert={"p": batch.to_pylist()})
    rows = [row[0] for row in db["q"].rows()]
    yield pa.RecordBatch.from_pydict({"x": rows, "pid": [os.getpid()] * len(rows)})

frame = spark.createDataFrame([(n,) for n in range(6)], "x int").repartition(2)
found = frame.mapInArrow(work, "x bigint, pid bigint").collect()
assert sorted(row.x for row in found) == [2, 3, 4, 5], found
assert os.getpid() not in {row.pid for row in found}
db = hw.connect(spark=spark)
db.define("p(x: int, t: timestamp).")
db.apply(insert={"p": [(1, __import__("datetime").datetime(2024, 1, 1))]})
assert db["p"].spark().dtypes == [("x", "bigint"), ("t", "timestamp")]
assert db["p"].spark().sparkSession is spark
spark.stop()
print("all is well")
"""


def test_executors_in_processes_of_their_own_find_headwater(tmp_path):
    """From a folder and a process where nothing but the path tells where Headwater is."""
    environment = {**os.environ, "PYTHONPATH": SOURCE, "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "local-cluster[2,1,1024]", options()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all is well\n"
    assert done.stderr == "" or "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is left where it ran"
