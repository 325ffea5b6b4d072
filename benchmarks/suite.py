"""All parts in order, into one report."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import batches, closure, dred, flat, goals, groups, memory, paths, revival, small, start
from benchmarks.options import PARTS, BenchmarkOptions
from benchmarks.pathway_rival import Pathway, RivalFailed, installed
from benchmarks.report import BenchmarkReport, ReportRow
from benchmarks.stage import Onlooker, Stage, Unwatched
from benchmarks.workloads import contest
from headwater.kernel.compiled import WIDTHS, kernel_of, load
from headwater.kernel.rounds import advance

MEASURES: dict[str, Callable[[Stage], list[ReportRow]]] = {
    module.PART: module.measure
    for module in (closure, batches, dred, revival, paths, groups, goals, memory, flat, small, start, contest)
}
assert tuple(MEASURES) == PARTS


def run(options: BenchmarkOptions | None = None, progress: Onlooker | None = None) -> BenchmarkReport:
    """Measure; raises `WrongAnswer` as soon as an answer of ours is not the rival's."""
    options = options or BenchmarkOptions()
    stage = Stage(options, progress or Unwatched())
    if not installed():
        stage.notes.append("Pathway is not installed and was not measured: pip install 'headwater[pathway]'")
    elif not options.pathway:
        stage.notes.append("Pathway was not measured, as the options say")
    else:
        stage.pathway = Pathway()
    _compile_everything(stage)
    rows: list[ReportRow] = []
    try:
        for part in options.only:
            try:
                rows += MEASURES[part](stage)
            except RivalFailed as error:
                stage.notes.append(f"{part} was measured without Pathway: {error.message}")
                _give_up(stage)
                rows += MEASURES[part](stage)
    finally:
        _give_up(stage)
    return stage.report(rows)


def _compile_everything(stage: Stage) -> None:
    """Have all machine code, so that what is measured does not depend on what this machine has run before."""
    small_rounds = kernel_of(advance.advance)
    assert small_rounds is not None
    load(widths=WIDTHS)
    load([small_rounds], WIDTHS)
    stage.notes.append("all machine code was compiled before; part `start` is about processes without it")


def _give_up(stage: Stage) -> None:
    """End the process of Pathway, if there is one."""
    if stage.pathway is not None:
        stage.pathway.close()
        stage.pathway = None
