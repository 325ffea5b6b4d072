"""The shell sessions in the documents, run as they are written.

Blocks marked `console` are one session a document, in a folder of its own: what follows `$ ` is run, what
follows that is its output (`...` stands for anything; what goes to stderr may come first or last). Blocks
whose mark names a file, as in `csv facts/link.csv`, are files of that folder.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SESSION = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(document: Path) -> list[tuple[str, str, str]]:
    return FENCE.findall(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "document",
    [d for d in DOCUMENTS if any(kind == "console" for kind, _, _ in blocks(d))],
    ids=lambda document: document.name,
)
def test_a_session_gives_what_the_document_says(document: Path, tmp_path: Path):
    work, commands = tmp_path / "work", tmp_path / "bin"
    work.mkdir()
    commands.mkdir()
    (commands / "headwater").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headwater "$@"\n')
    (commands / "headwater").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
    }
    ran = 0
    for kind, name, text in blocks(document):
        if name:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text, encoding="utf-8")
        elif kind == "console":
            for command, expected in SESSION.findall(text):
                done = subprocess.run(
                    ["bash", "-c", command], cwd=work, env=environment, capture_output=True, encoding="utf-8"
                )
                found = [done.stdout + done.stderr, done.stderr + done.stdout]
                checker = doctest.OutputChecker()
                assert any(checker.check_output(expected, output, OPTIONS) for output in found), (
                    f"$ {command}\nexpected:\n{expected}\ngot:\n{found[0]}"
                )
                ran += 1
    assert ran
