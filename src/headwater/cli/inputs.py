"""Which files a run reads: those of `.input` relations, and of any base relation that has one.

Souffle's options are honoured: `IO=file` (the default) or `IO=stdin`, `filename`, `delimiter`, `rfc4180`,
`headers`; packed files are recognised without `compress`. Other options are refused, not ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headwater.cli.state import Described, base_relations
from headwater.errors import DataError, LanguageError
from headwater.files.contents import Contents, Origin
from headwater.files.find import Folder
from headwater.files.formats import Format, format_of, with_options
from headwater.files.read import read
from headwater.language.program import Directive, Program

_OPTIONS = ("IO", "filename", "delimiter", "rfc4180", "headers", "compress")


@dataclass(frozen=True)
class Input:
    """A file that holds rows of a relation."""

    relation: str
    origin: Origin


def find_inputs(
    described: Described, program: Program, folder: Path | None, header: bool | None
) -> tuple[list[Input], list[str]]:
    """The files to read, and the base relations that have none.

    Without a folder, only `.input` relations are looked for, in the current one. A missing file of an
    `.input` relation is an error.
    """
    files = Folder(folder if folder is not None else Path("."))
    found: list[Input] = []
    directives = [directive for directive in program.directives if directive.kind == "input"]
    for directive in directives:
        found.append(Input(directive.relation, _asked(directive, files, header)))
    asked = {directive.relation for directive in directives}
    without = []
    for relation in base_relations(described):
        if relation in asked:
            continue
        path = files.file_of(relation) if folder is not None else None
        if path is not None:
            found.append(Input(relation, Origin(path, with_header(format_of(path), header))))
        else:
            without.append(relation)
    return found, without


def _asked(directive: Directive, files: Folder, header: bool | None) -> Origin:
    options = directive.options
    refuse_options(directive, _OPTIONS)
    source = options.get("IO", "file").lower()
    if source == "stdin":
        return Origin(None, with_options(None, options, directive.place))
    if source != "file":
        raise unsupported(directive, f"IO={options['IO']} is not supported", "use IO=file or IO=stdin")
    if "filename" in options:
        path: Path | None = files.path / options["filename"]  # an absolute name stays what it is
        assert path is not None
        if not path.is_file():
            raise DataError("missing-file", f"there is no file {path}", place=directive.place)
    else:
        path = files.file_of(directive.relation)
        if path is None:
            error = files.missing(directive.relation)
            raise DataError(error.code, error.message, place=directive.place, hint=error.hint)
    found = with_header(format_of(path), header if "headers" not in options else None)
    return Origin(path, with_options(found, options, directive.place))


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
        found = read(one.origin, one.relation, info.columns, info.types, advance=advance)
        if found.change_types is not None:
            raise DataError(
                "change-feed",
                f"{found.origin} is a change feed: it has the column _change_type",
                hint="give it to `headwater apply`",
            )
        contents.append(found)
    return contents
