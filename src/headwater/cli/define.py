"""`headwater define`: add rules to a state folder."""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import (
    database_options,
    memory_option,
    preprocessor_options,
    program_argument,
    program_text,
    state_option,
    strict_option,
    strictness,
)


@click.command()
@state_option
@memory_option
@program_argument
@preprocessor_options
@strict_option
@click.option("-v", "--verbose", is_flag=True, help="Print the rows that the views gained.")
def define(
    state: Path,
    program: str,
    include: tuple[Path, ...],
    macros: tuple[str, ...],
    strict: bool | None,
    verbose: bool,
) -> None:
    """Add a program's rules, declarations and facts to a state folder, as one version.

    The folder is made if there is none. Fact files are not read: that is for `run` and `apply`.

    \b
    Example:
      headwater define -s state/ program.dl
    """
    import headwater
    from headwater.cli.report import print_changes
    from headwater.cli.state import settle

    text, source = program_text(program, include, macros)
    with headwater.connect(state, strict=strictness(strict), **database_options()) as database:
        before = database.version
        changes = database.define(text, source=source)
        settle(database, before)
        print_changes(database, changes, rows=20 if verbose else 0)
