"""How figures are written, wherever they are shown."""

from __future__ import annotations

from benchmarks.report import BenchmarkReport, Measure, ReportRow


def amount(value: float, unit: str) -> str:
    """A measured value with its unit.

    >>> amount(0.00042, "s"), amount(0.0123, "s"), amount(1.5, "s"), amount(61.49, "bytes"), amount(1234, "rows")
    ('420 µs', '12.3 ms', '1.50 s', '61.5 B', '1,234')
    >>> amount(49_807_360, "bytes")
    '49.8 MB'
    """
    if unit == "bytes":
        return f"{value:,.1f} B" if value < 1e6 else f"{_digits(value / 1e6)} MB"
    if unit == "rows":
        return f"{value:,.0f}"
    for scale, name in ((1e-3, "µs"), (1.0, "ms")):
        if value < scale:
            return f"{_digits(value / scale * 1000)} {name}"
    return f"{value:.2f} s"


def measured(measure: Measure, by: str = "median") -> str:
    """The median (or mean) of a measure."""
    return amount(getattr(measure, by), measure.unit)


def ratio(row: ReportRow, by: str = "") -> str:
    """A row's ratio and how to read it; by "mean", the ratio of means.

    >>> from benchmarks.report import ReportRow
    >>> one, two = Measure((1.0,)), Measure((2.5,))
    >>> ratio(ReportRow("closure", "load", "other", one, two, "faster"))
    '2.50× as fast'
    >>> ratio(ReportRow("closure", "load", "other", one, two, "longer"))
    '0.40× as long'
    """
    value = row.by_means if by == "mean" else row.figure
    words = "as fast" if row.kind == "faster" else "as long" if row.ours.unit == "s" else "as much"
    return f"{_digits(value)}× {words}"


def target(row: ReportRow) -> str:
    """What was asked for; empty for rows that are for information."""
    if row.target is None:
        return ""
    return f"{'≥' if row.target.bound == 'at least' else '≤'} {row.target.value:g}×"


def verdict(row: ReportRow) -> str:
    """Whether what was asked for was met."""
    return "" if row.met is None else ("met" if row.met else "MISSED")


def circumstances(report: BenchmarkReport) -> str:
    """Where and with what it was measured."""
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return (
        f"{report.started[:10]}, {machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 2**30:.0f} GiB, "
        f"load {machine.load[0]:.1f} before and {machine.load[1]:.1f} after; {versions}. "
        f"{report.seconds:,.0f} s, {len(report.checks):,} answers compared and equal"
        f"{'; quick sizes, which say nothing about speed' if report.options.quick else ''}."
    )


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
