"""A progress bar while files are loaded, if somebody sits in front of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headwater.cli.screen import console

_WORTH_WATCHING = 1 << 20  # bytes


@contextmanager
def loading(paths: Sequence[Path | None]) -> Iterator[Callable[[int], None] | None]:
    """A function to be told of bytes as they are read; `None` if that is soon done, or nobody would see."""
    total = sum(path.stat().st_size for path in paths if path is not None and path.exists())
    if total < _WORTH_WATCHING or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    parts = (TextColumn("loading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*parts, console=console(sys.stderr), transient=True) as progress:
        bar = progress.add_task("loading", total=total)
        yield lambda count: progress.advance(bar, count)
