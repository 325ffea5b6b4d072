"""The shell sessions in the documents, run as they are written.

Blocks marked `console` are one session a document, in a folder of its own: what follows `$ ` is run, what
follows that is its output (`...` stands for anything; what goes to stderr may come first or last). Blocks
whose mark names a file, as in `csv facts/link.csv`, are files of that folder.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from headwater.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SESSION = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
PLAIN = re.compile(r"headwater (?!pipeline)[^|&;<>$`*]*$")
"""Commands of ours that need no shell, and no Spark of their own."""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(document: Path) -> list[tuple[str, str, str]]:
    return FENCE.findall(document.read_text(encoding="utf-8"))


def here(command: str, work: Path, environment: dict[str, str]) -> tuple[str, str]:
    """What a plain command of ours says, run in this process: a new one takes a second to start."""
    before = Path.cwd()
    os.chdir(work)
    try:
        done = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="headwater", env=environment)
    finally:
        os.chdir(before)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout, done.stderr


def in_a_shell(command: str, work: Path, environment: dict[str, str]) -> tuple[str, str]:
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=environment, capture_output=True, encoding="utf-8"
    )
    return done.stdout, done.stderr


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
                said, complained = (here if PLAIN.match(command) else in_a_shell)(command, work, environment)
                found = [said + complained, complained + said]
                checker = doctest.OutputChecker()
                assert any(checker.check_output(expected, output, OPTIONS) for output in found), (
                    f"$ {command}\nexpected:\n{expected}\ngot:\n{found[0]}"
                )
                ran += 1
    assert ran
