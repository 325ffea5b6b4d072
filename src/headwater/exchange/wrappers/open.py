"""From the address of a peer's database to the wrapper for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from headwater.errors import ExchangeError
from headwater.exchange.wrappers.comparison import ComparisonCapture
from headwater.exchange.wrappers.decoding import LogicalDecoding
from headwater.exchange.wrappers.delta_wrapper import DeltaWrapper
from headwater.exchange.wrappers.spark_wrapper import SparkWrapper
from headwater.exchange.wrappers.sql_wrapper import CaptureWay, SqlWrapper
from headwater.exchange.wrappers.triggers import TriggerCapture
from headwater.exchange.wrappers.wrapper import WrappedTable, Wrapper

CaptureName = Literal["auto", "triggers", "comparison", "decoding"]
CAPTURES: tuple[CaptureName, ...] = get_args(CaptureName)
TRIGGERED = ("sqlite", "postgresql")
"""Databases whose triggers we write."""


def open_wrapper(
    peer: str, url: str, tables: Sequence[WrappedTable], capture: CaptureName = "auto"
) -> Wrapper:
    """The wrapper for a database, with its tables made or checked, and capture begun.

    `delta://folder` is a folder of Delta tables, `parquet://folder` one of Spark's own; other addresses are
    SQLAlchemy's.
    """
    scheme, _, path = url.partition("://")
    if scheme == "delta":
        if capture not in ("auto",):
            raise _no_way(url, capture, "a Delta table tells its changes by itself: leave capture out")
        return DeltaWrapper(peer, path, tables)
    if scheme == "parquet":
        if capture not in ("auto", "comparison"):
            raise _no_way(
                url, capture, "what changed in Parquet files is found by comparison: leave capture out"
            )
        return SparkWrapper(peer, path, tables)
    wrapper = SqlWrapper(peer, url, tables, _way(peer, url, scheme.partition("+")[0], capture))
    try:
        wrapper.prepare()
    except BaseException:
        wrapper.close()
        raise
    return wrapper


def _way(peer: str, url: str, dialect: str, capture: CaptureName) -> CaptureWay:
    if capture == "auto":
        capture = "triggers" if dialect in TRIGGERED else "comparison"
    if capture == "comparison":
        return ComparisonCapture()
    if capture == "triggers" and dialect in TRIGGERED:
        return TriggerCapture()
    if capture == "decoding" and dialect == "postgresql":
        from sqlalchemy.engine import make_url

        return LogicalDecoding(peer, make_url(url).database or "")
    raise _no_way(
        url, capture, 'of PostgreSQL: "triggers", "decoding"; of SQLite: "triggers"; all: "comparison"'
    )


def _no_way(url: str, capture: str, hint: str) -> ExchangeError:
    from headwater.foreign.engine import without_password

    return ExchangeError("bad-database", f"{without_password(url)} has no capture {capture!r}", hint=hint)
