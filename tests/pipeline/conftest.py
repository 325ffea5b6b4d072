"""One Spark session for all tests of a process; `xdist_group("spark")` brings them into one process."""

from __future__ import annotations

import os
import time

import pytest
from quick_java import quick


@pytest.fixture(scope="session")
def spark():
    """Two threads, in a zone that is not UTC, so that nothing rests on it."""
    pytest.importorskip("pyspark")
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    import headwater as hw

    session = hw.spark_session(
        "local[2]",
        conf={
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.session.timeZone": "America/New_York",
            "spark.driver.memory": "1g",
            **quick(),
        },
    )
    yield session
    session.stop()
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()
