"""A picture of what a network carries over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from headwater.errors import DataError, MissingExtra

BARS = 60
"""In how many pieces the time is cut."""


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before anything runs."""
    if path.suffix not in (".png", ".svg"):
        raise DataError("unknown-format", f"{path} ends with neither .png nor .svg")
    if not path.parent.is_dir():
        raise DataError("cannot-write", f"cannot write {path}: there is no folder {path.parent}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        hint = "pip install 'headwater[bench]'"
        raise MissingExtra("missing-extra", "pictures take matplotlib", hint=hint) from None


def draw_traffic(
    load: Iterable[tuple[float, int]], path: Path, marked: Mapping[float, str] | None = None
) -> None:
    """Draw bytes sent over time, into a PNG or SVG file; `load` has the time and the bytes of each message, `marked`
    what happened at some times."""
    check_picture(path)
    from matplotlib.figure import Figure

    messages = list(load)
    end = max((time for time, _ in messages), default=0.0) or 1.0
    sums = [0] * BARS
    for time, size in messages:
        sums[min(BARS - 1, int(time / end * BARS))] += size
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    width = end / BARS
    axes.bar([number * width for number in range(BARS)], [size / 1000 for size in sums], width, align="edge")
    for time, what in (marked or {}).items():
        axes.axvline(time, color="0.3", linewidth=0.8, linestyle="--")
        axes.annotate(f" {what}", (time, 1), xycoords=("data", "axes fraction"), va="top", color="0.3")
    axes.set_xlabel("seconds")
    axes.set_ylabel("kB sent")
    axes.set_title(f"{len(messages):,} messages, {sum(sums) / 1000:,.1f} kB", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise DataError("cannot-write", f"cannot write {path}: {error.strerror}") from None
