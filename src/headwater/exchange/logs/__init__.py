"""Published logs on shared storage: a folder, a table of a database, or an object store."""

from __future__ import annotations

from headwater.exchange.logs.address import open_logs
from headwater.exchange.logs.kept import KeptLogs
from headwater.exchange.logs.place import LogPlace

__all__ = ["KeptLogs", "LogPlace", "open_logs"]
