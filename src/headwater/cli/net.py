"""`headwater net`: programs on networks, checked, run and traced."""

from __future__ import annotations

import click

from headwater.cli.net_check import check
from headwater.cli.net_run import run
from headwater.cli.net_search import search
from headwater.cli.net_trace import trace


@click.group()
def net() -> None:
    """Run NDlog programs on networks of nodes.

    \b
    Example:
      headwater net run shortest-path --topology topohub:topozoo/Abilene
      headwater net run program.ndlog --topology transit-stub:100 --fail 10%
      headwater net check program.ndlog
      headwater net trace program.ndlog --out run.trace
    """


net.add_command(check)
net.add_command(run)
net.add_command(search)
net.add_command(trace)
