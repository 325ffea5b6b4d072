"""Headwater measured against what users would pick instead, in one run and on the same data.

`run` measures and returns a `BenchmarkReport` of plain data; `command` is the same for a shell. Every figure is a
ratio to a named rival that was timed in turns with us, and every answer behind a figure has been compared with the
rival's: a run with a wrong answer is refused, not reported.
"""

from benchmarks.command import command
from benchmarks.options import PARTS, BenchmarkOptions
from benchmarks.report import BenchmarkReport, Check, Measure, ReportRow, Target
from benchmarks.suite import run

__all__ = [
    "PARTS",
    "Check",
    "Measure",
    "BenchmarkOptions",
    "BenchmarkReport",
    "ReportRow",
    "Target",
    "command",
    "run",
]
