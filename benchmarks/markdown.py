"""The report as a page of Markdown."""

from __future__ import annotations

from benchmarks.report import BenchmarkReport, Measure, ReportRow
from benchmarks.wording import amount, circumstances, measured, ratio, target, verdict


def markdown(report: BenchmarkReport) -> str:
    """A heading, the circumstances, one table a part, and how to read it."""
    lines = ["# Headwater measured", "", circumstances(report), ""]
    lines += [f"- {note}" for note in report.notes] + ([""] if report.notes else [])
    lines += [
        "Times are medians, with the mean and the 95th percentile in brackets; rivals were timed in turns with us in",
        "the same run. Rows without a target are for information.",
        "",
    ]
    for part in dict.fromkeys(row.part for row in report.rows):
        rows = [row for row in report.rows if row.part == part]
        lines += [f"## {part}", "", "| what | ours | rival | rival's | ratio | by means | target | |"]
        lines += ["|---|---:|---|---:|---:|---:|---|---|"]
        for row in rows:
            lines.append(_line(*_cells(row), target(row), verdict(row)))
        notes = list(dict.fromkeys(row.note for row in rows if row.note))
        lines += ["", *(f"- {note}" for note in notes), ""] if notes else [""]
    return "\n".join(lines).rstrip() + "\n"


def losses(report: BenchmarkReport) -> str:
    """Where another system is ahead, as a table."""
    lines = ["## Where it loses, the worst first", ""]
    if not report.losses:
        return "\n".join([*lines, "Nowhere in this run."]) + "\n"
    lines += [
        "| part | what | ours | rival | rival's | ratio | by means |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    lines += [_line(row.part, *_cells(row)) for row in report.losses]
    return "\n".join(lines) + "\n"


def _cells(row: ReportRow) -> tuple[str, ...]:
    return row.what, _measure(row.ours), row.rival, _measure(row.theirs), ratio(row), ratio(row, "mean")


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _measure(measure: Measure) -> str:
    if len(measure.values) == 1:
        return measured(measure)
    rest = f"{amount(measure.mean, measure.unit)}, {amount(measure.p95, measure.unit)}"
    return f"{amount(measure.median, measure.unit)} ({rest})"
