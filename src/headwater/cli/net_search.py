"""`headwater net search`: the best path between two nodes, searched by the nodes themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headwater.cli.screen import print_table, shown

if TYPE_CHECKING:
    from headwater.networks.optimisations.searching import PathSearch


@click.command()
@click.argument("pairs", metavar="A:B...", nargs=-1, required=True)
@click.option("-t", "--topology", default="transit-stub:100", show_default=True, help="A name or a file.")
@click.option(
    "--metric", type=click.Choice(("latency", "hops", "reliability", "random")), default="hops", show_default=True,
    help="What links cost.",
)  # fmt: skip
@click.option(
    "--strategy", type=click.Choice(("top-down", "bottom-up", "hybrid")), default="top-down", show_default=True,
    help="From the source, from the target, or from both as far as is cheapest.",
)  # fmt: skip
@click.option("--approximate", is_flag=True, help="Estimate the sizes of neighbourhoods for hybrid search.")
@click.option("--caching", is_flag=True, help="Nodes keep what passes them, for the queries that follow.")
@click.option(
    "--zone-radius", type=click.IntRange(0), default=0, help="Nodes know paths of so many hops before."
)
@click.option("--fail", metavar="A:B", multiple=True, help="Links that then fail; all is asked again.")
@click.option("--seed", type=int, default=0, show_default=True)
def search(
    pairs: tuple[str, ...],
    topology: str,
    metric: str,
    strategy: str,
    approximate: bool,
    caching: bool,
    zone_radius: int,
    fail: tuple[str, ...],
    seed: int,
) -> None:
    """Search the best paths between pairs of nodes, one after another, and tell what that took.

    \b
    Example:
      headwater net search Seattle:Atlanta -t topohub:topozoo/Abilene --strategy hybrid
    """
    from headwater.networks.optimisations.searching import PathSearch

    for pair in (*pairs, *fail):
        if pair.count(":") != 1:
            raise click.BadParameter(f"{pair!r} is no pair of nodes", param_hint="A:B")
    searching = PathSearch(
        topology,
        metric=metric,
        strategy=strategy,
        approximate=approximate,
        caching=caching,
        zone_radius=zone_radius,
        seed=seed,
    )
    if searching.messages:
        click.echo(f"zones: {searching.messages:,} messages, {searching.bytes:,} bytes")
    _ask(searching, pairs)
    if fail:
        before = searching.messages, searching.bytes
        for pair in fail:
            searching.fail(pair.split(":"))
        spent = searching.messages - before[0], searching.bytes - before[1]
        click.echo(f"{', '.join(fail)} down: {spent[0]:,} messages, {spent[1]:,} bytes")
        _ask(searching, pairs)


def _ask(searching: PathSearch, pairs: tuple[str, ...]) -> None:
    """A table of what is found, and what it took."""
    rows = []
    for pair in pairs:
        before = searching.messages, searching.bytes
        found = searching.ask([pair.split(":")])
        path, cost = next(iter(found.values()), ((), None))
        shown_path = " ".join(map(shown, path)) or "no way"
        spent = searching.messages - before[0], searching.bytes - before[1]
        rows.append((pair, shown_path, "" if cost is None else f"{cost:,}", *(f"{each:,}" for each in spent)))
    print_table(("query", "path", "cost", "messages", "bytes"), rows, numbers=("cost", "messages", "bytes"))
