"""`headwater check`: is a program accepted, and what becomes of its rules?"""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import (
    preprocessor_options,
    program_argument,
    program_text,
    strict_option,
    strictness,
)


@click.command()
@program_argument
@preprocessor_options
@strict_option
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def check(
    program: str, include: tuple[Path, ...], macros: tuple[str, ...], strict: bool | None, quiet: bool
) -> None:
    """Check a program without running it, and print its rules as they will be run.

    \b
    Example:
      headwater check program.dl
    """
    from headwater.catalog import Catalog
    from headwater.catalog.doubtful import refuse_doubtful
    from headwater.language.datalog import parse
    from headwater.rules.render import render
    from headwater.values.functions import Functions

    text, source = program_text(program, include, macros)
    parsed, catalog = parse(text, source), Catalog(Functions(), strictness(strict))
    refuse_doubtful(parsed, catalog)
    checked = catalog.with_program(parsed).program
    if not quiet:
        click.echo(render(checked))
