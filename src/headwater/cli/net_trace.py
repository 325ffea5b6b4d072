"""`headwater net trace`: a run recorded into a file, and replayed from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headwater.cli.net_options import Failing, network_options, open_network
from headwater.errors import DataError


@click.command()
@click.argument("program", metavar="PROGRAM", required=False)
@network_options
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Record the run of PROGRAM into this file."
)
@click.option(
    "--replay", type=click.Path(dir_okay=False, path_type=Path),
    help="Do again what a trace says, and compare message by message. Exits with 1 if one differs.",
)  # fmt: skip
def trace(
    program: str | None,
    fail: tuple[str, ...],
    until: float | None,
    seed: int,
    out: Path | None,
    replay: Path | None,
    **options: Any,
) -> None:
    """Record all that happens in a simulated network into a file, or replay such a file.

    \b
    Example:
      headwater net trace best-cost -t grid:4 --fail 10% --out run.trace
      headwater net trace --replay run.trace
    """
    if replay is not None:
        if program is not None or out is not None:
            raise click.UsageError("--replay takes a trace and nothing else")
        from headwater.networks.tracing import replay_trace

        found = replay_trace(replay)
        click.echo(str(found))
        if found.difference is not None:
            raise click.exceptions.Exit(1)
        return
    if program is None or out is None:
        raise click.UsageError("give a PROGRAM and --out FILE, or --replay FILE")
    if not out.parent.is_dir():
        raise DataError("cannot-write", f"cannot write {out}: there is no folder {out.parent}")
    with open_network(program, seed=seed, **options) as net:
        net.run(until)
        failing = Failing(fail, seed).links(net)
        for link in failing:
            net.fail(link)
        if failing:
            net.run(None if until is None else net.now + until)
        net.trace(out)
        click.echo(f"{net.messages:,} messages of {net.topology} in {click.format_filename(out)}")
