"""`headwater check`: is a program accepted, and what becomes of its rules?"""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import preprocessor_options, program_argument, program_text, strict_option


@click.command()
@program_argument
@preprocessor_options
@strict_option
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def check(
    program: str, include: tuple[Path, ...], macros: tuple[str, ...], strict: bool, quiet: bool
) -> None:
    """Check a program without running it, and print its rules as they will be run.

    \b
    Example:
      headwater check program.dl
    """
    from headwater.language.datalog import parse
    from headwater.rules.check import check as check_rules
    from headwater.rules.render import render
    from headwater.values.functions import Functions

    text, source = program_text(program, include, macros)
    checked = check_rules(parse(text, source), Functions(), strict=strict)
    if not quiet:
        click.echo(render(checked))
