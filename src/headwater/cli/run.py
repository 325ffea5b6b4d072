"""`headwater run`: a program, its facts in, its views out."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.options import (
    STRATEGY_NAMES,
    database_options,
    escape_formulas_option,
    header_option,
    memory_option,
    nan_option,
    on_null_option,
    preprocessor_options,
    program_argument,
    program_text,
    strict_option,
    strictness,
)
from headwater.cli.outcome import note

if TYPE_CHECKING:
    from headwater.cli.outputs import Output
    from headwater.database import Database
    from headwater.files.contents import Contents

_DIRECTIVES = ("input", "output", "printsize", ".decl", ".type", ".pragma")
_FORMATS = ("csv", "tsv", "parquet", "arrow", "json")


@click.command()
@program_argument
@preprocessor_options
@click.option(
    "-F",
    "--facts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of fact files, one for each base relation that has rows. [default: the current folder,"
    " for .input relations only]",
)
@click.option("-D", "--output", default="-", show_default=True, help="The folder to write to; - prints.")
@click.option(
    "-s",
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep program and data in this folder. Run again, it follows what has changed in the files.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Write all relations so. [default: as .output says, else tab-separated without a header]",
)
@memory_option
@click.option("--strategy", type=click.Choice(STRATEGY_NAMES), default="support", show_default=True)
@strict_option
@click.option(
    "--max-rounds",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Stop a recursion that goes on for longer.",
)
@click.option(
    "--sort/--no-sort", default=True, show_default=True, help="Write rows in order (otherwise in no order)."
)
@header_option
@on_null_option
@nan_option
@escape_formulas_option
@click.option(
    "--allow-outside",
    is_flag=True,
    help="Let the program name files outside the folders of facts and output.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print a table of all relations at the end.")
def run(
    program: str,
    include: tuple[Path, ...],
    macros: tuple[str, ...],
    facts: Path | None,
    output: str,
    state: Path | None,
    form: str | None,
    strategy: str,
    strict: bool | None,
    max_rounds: int,
    sort: bool,
    header: bool | None,
    on_null: str,
    nan: str,
    escape_formulas: bool,
    allow_outside: bool,
    verbose: bool,
) -> None:
    """Run a program on the facts in a folder and write its views.

    A relation's facts are in the file of its name: link.facts (tab-separated, as for Souffle), link.csv,
    .tsv, .parquet, .arrow, .feather, .json or .jsonl. A program with declarations as Souffle's (.decl) reads
    relations with .input only. Relations with .output are written (without any: all views).

    \b
    Examples:
      headwater run program.dl -F facts/ -D out/
      headwater run program.dl -F facts/ -D -
      headwater run program.dl -F facts/ -D out/ -s state/ --format parquet
    """
    import headwater
    from headwater.catalog import Catalog
    from headwater.catalog.doubtful import refuse_doubtful
    from headwater.cli.follow import differences, reopened
    from headwater.cli.inputs import find_inputs, read_inputs, why_empty
    from headwater.cli.missing import MissingValues
    from headwater.cli.outputs import find_outputs, refuse_overwriting, write_outputs
    from headwater.cli.progress import loading
    from headwater.cli.state import blaming, settle, types_of
    from headwater.files.load import by_relation, load
    from headwater.language.datalog import parse
    from headwater.language.program import Program
    from headwater.values.functions import Functions

    started = time.perf_counter()
    text, source = program_text(program, include, macros)
    options: dict[str, Any] = {"strategy": strategy, "strict": False, "max_rounds": max_rounds}
    with ExitStack() as stack:
        kept = reopened(state, text, options) if state is not None else None
        if kept is not None:
            stack.enter_context(kept)
        # A text may state very many facts: it is not read again if there can be no directive in it.
        directed = any(word in text for word in _DIRECTIVES)
        parsed = parse(text, source) if kept is None or directed else Program()
        described = kept or Catalog(Functions()).with_program(parsed)
        inputs, without = find_inputs(described, parsed, facts, header, outside=allow_outside)
        if kept is None:
            refuse_doubtful(
                parsed, Catalog(Functions(), strictness(strict)), {one.relation for one in inputs}
            )
            parsed = replace(parsed, slips=())
        paths = [one.origin.path for one in inputs]
        outputs = find_outputs(
            described,
            parsed,
            None if output == "-" else Path(output),
            form,
            outside=allow_outside,
            escape_formulas=escape_formulas,
        )
        refuse_overwriting(outputs, paths)
        with loading(paths) as advance:
            contents = read_inputs(described, inputs, advance)
            missing = MissingValues(on_null, nan)
            tables = missing.read(described, contents, load(contents, types_of(described)))
            found = zip(contents, tables, strict=True)
            rows = by_relation(
                contents, [missing.taken(described, one.relation, table) for one, table in found]
            )
        # Only now that all is read: what is refused leaves no state behind.
        database = kept or stack.enter_context(headwater.connect(state, **database_options(), **options))
        before = database.version
        missing.put_aside(before + 1)
        with blaming(contents):
            if kept is None:
                database.define(parsed, insert=rows)
            else:
                insert, delete = differences(kept, contents, rows)
                if insert or delete:
                    database.apply(insert=insert, delete=delete)
        settle(database, before, whatever_its_size=kept is None)
        for relation in without:
            if len(database[relation]) == 0:
                note(f"{relation} is empty: {why_empty(relation, parsed, facts)}")
        written = write_outputs(database, outputs, sort=sort)
        _summary(database, written, contents, time.perf_counter() - started, verbose)


def _summary(
    database: Database,
    written: list[tuple[Output, int]],
    contents: list[Contents],
    duration: float,
    verbose: bool,
) -> None:
    """On standard error: what was read and written, the version, the time."""
    from headwater.cli.report import size_of
    from headwater.cli.screen import print_table, seconds
    from headwater.wording import counted

    sys.stdout.flush()
    if verbose:
        files = {output.relation: output.path for output, _ in written if output.path is not None}
        origins: dict[str, list[str]] = {}
        for one in contents:
            origins.setdefault(one.relation, []).append(one.origin + (" (with header)" if one.header else ""))
        lines = [
            (
                name,
                database.info(name).kind_shown,
                size_of(database, name),
                ", ".join(origins.get(name, [])),
                str(files.get(name, "")),
            )
            for name in database.relations
        ]
        print_table(("relation", "kind", "rows", "from", "to"), lines, numbers=["rows"], stream=sys.stderr)
    read, out = sum(one.rows for one in contents), [rows for output, rows in written if output.format]
    click.echo(
        f"{counted(read, 'row')} read, {counted(sum(out), 'row')} of {counted(len(out), 'relation')} written,"
        f" version {database.version}, {seconds(duration)}",
        err=True,
    )
