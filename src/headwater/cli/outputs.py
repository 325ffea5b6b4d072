"""What a run writes: files as Souffle would name them, or text on standard output.

A program names files inside the output folder only, unless the user lets it name others. Texts of Souffle's dialect
write whole floats as Souffle does.

By default a relation goes to `<name>.csv`, tab-separated and without a header, as with Souffle; options of
`.output` (`filename`, `delimiter`, `rfc4180`, `headers`, `IO`) change that, and `--format` all of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from headwater.cli.inputs import named_file, refuse_options, unsupported
from headwater.cli.outcome import note
from headwater.cli.state import Described
from headwater.database import Database
from headwater.database.relation_view import RelationView
from headwater.errors import DataError
from headwater.files.formats import SOUFFLE, WRITTEN, Format, format_of, split_extension, with_options
from headwater.files.json_values import to_json
from headwater.files.order import in_order
from headwater.files.write import encode, write
from headwater.language.program import Directive, Program
from headwater.values.labelled import LABEL
from headwater.wording import counted

_OPTIONS = ("IO", "filename", "delimiter", "rfc4180", "headers")
_STDOUT, _PRINTSIZE = ("stdout", "stdoutcsv"), ("stdoutprintsize",)


@dataclass(frozen=True)
class Output:
    """A relation to write; without a path, to standard output, and without a format, only its size."""

    relation: str
    path: Path | None
    format: Format | None


def find_outputs(
    described: Described,
    program: Program,
    folder: Path | None,
    form: str | None,
    *,
    outside: bool = False,
    escape_formulas: bool = False,
) -> list[Output]:
    """What to write and where; `folder` is `None` for standard output, `form` is what `--format` says.

    Without `.output` and `.printsize`, all views are written.
    """
    found = []
    for directive in program.directives:
        if directive.kind == "output":
            found.append(_asked(directive, folder, form, outside=outside))
        elif directive.kind == "printsize":
            found.append(Output(directive.relation, None, None))
    if not found:
        for name in described.relations:
            if not described.info(name).base:
                found.append(_asked(Directive("output", name), folder, form, outside=outside))
    return [_as_written(output, program.souffle, escape_formulas) for output in found]


def _as_written(output: Output, short_floats: bool, escape_formulas: bool) -> Output:
    if output.format is None:
        return output
    format = replace(output.format, short_floats=short_floats, escape_formulas=escape_formulas)
    return replace(output, format=format)


def _asked(directive: Directive, folder: Path | None, form: str | None, *, outside: bool) -> Output:
    options = directive.options
    refuse_options(directive, _OPTIONS)
    target = options.get("IO", "file").lower()
    if target in _PRINTSIZE:
        return Output(directive.relation, None, None)
    if target not in ("file", *_STDOUT):
        raise unsupported(directive, f"IO={options['IO']} is not supported", "use IO=file or IO=stdout")
    name = options.get("filename", f"{directive.relation}.csv")
    if form is not None:
        name, format = f"{split_extension(name)[0]}.{form}", WRITTEN[form]
    else:
        kind = format_of(name)
        format = with_options(
            kind if kind is not None and kind.kind != "text" else SOUFFLE, options, directive.place
        )
        if name.endswith(".gz"):
            raise unsupported(directive, "packed files are not written", "pack the file afterwards")
    if folder is None or target in _STDOUT:
        return Output(directive.relation, None, format)
    return Output(directive.relation, named_file(directive, folder, name, outside=outside), format)


def refuse_overwriting(outputs: Sequence[Output], inputs: Sequence[Path | None]) -> None:
    """Refuse to write over a file that was read, and to write two relations to one file."""
    read = {path.resolve() for path in inputs if path is not None}
    written: set[Path] = set()
    for output in outputs:
        if output.path is None:
            continue
        path = output.path.resolve()
        if path in read or path in written:
            what = "facts are read from it" if path in read else "another relation goes there, too"
            raise DataError(
                "overwrite",
                f"{output.relation} cannot be written to {output.path}: {what}",
                hint="give another folder (-D), or a filename= in `.output`",
            )
        written.add(path)


def write_outputs(database: Database, outputs: Sequence[Output], *, sort: bool) -> list[tuple[Output, int]]:
    """Write all; return each with its number of rows."""
    written = []
    together: dict[str, Any] = {}
    stream = sys.stdout.buffer
    for output in outputs:
        view = database[output.relation]
        rows = len(view)
        written.append((output, rows))
        if output.format is None:
            continue
        table = _table(view)
        table = in_order(table) if sort else table
        if output.path is not None:
            write(output.path, table, rows, output.format)
        elif output.format.kind in ("json", "jsonl"):
            columns = [column.to_pylist() for column in table.columns]
            values = list(zip(*columns, strict=True)) if columns else [()] * rows
            together[output.relation] = [dict(zip(view.columns, to_json(row), strict=True)) for row in values]
        else:
            _print(stream, output, output.format, view.columns, table, rows)
    if together:
        stream.write(json.dumps(together, ensure_ascii=False).encode() + b"\n")
    sizes = "".join(f"{output.relation}\t{rows}\n" for output, rows in written if output.format is None)
    if together:
        click.echo(sizes, err=True, nl=False)  # standard output is one JSON value and nothing else
    else:
        stream.write(sizes.encode())
    stream.flush()
    return written


def _table(view: RelationView) -> Any:
    """The rows of a view as files hold them; says so where labelled nulls become missing values."""
    if any(column + LABEL in view.columns for column in view.columns):
        return view.arrow()
    table = view.arrow(labels=True)
    texts = table.columns[len(view.columns) :]
    labelled = sum(len(column) - column.null_count for column in texts)
    if labelled:
        note(
            f"{counted(labelled, 'labelled null')} of {view.name} written as missing, which files cannot tell apart; "
            "a state folder (-s) keeps them"
        )
    return table.select(list(view.columns)) if texts else table


def _print(
    stream: Any, output: Output, format: Format, columns: Sequence[str], table: Any, rows: int
) -> None:
    """As Souffle prints a relation: its name, its columns if there is to be a header, its rows, rulers."""
    if format.kind != "text":
        raise click.UsageError(f"--format {format.kind} needs a folder to write to (-D)")
    header = format.delimiter.join(columns) + "\n" if format.header else ""
    stream.write(f"---------------\n{output.relation}\n{header}===============\n".encode())
    stream.write(encode(table, rows, replace(format, header=False), name=output.relation))
    stream.write(b"===============\n")
