"""`headwater net check`: NDlog's constraints, and the rules as nodes run them."""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.net_options import net_program, read_network_program
from headwater.cli.options import preprocessor_options


@click.command()
@net_program
@preprocessor_options
@click.option("--goal", help="Show the plan for this goal: shortestPath(S, 'd', P, C).")
@click.option("--no-aggregate-selections", is_flag=True, help="Show the plan without them.")
def check(
    program: str,
    include: tuple[Path, ...],
    macros: tuple[str, ...],
    goal: str | None,
    no_aggregate_selections: bool,
) -> None:
    """Check NDlog's four constraints, and print the rules as nodes run them, with the messages that they take.

    Exits with 1 if a constraint is broken. Such a program may still run where every node can talk to every other.
    """
    from headwater.networks.constraints import CONSTRAINTS, breaches
    from headwater.networks.describing import described_roles, described_rules
    from headwater.networks.node_settings import NodeSettings
    from headwater.values.functions import Functions

    functions = Functions()
    parsed = read_network_program(program, include, macros)
    found = breaches(parsed, functions)
    for constraint in CONSTRAINTS:
        broken = [breach for breach in found if breach.constraint == constraint]
        click.echo(f"{constraint}: {'holds' if not broken else f'{len(broken)} breaches'}")
        for breach in broken:
            where = "" if breach.place is None else f"{breach.place.source}:{breach.place.line}: "
            click.echo(f"  {where}{breach.message}\n    hint: {breach.hint}")
    settings = NodeSettings(
        parsed.text, parsed.source, aggregate_selections=not no_aggregate_selections, goal=goal or ""
    )
    plan = settings.plan(functions)
    click.echo("")
    for line in (*described_roles(plan.program), *described_rules(plan.program)):
        click.echo(line)
    if plan.program.links:
        click.echo("deletions: told to all nodes; with --deletions-along-links of net run, along links")
    if found:
        kinds = {breach.constraint for breach in found}
        click.echo(f"{len(kinds)} of {len(CONSTRAINTS)} constraints broken", err=True)
        raise click.exceptions.Exit(1)
