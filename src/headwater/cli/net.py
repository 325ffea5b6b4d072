"""`headwater net`: programs on networks, checked and run."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.options import preprocessor_options, program_text
from headwater.cli.screen import print_table, shown
from headwater.errors import DataError

if TYPE_CHECKING:
    from headwater.language.program import Program
    from headwater.networks.network import Network

MOST_ROWS_SHOWN = 20
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")

net_program = click.argument("program", metavar="PROGRAM")


@click.group()
def net() -> None:
    """Run NDlog programs on networks of simulated nodes.

    \b
    Example:
      headwater net run shortest-path --topology topohub:topozoo/Abilene
      headwater net run program.ndlog --topology transit-stub:100 --fail 10%
      headwater net check program.ndlog
    """


def _read(program: str, include: tuple[Path, ...], macros: tuple[str, ...]) -> Program:
    from headwater.language.datalog import parse
    from headwater.networks.library import library_program, programs

    if program in programs():
        return library_program(program)
    if program != "-" and not Path(program).is_file():
        hint = f"give a file, or one of {', '.join(programs())}"
        raise DataError("missing-file", f"there is no file {program}, nor a program of this name", hint=hint)
    text, source = program_text(program, include, macros)
    return parse(text, source)


@net.command()
@net_program
@preprocessor_options
def check(program: str, include: tuple[Path, ...], macros: tuple[str, ...]) -> None:
    """Check NDlog's four constraints, and print the rules as nodes run them.

    Exits with 1 if a constraint is broken. Such a program may still run where every node can talk to every other.
    """
    from headwater.networks.constraints import CONSTRAINTS, breaches
    from headwater.networks.strands.compiling import compile_program
    from headwater.rules.check import check as check_rules
    from headwater.rules.render import render_rule
    from headwater.values.functions import Functions

    functions = Functions()
    parsed = _read(program, include, macros)
    found = breaches(parsed, functions)
    for constraint in CONSTRAINTS:
        broken = [breach for breach in found if breach.constraint == constraint]
        click.echo(f"{constraint}: {'holds' if not broken else f'{len(broken)} breaches'}")
        for breach in broken:
            where = "" if breach.place is None else f"{breach.place.source}:{breach.place.line}: "
            click.echo(f"  {where}{breach.message}\n    hint: {breach.hint}")
    local = compile_program(check_rules(parsed, functions))
    click.echo(
        "\nRules as nodes run them; what follows the arrow goes to another node where the addresses differ:"
    )
    for rule in local.rules:
        location = local.relations[rule.relation].location
        to = "" if location is None else f"   -> {shown(getattr(rule.head[location], 'name', '?'))}"
        click.echo(f"  {render_rule(rule)}{to}")
    if found:
        kinds = {breach.constraint for breach in found}
        click.echo(f"{len(kinds)} of {len(CONSTRAINTS)} constraints broken", err=True)
        raise click.exceptions.Exit(1)


@net.command()
@net_program
@preprocessor_options
@click.option("-t", "--topology", default="transit-stub:100", show_default=True, help="A name or a file.")
@click.option(
    "--metric", type=click.Choice(("latency", "hops", "random")), default="latency", show_default=True,
    help="What links cost.",
)  # fmt: skip
@click.option("--annotation", default="absorption", show_default=True, help="What rows carry.")
@click.option("--order", type=click.Choice(("psn", "bsn", "sn")), default="psn", show_default=True,
    help="In which order nodes evaluate.")  # fmt: skip
@click.option(
    "--fail", metavar="N%|A:B", multiple=True, help="Links that then fail: some, at random, or one."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--show", "relation", metavar="RELATION", help="Print rows of this relation.")
@click.option("--node", help="Only rows that live at this node.")
@click.option(
    "--trace", type=click.Path(dir_okay=False, path_type=Path), help="Write all messages to this file."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw bytes over time (PNG or SVG)."
)
def run(
    program: str,
    include: tuple[Path, ...],
    macros: tuple[str, ...],
    topology: str,
    metric: str,
    annotation: str,
    order: str,
    fail: tuple[str, ...],
    seed: int,
    relation: str | None,
    node: str | None,
    trace: Path | None,
    plot: Path | None,
) -> None:
    """Run a program on a network until all is quiet; let links fail, and see what changes."""
    from headwater.networks.opening import network

    running = network(
        _read(program, include, macros), topology, metric=metric, annotation=annotation, order=order, seed=seed
    )  # fmt: skip
    steps = [("all links up", running.run())]
    before = {name: set(running[name].rows()) for name in running.relations}
    failing = _failing(running, fail, seed)
    if failing:
        for source, target in failing:
            running.fail(source, target)
        links = "a link fails" if len(failing) == 1 else f"{len(failing)} links fail"
        steps.append((links, running.run()))
    click.echo(f"{running.topology}")
    print_table(
        ("", "seconds", "messages", "bytes"),
        [(what, f"{done.seconds:.3f}", f"{done.messages:,}", f"{done.bytes:,}") for what, done in steps],
        numbers=("seconds", "messages", "bytes"),
    )
    rows = []
    for name in running.relations:
        now = set(running[name].rows())
        gone, come = len(before[name] - now), len(now - before[name])
        rows.append((name, f"{len(now):,}", *((f"{gone:,}", f"{come:,}") if failing else ())))
    headings = ("relation", "rows", *(("gone", "come") if failing else ()))
    print_table(headings, rows, numbers=headings[1:])
    if relation is not None:
        _show(running, relation, node)
    if trace is not None:
        trace.write_text("".join(f"{message}\n" for message in running.timeline()), encoding="utf-8")
    if plot is not None:
        from headwater.networks.picture import draw_traffic

        draw_traffic(running.timeline(), plot)


def _failing(running: Network, wanted: tuple[str, ...], seed: int) -> list[tuple[str, str]]:
    links = [(link.source, link.target) for link in running.topology.links]
    found: dict[tuple[str, str], None] = {}
    for each in wanted:
        share = _SHARE.fullmatch(each)
        if share is not None and float(share[1]) <= 100:
            number = round(len(links) * float(share[1]) / 100)
            found |= dict.fromkeys(random.Random(seed).sample(links, number))
        elif each.count(":") == 1:
            source, target = each.split(":")
            found[source, target] = None
        else:
            raise click.BadParameter(
                "a share of the links (10%) or the two ends of one (a:b)", param_hint="--fail"
            )
    return list(found)


def _show(running: Network, relation: str, node: str | None) -> None:
    rows = (running if node is None else running.at(node))[relation].rows()
    for row in rows[:MOST_ROWS_SHOWN]:
        click.echo(f"{relation}({', '.join(map(shown, row))})")
    if len(rows) > MOST_ROWS_SHOWN:
        click.echo(f"... {len(rows) - MOST_ROWS_SHOWN:,} more")
