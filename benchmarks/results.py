"""A report as files: the data, a page to read, and pictures."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.markdown import losses, markdown
from benchmarks.pictures import draw
from benchmarks.report import BenchmarkReport


def write(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Write results.json, results.md (which ends with where we lose) and the pictures; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / "results.json", folder / "results.md"
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    pictures = draw(report, folder)
    shown = "".join(f"\n![{picture.stem}]({picture.name})\n" for picture in pictures)
    page.write_text(f"{markdown(report)}{shown}\n{losses(report)}", encoding="utf-8")
    return [data, page, *pictures]
