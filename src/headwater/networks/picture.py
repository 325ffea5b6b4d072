"""A picture of what a network carries over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.errors import DataError, MissingExtra
from headwater.networks.timeline import SentMessage

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


def draw_traffic(messages: Sequence[SentMessage], path: Path) -> None:
    """Draw bytes sent over time, into a PNG or SVG file."""
    check_picture(path)
    from matplotlib.figure import Figure

    end = max((message.time for message in messages), default=0.0) or 1.0
    sums = [0] * BARS
    for message in messages:
        sums[min(BARS - 1, int(message.time / end * BARS))] += message.bytes
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    width = end / BARS
    axes.bar([number * width for number in range(BARS)], [size / 1000 for size in sums], width, align="edge")
    axes.set_xlabel("seconds")
    axes.set_ylabel("kB sent")
    axes.set_title(f"{len(messages):,} messages, {sum(sums) / 1000:,.1f} kB", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise DataError("cannot-write", f"cannot write {path}: {error.strerror}") from None
