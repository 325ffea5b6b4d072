"""Headwater measured against what users would pick instead, in one run and on the same data.

`run` measures and returns a `Report` of plain data; `command` is the same for a shell. Every figure is a ratio
to a named rival that was timed in turns with us, and every answer behind a figure has been compared with the
rival's: a run with a wrong answer is refused, not reported.
"""

from headwater.bench.command import command
from headwater.bench.options import PARTS, Options
from headwater.bench.report import Check, Measure, Report, Row, Target
from headwater.bench.suite import run

__all__ = ["PARTS", "Check", "Measure", "Options", "Report", "Row", "Target", "command", "run"]
