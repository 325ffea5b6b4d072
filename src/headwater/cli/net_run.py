"""`headwater net run`: a program on a network, until all is quiet; links that fail, and what changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.net_options import Failing, net_program, network_options, open_network
from headwater.cli.screen import print_table, shown
from headwater.errors import DataError

if TYPE_CHECKING:
    from headwater.networks.network import Network, NetworkRun

MOST_ROWS_SHOWN = 20


@click.command()
@net_program
@network_options
@click.option(
    "--transport", type=click.Choice(("simulated", "tcp", "spark")), default="simulated", show_default=True,
    help="Nodes in virtual time, in processes, or in tasks of Spark.",
)  # fmt: skip
@click.option("--processes", type=click.IntRange(1), help="How many processes nodes are in.")
@click.option(
    "--what-if", "asked", metavar="N%|A:B", multiple=True,
    help="What would change if these links failed: rows before and after. Nothing happens to them.",
)  # fmt: skip
@click.option("--show", "relation", metavar="RELATION", help="Print rows of this relation.")
@click.option("--node", help="Only rows that live at this node.")
@click.option("--live", is_flag=True, help="Show what happens while it happens.")
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all messages to this file, as text.",
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw bytes over time (PNG or SVG)."
)
def run(
    program: str,
    fail: tuple[str, ...],
    until: float | None,
    seed: int,
    asked: tuple[str, ...],
    relation: str | None,
    node: str | None,
    live: bool,
    trace: Path | None,
    plot: Path | None,
    **options: Any,
) -> None:
    """Run a program on a network until all is quiet; let links fail, and see what changes."""
    if plot is not None:
        from headwater.networks.picture import check_picture

        check_picture(plot)
    with open_network(program, seed=seed, **options) as net:
        failing = Failing(fail, seed).links(net)
        steps = [("all links up", _ran(net, until, live))]
        before = {name: set(net[name].rows()) for name in net.relations}
        marked: dict[float, str] = {}
        if failing:
            moment = net.now
            marked[moment] = "a link fails" if len(failing) == 1 else f"{len(failing)} links fail"
            for link in failing:
                net.fail(link)
            steps.append((marked[moment], _ran(net, None if until is None else net.now + until, live)))
        click.echo(f"{net.topology}")
        print_table(
            ("", "seconds", "messages", "bytes"),
            [(what, f"{done.seconds:.3f}", f"{done.messages:,}", f"{done.bytes:,}") for what, done in steps],
            numbers=("seconds", "messages", "bytes"),
        )
        if not steps[-1][1].quiet:
            click.echo("not quiet yet: more would follow")
        _summary(net, before if failing else None)
        if relation is not None:
            _show(net, relation, node)
        if asked:
            _what_if(net, Failing(asked, seed, "--what-if").links(net))
        if trace is not None:
            _write(trace, "".join(f"{message}\n" for message in net.timeline()))
        if plot is not None:
            from headwater.networks.picture import draw_traffic

            draw_traffic(net.load(), plot, marked)


def _ran(net: Network, until: float | None, live: bool) -> NetworkRun:
    if not live:
        return net.run(until)
    from headwater.cli.net_live import LiveView

    return LiveView(net).run(until)


def _summary(net: Network, before: dict[str, set[tuple[Any, ...]]] | None) -> None:
    rows = []
    for name in net.relations:
        now = set(net[name].rows())
        changed = () if before is None else (len(before[name] - now), len(now - before[name]))
        rows.append((name, f"{len(now):,}", *(f"{number:,}" for number in changed)))
    headings = ("relation", "rows", *(() if before is None else ("gone", "come")))
    print_table(headings, rows, numbers=headings[1:])


def _show(net: Network, relation: str, node: str | None) -> None:
    rows = (net if node is None else net.at(node))[relation].rows()
    for row in rows[:MOST_ROWS_SHOWN]:
        click.echo(f"{relation}({', '.join(map(shown, row))})")
    if len(rows) > MOST_ROWS_SHOWN:
        click.echo(f"... {len(rows) - MOST_ROWS_SHOWN:,} more")


def _what_if(net: Network, links: list[tuple[str, str]]) -> None:
    found = net.what_if(fail=links)
    named = ", ".join(f"{one}:{other}" for one, other in links[:5]) + (", ..." if len(links) > 5 else "")
    click.echo(
        f"If {named} failed: {found.messages:,} messages, {found.bytes:,} bytes, {found.seconds:.3f} s"
    )
    for relation, changed in found.changes.items():
        click.echo(f"{relation}: {len(changed.gone):,} rows gone, {len(changed.come):,} come")
        pairs = list(changed.pairs())
        for before, after in pairs[:MOST_ROWS_SHOWN]:
            click.echo(f"  {_row(before)} -> {_row(after)}")
        if len(pairs) > MOST_ROWS_SHOWN:
            click.echo(f"  ... {len(pairs) - MOST_ROWS_SHOWN:,} more")


def _row(row: tuple[Any, ...] | None) -> str:
    return "nothing" if row is None else f"({', '.join(map(shown, row))})"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError("cannot-write", f"cannot write {path}: {error.strerror}") from None
