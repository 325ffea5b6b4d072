"""The command `headwater`: the library from a shell.

Each command is a module of its own. None of them imports the engine before it runs, so `--help` is quick.

Exit codes: 0 done; 1 the program, the data or the run was refused; 2 the command was not understood; 3 the
state folder cannot be read or written; 70 a bug in Headwater; 130 interrupted; 141 nobody reads the output.
"""

from __future__ import annotations

import click

from headwater import __version__
from headwater.cli.apply import apply
from headwater.cli.bench import bench
from headwater.cli.check import check
from headwater.cli.compact import compact
from headwater.cli.define import define
from headwater.cli.depends import depends
from headwater.cli.exchange import exchange
from headwater.cli.explain import explain
from headwater.cli.net import net
from headwater.cli.outcome import CommandGroup
from headwater.cli.pipeline import pipeline
from headwater.cli.query import query
from headwater.cli.run import run
from headwater.cli.show import show
from headwater.cli.sketch import sketch
from headwater.cli.watch import watch
from headwater.cli.what_if import what_if
from headwater.cli.why import why
from headwater.cli.why_not import why_not

__all__ = ["main"]


@click.group(
    cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="headwater", message="%(prog)s %(version)s")
def main() -> None:
    """Recursive views, kept exactly right while the data under them changes.

    \b
    Try:
      headwater run program.dl -F facts/ -D out/      once, as with Souffle
      headwater run program.dl -F facts/ -s state/    and keep the result
      headwater apply -s state/ --insert 'link(a,b)'  change it
      headwater show -s state/ reach                  look at it
      headwater query -s state/ 'reach(a,X)'          ask for some of it
      headwater watch state/ reach                    follow it
      headwater why -s state/ 'reach(a,c)'            ask why a row is there
    """


COMMANDS = (
    run, apply, define, show, query, watch, why, why_not, what_if, depends, explain, check, compact, pipeline,
    exchange, sketch, net, bench,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)
