"""A driver to be killed: follows a folder of changes for ever, saying each version once it is published.

python pipeline_worker.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline_support import PROGRAM
from quick_java import quick

import headwater as hw
from headwater.pipeline import DeltaSink, FeedFolder, RowsFolder, Stream

SHAPE = "src string, dst string, cost bigint, _change_type string"


def main(folder: Path) -> None:
    spark = hw.spark_session("local[2]", conf={"spark.sql.shuffle.partitions": 1, **quick()})
    db = hw.connect(folder / "state", spark=spark)
    if db.version == 0:
        db.define(PROGRAM)

    def frame(session):
        reader = session.readStream.schema(SHAPE).option("header", "true").option("maxFilesPerTrigger", "1")
        return reader.csv(str(folder / "in"))

    pipeline = db.pipeline(
        [Stream("link", frame)],
        [
            FeedFolder("reach", str(folder / "feed")),
            RowsFolder("reach", str(folder / "rows")),
            DeltaSink("reach", str(folder / "delta")),
        ],
    )

    def say(report):
        batch = (report.sources[0].mark or {"batch": -1})["batch"]
        print(f"{report.version} {batch} {report.changes}", flush=True)

    pipeline.run(continuous=True, every=0, watch=say)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
