"""Sources and sinks on Spark: base relations follow tables, files, feeds and streams; views are published.

    db = hw.connect("state/", spark=spark)
    db.define(open("network.dl").read())
    pipeline = db.pipeline(
        sources=[Files("link", "links/", "parquet", where="up")],
        sinks=[FeedFolder("reach", "out/reach_changes"), RowsFolder("reach", "out/reach")],
    )
    pipeline.run()                       # once: all that has changed since the last time
    pipeline.run(continuous=True)        # until pipeline.stop()

`load("pipeline.toml")` makes the same from a file.
"""

from headwater.pipeline.action import publishing as publishing
from headwater.pipeline.callback import Callback
from headwater.pipeline.delta import delta_table
from headwater.pipeline.delta_sink import DeltaSink
from headwater.pipeline.feed import Feed, feed_folder, feed_stream, table_changes
from headwater.pipeline.file_source import Files
from headwater.pipeline.folders import FeedFolder, RowsFolder
from headwater.pipeline.history import History
from headwater.pipeline.iceberg import Iceberg
from headwater.pipeline.load import load
from headwater.pipeline.pipeline import Pipeline
from headwater.pipeline.report import Report, SinkReport, SourceReport
from headwater.pipeline.snapshot import Snapshot, Table
from headwater.pipeline.sql_sink import SqlSink
from headwater.pipeline.sql_tables import Jdbc, SqlAlchemy
from headwater.pipeline.stream import Stream
from headwater.pipeline.table_sink import TableSink

__all__ = [
    "Callback",
    "DeltaSink",
    "Feed",
    "FeedFolder",
    "Files",
    "History",
    "Iceberg",
    "Jdbc",
    "Pipeline",
    "Report",
    "RowsFolder",
    "SinkReport",
    "Snapshot",
    "SourceReport",
    "SqlAlchemy",
    "SqlSink",
    "Stream",
    "Table",
    "TableSink",
    "delta_table",
    "feed_folder",
    "feed_stream",
    "load",
    "table_changes",
]
