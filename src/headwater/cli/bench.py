"""`headwater bench`: the benchmarks, if they are installed."""

from __future__ import annotations

import importlib
from typing import Any

import click

from headwater.errors import MissingExtra


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> Any:
    """Measure Headwater, and others beside it (needs headwater[bench])."""
    try:
        command = importlib.import_module("headwater.bench").command
    except (ImportError, AttributeError) as error:
        raise MissingExtra(
            "missing-extra",
            f"the benchmarks cannot be loaded: {error}",
            hint="pip install 'headwater[bench]'",
        ) from None
    return command.main(args=list(arguments), prog_name="headwater bench", standalone_mode=False)
