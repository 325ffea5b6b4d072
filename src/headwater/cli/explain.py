"""`headwater explain`: how views are maintained."""

from __future__ import annotations

from pathlib import Path

import click

from headwater.cli.options import database_options, memory_option, program_text


@click.command()
@click.option("-s", "--state", type=click.Path(file_okay=False, path_type=Path), help="The state folder.")
@memory_option
@click.argument("names", nargs=-1, metavar="[PROGRAM] [VIEW]")
def explain(state: Path | None, names: tuple[str, ...]) -> None:
    """Say how a view (or all) is maintained: rules, join orders, strategy, sizes.

    With -s, of a state folder, which is not locked; else of a program.

    \b
    Examples:
      headwater explain -s state/ reach
      headwater explain program.dl reach
    """
    import headwater
    from headwater.cli.state import open_state

    program, view = _split(state, names)
    if program is not None:
        text, source = program_text(program)
        database = headwater.connect(**database_options())
        database.define(text, source=source)
    else:
        assert state is not None
        database = open_state(state, mode="r")
    with database:
        click.echo(str(database.explain(view)))


def _split(state: Path | None, names: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The program (without a state) and the view."""
    rest = list(names)
    program = None
    if state is None:
        if not rest:
            raise click.UsageError("give a state folder (-s) or a program")
        program = rest.pop(0)
        if program != "-" and not Path(program).is_file():
            raise click.UsageError(f"there is no program {program}")
    if len(rest) > 1:
        raise click.UsageError(f"at most one view, not {', '.join(rest)}")
    return program, (rest[0] if rest else None)
