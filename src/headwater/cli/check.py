"""`headwater check`: is a program accepted, and what becomes of its rules?"""

from __future__ import annotations

from dataclasses import replace
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
    from headwater.active.rules import armed_actions, completed
    from headwater.catalog import Catalog
    from headwater.catalog.catalog import nothing_stored
    from headwater.catalog.doubtful import refuse_doubtful
    from headwater.language.datalog import parse
    from headwater.language.datalog.render import render as as_written
    from headwater.rules.render import render
    from headwater.values.functions import Functions

    text, source = program_text(program, include, macros)
    parsed, catalog = parse(text, source), Catalog(Functions(), strictness(strict))
    refuse_doubtful(parsed, catalog)
    catalog = completed(catalog.with_program(parsed), nothing_stored)
    armed_actions(catalog)
    if not quiet:
        click.echo(render(catalog.program))
        for rule in catalog.active:
            click.echo(f"{rule.id}: {as_written(replace(rule, label=None))}")
