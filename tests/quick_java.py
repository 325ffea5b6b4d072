"""Settings with which the Javas of tests start in less than a third of the time, and run long jobs more slowly.

    python tests/quick_java.py      # make the archive, if there is none; script/test does this

Java loads thousands of Spark's classes before it does anything. Where it can keep them in an archive (Java 25 or
later), one is made once for each Java and Spark, and kept in the user's cache folder. Without it tests only take
longer.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import headwater as hw
from headwater.cache import cache_folder
from headwater.spark.java import find_java

OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
OLDEST_WITH_ARCHIVES = 25


def archive() -> Path | None:
    """Where the archive is, or belongs; `None` if this Java keeps none."""
    import pyspark

    java = find_java().home
    found = re.search(r'JAVA_VERSION="(\d+)', _release(java))
    if found is None or int(found[1]) < OLDEST_WITH_ARCHIVES:
        return None
    made_for = f"{_release(java)} {pyspark.__file__} {pyspark.__version__} {OPTIONS}"
    return cache_folder() / f"spark-{hashlib.sha256(made_for.encode()).hexdigest()[:16]}.aot"


def _release(java: Path) -> str:
    """What a Java says of itself, where it is a launcher by the home it starts."""
    started = re.search(rb"^exec (\S+)", (java / "bin" / "java").read_bytes(), re.MULTILINE)
    home = Path(os.fsdecode(started[1])).parents[1] if started else java
    release = home / "release"
    return f"{home} {release.read_text()}" if release.exists() else ""


def options() -> str:
    """Options of Java, with the archive if there is one."""
    kept = archive()
    return f"{OPTIONS} -XX:AOTCache={kept} -Xlog:disable" if kept is not None and kept.exists() else OPTIONS


def quick() -> dict[str, Any]:
    """Settings for `hw.spark_session`, for the driver and for executors in processes of their own."""
    found = options()
    return {"spark.driver.defaultJavaOptions": found, "spark.executor.defaultJavaOptions": found}


def make(kept: Path) -> None:
    """Do a little of everything with Spark in a Java that remembers which classes it needed."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    unfinished = kept.with_name(f".{kept.name}-{os.getpid()}")
    conf = {
        "spark.driver.defaultJavaOptions": f"{OPTIONS} -XX:AOTCacheOutput={unfinished} -Xlog:disable",
        "spark.sql.shuffle.partitions": 1,
    }
    spark = hw.spark_session("local[2]", conf=conf)
    with tempfile.TemporaryDirectory() as folder:
        frame = spark.createDataFrame([(1, "a"), (2, "b")], "n int, s string")
        frame.write.parquet(f"{folder}/rows")
        frame.write.option("header", "true").csv(f"{folder}/texts")
        rows = spark.read.parquet(f"{folder}/rows").groupBy("s").count()
        texts = spark.read.option("header", "true").schema("n int, s string").csv(f"{folder}/texts")
        texts.where("n > 1").exceptAll(frame).join(rows, "s").toArrow()
        texts.rdd.barrier().mapPartitions(lambda part: part).count()
    spark.stop()
    gateway = spark.sparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    if unfinished.exists():
        unfinished.replace(kept)


def main() -> None:
    """Make the archive, if it can be made and is not there."""
    try:
        wanted = archive()
        if wanted is not None and not wanted.exists():
            print(f"Making an archive of Spark's classes, {wanted}", file=sys.stderr)
            make(wanted)
    except (hw.HeadwaterError, ImportError, OSError) as error:
        print(f"There is none, and tests take longer: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
