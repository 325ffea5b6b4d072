"""The Python example in docs/pipeline.md, run as it is written, on the files of the same document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("spark")

DOCUMENT = Path(__file__).parents[2] / "docs" / "pipeline.md"


def test_the_example_does_what_it_says(spark, tmp_path, monkeypatch):
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in ("links.csv", "network.dl"):
        (tmp_path / name).write_text(re.search(rf"```\w+ {re.escape(name)}\n(.*?)```", text, re.DOTALL)[1])
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    example = example.replace('parquet("out', f'parquet("{tmp_path}/out')  # this Spark was started elsewhere
    scope = {"spark": spark}
    exec(compile(example, str(DOCUMENT), "exec"), scope)
    assert len(scope["db"]["reach"]) == 3
