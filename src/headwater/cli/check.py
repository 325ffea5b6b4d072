"""`headwater check`: is a program accepted, and what becomes of its rules?"""

from __future__ import annotations

import click

from headwater.cli.options import program_argument, program_text, strict_option


@click.command()
@program_argument
@strict_option
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def check(program: str, strict: bool, quiet: bool) -> None:
    """Check a program without running it, and print its rules as they will be run.

    \b
    Example:
      headwater check program.dl
    """
    from headwater.language.datalog import parse
    from headwater.rules.check import check as check_rules
    from headwater.rules.render import render
    from headwater.values.functions import Functions

    text, source = program_text(program)
    checked = check_rules(parse(text, source), Functions(), strict=strict)
    if not quiet:
        click.echo(render(checked))
