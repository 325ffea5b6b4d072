"""`headwater bench`: a door to the benchmarks, which are in the repository and no part of the package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

import headwater
from headwater.errors import MissingExtra


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> Any:
    """Measure Headwater, and others beside it (in a clone of the repository)."""
    repository = _repository()
    if repository is None:
        raise MissingExtra(
            "missing-extra",
            "the benchmarks are no part of the package",
            hint="clone the repository, and run script/bench in it",
        )
    if str(repository) not in sys.path:
        sys.path.insert(0, str(repository))
    try:
        command = importlib.import_module("benchmarks.command").command
    except ImportError as error:
        raise MissingExtra(
            "missing-extra",
            f"the benchmarks cannot be loaded: {error}",
            hint="run script/bench, which installs what they need, or pip install 'headwater[bench]'",
        ) from None
    return command.main(args=list(arguments), prog_name="headwater bench", standalone_mode=False)


def _repository() -> Path | None:
    """The clone that this package is run from, if it is run from one."""
    folder = Path(headwater.__file__).resolve().parents[2]
    return folder if (folder / "benchmarks" / "command.py").is_file() else None
