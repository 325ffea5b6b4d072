"""Running the command: in this process, or as a process of its own."""

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from headwater.cli import main

SOURCE = Path(__file__).parents[2] / "src"

REACH = """\
.decl link(src: symbol, dst: symbol)
.input link
.decl reach(src: symbol, dst: symbol)
.output reach
reach(x, y) :- link(x, y).
reach(x, y) :- link(x, z), reach(z, y).
"""


class Folder:
    """A folder of files, in which commands run."""

    def __init__(self, path: Path):
        self.path = path

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def run(self, *arguments: str, input: str | bytes | None = None) -> Result:
        """The command in this process; the result has stdout, stderr and exit_code."""
        old = "mix_stderr" in signature(CliRunner).parameters  # Click before 8.2
        runner: Any = CliRunner(**({"mix_stderr": False} if old else {}))
        result: Result = runner.invoke(main, list(arguments), input=input)
        return result

    def done(self, *arguments: str, input: str | bytes | None = None) -> str:
        """The standard output of a command that must not fail."""
        result = self.run(*arguments, input=input)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    def refused(self, *arguments: str, code: int = 1) -> str:
        """The standard error of a command that must fail."""
        result = self.run(*arguments)
        assert result.exit_code == code, (result.stderr, result.exception)
        assert "Traceback" not in result.stderr
        return result.stderr

    def process(self, *arguments: str, **more: Any) -> "subprocess.Popen[str]":
        """The command as a process of its own."""
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), **more.pop("env", {})}
        command = [sys.executable, "-m", "headwater", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=self.path, **more
        )
