"""From the address of published logs to the place that keeps them.

A path or `file://` is a folder, what SQLAlchemy knows is a table of a database, and other addresses are fsspec's.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headwater.errors import StoreError
from headwater.exchange.logs.folder import FolderPlace
from headwater.exchange.logs.kept import KeptLogs
from headwater.exchange.logs.objects import ObjectPlace
from headwater.exchange.logs.place import LogPlace
from headwater.exchange.logs.sql_place import SqlPlace

DATABASES = ("sqlite", "postgresql", "duckdb", "mysql", "mariadb", "mssql", "oracle")
"""Schemes (what stands before `+` or `://`) of addresses that are SQLAlchemy's."""


def open_logs(address: str | os.PathLike[str]) -> KeptLogs:
    """The published logs at an address; nothing is made before something is published."""
    return KeptLogs(log_place(address))


def log_place(address: str | os.PathLike[str]) -> LogPlace:
    """The place at an address.

    >>> log_place("shared/logs").what, log_place("memory://logs").what
    ('shared/logs', 'memory://logs')
    """
    text = os.fspath(address)
    scheme, mark, _ = text.partition("://")
    if not mark:
        return FolderPlace(Path(text))
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise StoreError(
                "unreachable", f"{text} names another machine", hint="a folder is file:///path/to/folder"
            )
        return FolderPlace(Path(unquote(parts.path)))
    if scheme.partition("+")[0] in DATABASES:
        return SqlPlace(text)
    return ObjectPlace(text)
