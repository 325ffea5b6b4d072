"""What the commands of `headwater net` have in common: the program, and the network it runs on."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headwater.cli.options import preprocessor_options, program_text
from headwater.errors import DataError

if TYPE_CHECKING:
    from headwater.language.program import Program
    from headwater.networks.network import Network

_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")
Command = TypeVar("Command", bound=Callable[..., Any])

net_program = click.argument("program", metavar="PROGRAM")


@dataclass(frozen=True)
class Failing:
    """Links that fail, as they were written: shares of all (`10%`), or the two ends of one (`a:b`)."""

    written: tuple[str, ...]
    seed: int
    option: str = "--fail"

    def links(self, net: Network) -> list[tuple[str, str]]:
        """The links that are meant."""
        links = [(link.source, link.target) for link in net.topology.links]
        found: dict[tuple[str, str], None] = {}
        for each in self.written:
            share = _SHARE.fullmatch(each)
            if share is not None and float(share[1]) <= 100:
                number = round(len(links) * float(share[1]) / 100)
                found |= dict.fromkeys(random.Random(self.seed).sample(links, number))
            elif each.count(":") == 1:
                source, target = each.split(":")
                found[source, target] = None
            else:
                message = f"{each!r} is neither a share of the links (10%) nor the two ends of one (a:b)"
                raise click.BadParameter(message, param_hint=self.option)
        return list(found)


def network_options(command: Command) -> Command:
    """Options of commands that run a program on a network."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    preprocessor_options,
    click.option("-t", "--topology", default="transit-stub:100", show_default=True, help="A name or a file."),
    click.option(
        "--metric", "metrics", multiple=True, default=("latency",), show_default=True,
        type=click.Choice(("latency", "hops", "reliability", "random")),
        help="What links cost; several times: a column each.",
    ),
    click.option("--annotation", default="auto", show_default=True, help="What rows carry."),
    click.option(
        "--order", type=click.Choice(("psn", "bsn", "sn")), default="psn", show_default=True,
        help="In which order nodes evaluate.",
    ),
    click.option("--aggregate-selections/--no-aggregate-selections", default=True, show_default=True,
        help="Of a recursion that is only asked for best rows, only those go on."),
    click.option("--multi-aggregates/--no-multi-aggregates", default=True, show_default=True,
        help="Also where several aggregates ask for them."),
    click.option("--selection-period", type=click.FloatRange(0), default=0.0, metavar="SECONDS",
        help="Best rows wait so long before they go on."),
    click.option("--sharing-delay", type=click.FloatRange(0), default=0.0, metavar="SECONDS",
        help="Messages wait so long for others to the same node, to go as one."),
    click.option("--goal", help="What is asked for, as in shortestPath(S, 'd', P, C): no more is derived."),
    click.option("--deletions-along-links", is_flag=True,
        help="Deletions go from neighbour to neighbour, not from one node to all."),
    click.option("--service-time", type=click.FloatRange(0), default=0.0, metavar="SECONDS",
        help="What a simulated node takes for each message."),
    click.option("--fail", metavar="N%|A:B", multiple=True, help="Links that then fail: some, at random, or one."),
    click.option("--until", type=click.FloatRange(0), help="Stop after so many seconds, quiet or not."),
    click.option("--seed", type=int, default=0, show_default=True),
)  # fmt: skip


def read_network_program(program: str, include: tuple[Path, ...], macros: tuple[str, ...]) -> Program:
    """A program of the library, or one in a file."""
    from headwater.language.datalog import parse
    from headwater.networks.library import library_program, programs

    if program in programs():
        return library_program(program)
    if program != "-" and not Path(program).is_file():
        hint = f"give a file, or one of {', '.join(programs())}"
        raise DataError("missing-file", f"there is no file {program}, nor a program of this name", hint=hint)
    text, source = program_text(program, include, macros)
    return parse(text, source)


def open_network(
    program: str,
    include: tuple[Path, ...],
    macros: tuple[str, ...],
    topology: str,
    metrics: tuple[str, ...],
    **options: Any,
) -> Network:
    """The network that the options say."""
    from headwater.networks.opening import network

    return network(read_network_program(program, include, macros), topology, metric=metrics, **options)
