"""`headwater compact`: make a state folder small and quick to open."""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import memory_option, state_option


@click.command()
@state_option
@memory_option
def compact(state: Path) -> None:
    """Write the state as it is now, and drop the log of changes that led there.

    \b
    Example:
      headwater compact -s state/
    """
    from headwater.cli.state import open_state

    before = _size(state)
    with open_state(state) as database:
        database.checkpoint()
        version = database.version
    click.echo(f"version {version}: {before:,} bytes before, {_size(state):,} bytes now", err=True)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
