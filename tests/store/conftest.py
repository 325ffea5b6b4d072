"""Starting the programs of `store_worker` in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headwater

SOURCE = str(Path(headwater.__path__[0]).parent)
WORKER = str(Path(__file__).with_name("store_worker.py"))


@pytest.fixture
def command() -> Callable[..., list[str]]:
    """The command line of a worker program."""

    def make(program: str, *args: object) -> list[str]:
        return [sys.executable, WORKER, program, *map(str, args)]

    return make


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCE}


@pytest.fixture
def run(command: Callable[..., list[str]], environment: dict[str, str]) -> Callable[..., str]:
    """Run a worker program to its end and return what it printed."""

    def run(program: str, *args: object, prefix: tuple[str, ...] = ()) -> str:
        done = subprocess.run(
            [*prefix, *command(program, *args)], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def start(
    command: Callable[..., list[str]], environment: dict[str, str]
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a worker program that says `ready` and works until its standard input ends."""
    children: list[subprocess.Popen[bytes]] = []

    def start(program: str, *args: object) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            command(program, *args), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        children.append(child)
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()
