"""What a file's extension, or the options of Souffle's `.input` and `.output`, say about its format.

>>> format_of("facts/link.csv").delimiter, format_of("link.facts.gz").quoted, format_of("notes.md")
(',', False, None)
>>> with_options(None, {"delimiter": ";", "headers": "true"}).header
True
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from headwater.errors import LanguageError, Place

Kind = Literal["text", "parquet", "arrow", "json", "jsonl"]


@dataclass(frozen=True)
class Format:
    """How rows are written. All but `kind` is for text.

    `header` is `None` where the first line decides. With `either`, so does the first line whether this is
    the format or `SOUFFLE`. For writing only: with `short_floats`, whole floats are written as Souffle does (`5`, not
    `5.0`); with `escape_formulas`, strings that a spreadsheet would compute get a `'` in front.
    """

    kind: Kind
    delimiter: str = ""
    quoted: bool = False
    header: bool | None = None
    either: bool = False
    short_floats: bool = False
    escape_formulas: bool = False


SOUFFLE = Format("text", "\t", quoted=False, header=False)
CSV = Format("text", ",", quoted=True, header=None, either=True)
TSV = Format("text", "\t", quoted=True, header=None)

EXTENSIONS: Mapping[str, Format] = {
    ".facts": SOUFFLE,
    ".csv": CSV,
    ".tsv": TSV,
    ".parquet": Format("parquet"),
    ".arrow": Format("arrow"),
    ".feather": Format("arrow"),
    ".json": Format("json"),
    ".jsonl": Format("jsonl"),
}

WRITTEN: Mapping[str, Format] = {
    "csv": replace(CSV, header=True, either=False),
    "tsv": replace(TSV, header=True),
    "parquet": Format("parquet"),
    "arrow": Format("arrow"),
    "json": Format("json"),
}
"""The formats that can be asked for by name when writing; each name is also the extension."""


def split_extension(name: str) -> tuple[str, str]:
    """The name without its extension, and the extension (with `.gz`, if there is one).

    >>> split_extension("link.insert.csv.gz")
    ('link.insert', '.csv.gz')
    """
    packed = ".gz" if name.endswith(".gz") else ""
    stem, extension = os.path.splitext(name.removesuffix(packed))
    return stem, extension + packed


def format_of(path: str | os.PathLike[str]) -> Format | None:
    """The format that a file's extension stands for, if it stands for any."""
    extension = split_extension(os.path.basename(path))[1]
    found = EXTENSIONS.get(extension.removesuffix(".gz"))
    if found is not None and found.kind in ("parquet", "arrow") and extension.endswith(".gz"):
        return None
    return found


def with_options(format: Format | None, options: Mapping[str, str], place: Place | None = None) -> Format:
    """The format with Souffle's options applied; `format` is what the extension says.

    As in Souffle, a delimiter that is given stands for plain text without quotes, unless `rfc4180=true`; and
    text is tab-separated without a header where neither options nor extension say otherwise.
    """
    chosen = format or SOUFFLE
    asked = {key for key in ("delimiter", "rfc4180", "headers") if key in options}
    if asked and chosen.kind != "text":
        what = " and ".join(sorted(asked))
        raise LanguageError("unsupported", f"{what} is for text files, not {chosen.kind}", place=place)
    if "delimiter" in options or "rfc4180" in options:
        quoted = _flag(options, "rfc4180", place)
        delimiter = options.get("delimiter", "," if quoted else "\t")
        if delimiter == "" or any(c in delimiter for c in "\r\n") or (quoted and '"' in delimiter):
            raise LanguageError(
                "unsupported",
                f"{delimiter!r} cannot be a delimiter",
                place=place,
                hint='use a character such as "," or "\\t"',
            )
        chosen = replace(chosen, delimiter=delimiter, quoted=quoted, either=False)
    if "headers" in options:
        chosen = replace(chosen, header=_flag(options, "headers", place))
    return chosen


def _flag(options: Mapping[str, str], key: str, place: Place | None) -> bool:
    value = options.get(key, "false").lower()
    if value not in ("true", "false"):
        raise LanguageError("unsupported", f"{key} is {options[key]!r}, expected true or false", place=place)
    return value == "true"
