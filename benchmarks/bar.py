"""A progress bar on the terminal, one line a part."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class Bar:
    """Shows each part as it goes; implements `benchmarks.stage.Progress`."""

    def __init__(self, console: Console):
        self._bar = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[what]}"),
            console=console,
        )
        self._part: TaskID | None = None

    def begin(self, part: str, steps: int) -> None:
        self._part = self._bar.add_task(part, total=steps, what="loading")

    def step(self, what: str) -> None:
        if self._part is not None:
            self._bar.update(self._part, advance=1, what=what)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
