"""Arguments and options that several commands have."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from headwater.errors import DataError

STRATEGY_NAMES = (
    "support", "counting", "dred", "recompute", "absorption", "absorption-eager", "relative", "auto",
)  # fmt: skip

program_argument = click.argument(
    "program", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="PROGRAM"
)
state_option = click.option(
    "-s", "--state", required=True, type=click.Path(file_okay=False, path_type=Path), help="The state folder."
)
strict_option = click.option("--strict", is_flag=True, help="Refuse relations that nothing declares.")
header_option = click.option(
    "--header/--no-header",
    default=None,
    help="The first line of CSV and TSV files is, or is not, column names. [default: it is if it has the"
    " names of the relation's columns]",
)


def program_text(program: str) -> tuple[str, str]:
    """The text of a program and what errors call it; `-` is standard input."""
    name = "<stdin>" if program == "-" else program
    try:
        data = sys.stdin.buffer.read() if program == "-" else Path(program).read_bytes()
        return data.decode().removeprefix("\ufeff"), name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError("not-utf8", f"{name}, line {line}: byte {error.start + 1} is not UTF-8") from None
    except OSError as error:
        raise DataError("unreadable", f"cannot read {name}: {error.strerror}") from None
