"""Arguments and options that several commands have."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from headwater.rules.unfilled import Strictness

STRATEGY_NAMES = (
    "support", "counting", "dred", "recompute", "absorption", "absorption-eager", "relative", "auto",
)  # fmt: skip

MEMORY = "headwater.memory"
"""Where the context of a command keeps what --memory says."""

program_argument = click.argument(
    "program", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="PROGRAM"
)
state_option = click.option(
    "-s", "--state", required=True, type=click.Path(file_okay=False, path_type=Path), help="The state folder."
)
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    expose_value=False,
    callback=lambda context, _, value: context.meta.__setitem__(MEMORY, value),
    help="Refuse what would take more memory: bytes, 8GB, or 75%. [default: 75% of what there is]",
)
strict_option = click.option(
    "--strict/--no-strict",
    default=None,
    help="Refuse all relations that nothing fills, or none. [default: those whose name is near another's]",
)
_include_option = click.option(
    "-I",
    "--include-dir",
    "include",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that files may be included from; the program's own folder always is one.",
)
_macro_option = click.option(
    "-M", "--macro", "macros", multiple=True, metavar="NAME=TEXT", help="Define a macro, as #define does."
)
header_option = click.option(
    "--header/--no-header",
    default=None,
    help="The first line of CSV and TSV files is, or is not, column names. [default: it is if it has the"
    " names of the relation's columns; other words are refused until this is said]",
)
on_null_option = click.option(
    "--on-null",
    default="fail",
    show_default=True,
    metavar="fail|drop|keep|FILE",
    help="What becomes of rows in files without a value where the relation needs one: refuse the file, leave them"
    " out, let the column take missing values, or leave them out and write them to FILE (JSON lines).",
)
nan_option = click.option(
    "--nan",
    type=click.Choice(("value", "null")),
    default="value",
    show_default=True,
    help="Whether NaN in files is a value, or stands for a missing one.",
)
escape_formulas_option = click.option(
    "--escape-formulas",
    is_flag=True,
    help="Put a ' in front of strings that a spreadsheet would compute: those with = + - @, a tab or a CR first.",
)


Command = TypeVar("Command", bound=Callable[..., Any])


def preprocessor_options(command: Command) -> Command:
    """The options of a command that takes a program: `include` and `macros`."""
    return _include_option(_macro_option(command))


def strictness(strict: bool | None) -> Strictness:
    """What the option says."""
    return "near" if strict is None else strict


def state_written() -> str:
    """The option `-s` as the running command was given it, for commands in hints."""
    context = click.get_current_context(silent=True)
    state = context.params.get("state") if context is not None else None
    return "" if state is None else f" -s {shlex.quote(str(state))}"


def database_options() -> dict[str, Any]:
    """What options of the running command say about every database that it opens."""
    context = click.get_current_context(silent=True)
    return {"memory": context.meta.get(MEMORY)} if context is not None else {}


def program_text(program: str, include: Sequence[Path] = (), macros: Sequence[str] = ()) -> tuple[str, str]:
    """The text of a program, with all that it includes, and what errors call it; `-` is standard input."""
    from headwater.language.datalog.preprocess import preprocess

    text, name = _read(program)
    folder = None if program == "-" else Path(program).parent
    defined = {name: body for name, _, body in (written.partition("=") for written in macros)}
    return preprocess(text, name, folder=folder, include=include, macros=defined), name


def _read(program: str) -> tuple[str, str]:
    from headwater.language.datalog.program_file import not_utf8, read_program

    if program != "-":
        return read_program(Path(program)), program
    data = sys.stdin.buffer.read()
    try:
        return data.decode().removeprefix("\ufeff"), "<stdin>"
    except UnicodeDecodeError as error:
        raise not_utf8("<stdin>", data, error) from None
