"""Which files a run reads: those of `.input` relations, and of any base relation that has one.

In texts of Souffle's dialect (with any `.decl`) it is as with Souffle: only `.input` relations are read, and one
whose file is missing is empty. In other texts a missing file of an `.input` relation is an error.

A program names files inside the folder of facts only, unless the user lets it name others.

Souffle's options are honoured: `IO=file` (the default) or `IO=stdin`, `filename`, `delimiter`, `rfc4180`,
`headers`; packed files are recognised without `compress`. Other options are refused, not ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headwater.cli.outcome import note
from headwater.cli.state import Described, base_relations
from headwater.errors import DataError, LanguageError
from headwater.files.contents import Contents, FactFile
from headwater.files.find import FactFolder, is_inside
from headwater.files.formats import Format, format_of, with_options
from headwater.files.read import read
from headwater.language.program import Directive, Program

_OPTIONS = ("IO", "filename", "delimiter", "rfc4180", "headers", "compress")


@dataclass(frozen=True)
class Input:
    """A file that holds rows of a relation; or one that is `missing`, which stands for no rows."""

    relation: str
    origin: FactFile
    missing: bool = False


def find_inputs(
    described: Described, program: Program, folder: Path | None, header: bool | None, *, outside: bool = False
) -> tuple[list[Input], list[str]]:
    """The files to read, and the base relations that have none.

    Without a folder, only `.input` relations are looked for, in the current one. With `outside`, the program may name
    files that are not in the folder.
    """
    files = FactFolder(folder if folder is not None else Path("."))
    found: list[Input] = []
    directives = [directive for directive in program.directives if directive.kind == "input"]
    for directive in directives:
        found.append(_asked(directive, files, header, missing=program.souffle, outside=outside))
    asked = {directive.relation for directive in directives}
    without = []
    for relation in base_relations(described):
        if relation in asked:
            continue
        path = files.file_of(relation) if folder is not None and not program.souffle else None
        if path is not None:
            found.append(Input(relation, FactFile(path, with_header(format_of(path), header))))
        else:
            without.append(relation)
    return found, without


def why_empty(relation: str, program: Program, folder: Path | None) -> str:
    """Why a base relation without a file has none, in words."""
    if folder is None:
        return f"no folder of facts was given (-F), and no `.input {relation}`"
    path = FactFolder(folder).file_of(relation) if program.souffle else None
    if path is not None:
        return f"{path} is not read without `.input {relation}`, since the text has declarations as Souffle's"
    near = FactFolder(folder).near(relation)
    meant = f"; did you mean {near.name}?" if near is not None else ""
    return f"there is no {relation}.facts, {relation}.csv, ... in {folder}{meant}"


def _asked(
    directive: Directive, files: FactFolder, header: bool | None, *, missing: bool, outside: bool
) -> Input:
    relation, options = directive.relation, directive.options
    refuse_options(directive, _OPTIONS)
    source = options.get("IO", "file").lower()
    if source == "stdin":
        return Input(relation, FactFile(None, with_options(None, options, directive.place)))
    if source != "file":
        raise unsupported(directive, f"IO={options['IO']} is not supported", "use IO=file or IO=stdin")
    error: DataError | None = None
    if "filename" in options:
        path: Path | None = named_file(directive, files.path, options["filename"], outside=outside)
        if path is None or not path.is_file():
            error = DataError("missing-file", f"there is no file {path}", place=directive.place)
    else:
        path = files.file_of(relation)
        if path is None:
            said = files.missing(relation)
            error = DataError(said.code, said.message, place=directive.place, hint=said.hint)
    if error is not None and not missing:
        raise error
    if error is not None:
        note(f"{relation} is empty: {error.message}")
        return Input(relation, FactFile(path), missing=True)
    assert path is not None
    found = with_header(format_of(path), header if "headers" not in options else None)
    return Input(relation, FactFile(path, with_options(found, options, directive.place)))


def named_file(directive: Directive, folder: Path, name: str, *, outside: bool) -> Path:
    """The file that a program names in the folder that it was given; with `outside`, also elsewhere."""
    if "\0" in name:
        raise DataError("outside", f"no file can be called {name!r}", place=directive.place)
    if not outside and not is_inside(folder, name):
        raise DataError(
            "outside",
            f"{name} is not inside {folder}, and a program names files there only",
            place=directive.place,
            hint="if you trust the program, let it name others: --allow-outside",
        )
    return Path(os.path.normpath(folder / name))  # so that `..` goes back over names, not over links


def with_header(format: Format | None, header: bool | None) -> Format | None:
    """What `--header` says goes for formats in which the first line would decide."""
    if format is None or header is None or format.kind != "text" or format.header is not None:
        return format
    return replace(format, header=header)


def refuse_options(directive: Directive, known: Sequence[str]) -> None:
    """Refuse options of a directive that nothing here looks at."""
    for key in directive.options:
        if key not in known:
            raise unsupported(
                directive, f"the option {key} is not supported", f"there are: {', '.join(known)}"
            )


def unsupported(directive: Directive, message: str, hint: str) -> LanguageError:
    """The error for what Souffle has and we do not."""
    return LanguageError("unsupported", message, place=directive.place, hint=hint)


def read_inputs(
    described: Described, inputs: Sequence[Input], advance: Callable[[int], None] | None
) -> list[Contents]:
    """The files' contents, not typed yet."""
    contents = []
    for one in inputs:
        info = described.info(one.relation)
        if one.missing:
            nothing = ((),) * len(info.columns)
            contents.append(Contents(str(one.origin), one.relation, info.columns, "values", nothing, 0))
            continue
        found = read(
            one.origin,
            one.relation,
            info.columns,
            info.types,
            nullable=info.nullable,
            named=info.named,
            advance=advance,
        )
        if found.change_types is not None:
            raise DataError(
                "change-feed",
                f"{found.origin} is a change feed: it has the column _change_type",
                hint="give it to `headwater apply`",
            )
        contents.append(found)
    return contents
