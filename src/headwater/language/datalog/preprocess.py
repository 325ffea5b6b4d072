"""`#define`, `#include`, `#ifdef` and the like, as in C, before anything else is read.

>>> preprocess("#define N 3\\np(N). % N", "<text>").split("\\n")
['', 'p(3).    ']

What comes out needs no other file, and says where each line came from: lines stay where they are, and around an
included file stand `#line 1 "file"` lines, which places follow. A text without such lines comes out as it is.

An included file is looked for beside the file that includes it, then in the folders given. It must lie in the
program's folder, or in one of those given: what a program names by `..`, by an absolute path or through a link
elsewhere is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater.errors import LanguageError, Place
from headwater.language.datalog.comments import blank_comments
from headwater.language.datalog.macros import MacroProblem, Macros
from headwater.language.source import SourceText

MOST_INCLUDED = 64
"""Files that may include each other in a row."""
MOST_FILES = 10_000
"""Files that may be included, counting each as often as it is."""
MOST_CHARACTERS = 1 << 28
"""What included files may have in all."""

_DIRECTIVE = re.compile(
    r"[ \t]*(?:\#[ \t]*(include|define|undef|ifdef|ifndef|if|elif|else|endif|error|pragma)\b(?![ \t]*\()"
    r"|\.(include|once)\b)",
)
_ANY = re.compile(f"^{_DIRECTIVE.pattern}", re.MULTILINE)
_NETWORKED = re.compile(r"^[ \t]*materialize[ \t]*\(", re.MULTILINE)
"""P2's own statement: its programs go through C's preprocessor, for which the last of several definitions holds."""
_INCLUDED = re.compile(r'\s*(?:"([^"\n]+)"|<([^>\n]+)>)\s*')
_NAME = re.compile(r"\s*([^\W\d]\w*)\s*")


@dataclass(frozen=True)
class Includes:
    """Where included files may lie: the program's folder (if it has one), and folders that the user named."""

    folder: Path | None = None
    others: Sequence[Path] = ()

    def find(self, name: str, beside: Path | None) -> Path | None:
        """The file of this name, looked for beside the one that includes it (if it may be there) and elsewhere."""
        folders = [*([] if beside is None else [beside]), *self.others]
        return next((path for folder in folders if os.path.isfile(path := folder / name)), None)

    def allow(self, path: Path) -> bool:
        """Whether a file lies in one of the folders, wherever links lead."""
        allowed = [*([] if self.folder is None else [self.folder]), *self.others]
        return any(path.resolve().is_relative_to(folder.resolve()) for folder in allowed)


@dataclass
class _Condition:
    """An `#ifdef` that is open: whether its lines count, and whether `#else` was read."""

    place: Place
    active: bool
    outer: bool
    other: bool = False


def preprocess(
    text: str,
    source: str,
    *,
    folder: Path | None = None,
    include: Sequence[Path] = (),
    macros: Mapping[str, str] = {},  # noqa: B006
) -> str:
    """The text as the grammar wants it; `folder` is the program's, `include` and `macros` are the user's."""
    if not macros and _ANY.search(text) is None:
        return text
    known = Macros(last_holds=_NETWORKED.search(text) is not None)
    for name, body in macros.items():
        try:
            if len(name.partition("(")[0].split()) != 1:
                raise MacroProblem("expected a name, and what it stands for")
            known.define(f"{name} {body}", given=True)
        except MacroProblem as problem:
            raise LanguageError(
                "preprocessor",
                f"the macro {name!r}: {problem}",
                hint="define it as -M NAME=TEXT, such as -M LIMIT=10",
            ) from None
    return "\n".join(_Reader(Includes(folder, tuple(include)), known).lines(SourceText(source, text), folder))


@dataclass
class _Reader:
    """Reads files and those they include, one after the other."""

    includes: Includes
    macros: Macros
    open_files: list[Path] = field(default_factory=list)
    once: set[Path] = field(default_factory=set)
    files: int = 0
    characters: int = 0

    def lines(self, source: SourceText, folder: Path | None) -> list[str]:
        """The lines of a text that lies in `folder`."""
        self.characters += len(source.text)
        if self.characters > MOST_CHARACTERS:
            place = source.place(0, 1)
            message = f"included files have more than {MOST_CHARACTERS:,} characters"
            raise LanguageError("preprocessor", message, place=place)
        return _File(self, source, folder).read()

    def included(self, name: str, beside: Path | None, place: Place) -> tuple[Path, list[str]]:
        """The file that an `#include` names, and its lines."""
        path = self.includes.find(name, beside)
        if path is None:
            raise self._missing(name, beside, place)
        if not self.includes.allow(path):
            message = f"{name} lies outside the program's folder"
            hint = "name its folder with -I, or put it beside the program"
            raise LanguageError("include", message, place=place, hint=hint)
        real = path.resolve()
        if real in self.once:
            return path, []
        if real in self.open_files:
            message = f"{name} includes itself, directly or through others"
            raise LanguageError("include", message, place=place, hint="put what both need into a third file")
        if len(self.open_files) >= MOST_INCLUDED:
            message = f"more than {MOST_INCLUDED} files include each other in a row"
            raise LanguageError("include", message, place=place, hint="include them side by side")
        if self.files >= MOST_FILES:
            message = f"more than {MOST_FILES:,} files are included"
            hint = "#pragma once, in a file that several include, lets it count once"
            raise LanguageError("include", message, place=place, hint=hint)
        self.open_files.append(real)
        self.files += 1
        text = self._text(path, place)
        lines = self.lines(SourceText(str(path), text), path.parent)
        self.open_files.pop()
        return path, lines

    def _missing(self, name: str, beside: Path | None, place: Place) -> LanguageError:
        if beside is None and not self.includes.others:
            message, hint = f"cannot include {name}: this text has no folder", "say which: folder=..."
        else:
            message, hint = f"there is no file {name} to include", "name the folder it is in with -I"
        return LanguageError("include", message, place=place, hint=hint)

    def _text(self, path: Path, place: Place) -> str:
        try:
            return path.read_text(encoding="utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise LanguageError("include", f"{path} is not UTF-8", place=place) from None
        except OSError as error:
            raise LanguageError("include", f"cannot read {path}: {error.strerror}", place=place) from None


class _File:
    """Reads one text line by line."""

    def __init__(self, reader: _Reader, source: SourceText, folder: Path | None):
        self.reader = reader
        self.source = source
        self.folder = folder
        self.conditions: list[_Condition] = []
        self.pending: list[str] = []
        self.pending_start = 0
        self.out: list[str] = []

    def read(self) -> list[str]:
        """All lines, as the grammar wants them."""
        lines = blank_comments(self.source, directives=True).split("\n")
        offset = number = 0
        while number < len(lines):
            first, start = number, offset
            match = _DIRECTIVE.match(lines[number])
            while match is not None and lines[number].rstrip().endswith("\\") and number + 1 < len(lines):
                offset += len(lines[number]) + 1
                number += 1
            offset += len(lines[number]) + 1
            number += 1
            if match is None:
                self._ordinary(lines[first], start)
                continue
            end = start + sum(len(line) + 1 for line in lines[first:number]) - 1
            rest = [line.rstrip().removesuffix("\\") for line in lines[first:number]]
            rest[0] = rest[0][match.end() :]
            self._flush()
            self._directive(
                match[1] or match[2], "\n".join(rest), self.source.place(start, end), number - first
            )
        self._flush()
        if self.conditions:
            message = "this is not closed by #endif"
            raise LanguageError("preprocessor", message, place=self.conditions[-1].place)
        return self.out

    @property
    def active(self) -> bool:
        """Whether lines count here."""
        return not self.conditions or self.conditions[-1].active

    def _ordinary(self, line: str, start: int) -> None:
        if not self.pending:
            self.pending_start = start
        self.pending.append(line if self.active else " " * len(line))

    def _flush(self) -> None:
        """Expand macros in the lines since the last directive; a use may go over several lines."""
        text = "\n".join(self.pending)
        if not self.pending:
            return
        pieces: list[str] = []
        done = 0
        try:
            while (found := self.reader.macros.find(text, done)) is not None:
                start, end, macro, arguments = found
                pieces += [text[done:start], self.reader.macros.replaced(macro, arguments)]
                pieces.append("\n" * text.count("\n", start, end))
                done = end
        except MacroProblem as problem:
            # The use that cannot be expanded comes after all that could.
            at = self.pending_start + done
            raise LanguageError("preprocessor", str(problem), place=self._use(at)) from None
        self.out += "".join([*pieces, text[done:]]).split("\n")
        self.pending = []

    def _use(self, offset: int) -> Place:
        """The first macro used from here on."""
        words = re.compile(r"[^\W\d]\w*").finditer(self.source.text, offset)
        start, end = next((w.span() for w in words if w[0] in self.reader.macros), (offset, offset + 1))
        return self.source.place(start, end)

    # -------------------------------------------------------------- directives

    def _directive(self, name: str, rest: str, place: Place, height: int) -> None:
        if name in ("ifdef", "ifndef", "if"):
            known = self.active and self._word(name, rest, place) in self.reader.macros
            active = self.active and known == (name == "ifdef")
            self.conditions.append(_Condition(place, active, self.active))
        elif name in ("else", "elif"):
            self._else(name, place)
        elif name == "endif":
            if not self.conditions:
                raise LanguageError("preprocessor", "#endif without #ifdef", place=place)
            self.conditions.pop()
        elif self.active:
            height -= self._act(name, rest, place)
        self.out += [""] * height

    def _else(self, name: str, place: Place) -> None:
        if not self.conditions or self.conditions[-1].other:
            raise LanguageError("preprocessor", f"#{name} without #ifdef", place=place)
        if name == "elif" and self.conditions[-1].outer:
            raise _unsupported(name, place)
        condition = self.conditions[-1]
        condition.active, condition.other = condition.outer and not condition.active, True

    def _word(self, name: str, rest: str, place: Place) -> str:
        if name == "if":
            raise _unsupported(name, place)
        match = _NAME.fullmatch(rest)
        if match is None:
            raise LanguageError("preprocessor", f"expected one name after #{name}", place=place)
        return match[1]

    def _act(self, name: str, rest: str, place: Place) -> int:
        """Do what a line says; the number of its own lines that are written already."""
        if name == "define":
            try:
                self.reader.macros.define(rest)
            except MacroProblem as problem:
                hint = (
                    "write #define NAME text, or #define NAME(a, b) text; #undef comes before another meaning"
                )
                raise LanguageError("preprocessor", str(problem), place=place, hint=hint) from None
        elif name == "undef":
            self.reader.macros.forget(self._word(name, rest, place))
        elif name == "error":
            raise LanguageError("preprocessor", rest.strip() or "#error", place=place)
        elif name == "include":
            self._include(rest, place)
            return 1
        elif (name == "once" or rest.split() == ["once"]) and self.reader.open_files:
            self.reader.once.add(self.reader.open_files[-1])
        return 0

    def _include(self, rest: str, place: Place) -> None:
        match = _INCLUDED.fullmatch(rest)
        if match is None:
            raise LanguageError("preprocessor", 'expected #include "file"', place=place)
        path, lines = self.reader.included(match[1] or match[2], self.folder if match[1] else None, place)
        self.out += [_marker(1, str(path)), *lines, _marker(place.line + 1, place.source)]


def _marker(line: int, source: str) -> str:
    return f"#line {line} {json.dumps(source, ensure_ascii=False)}"


def _unsupported(name: str, place: Place) -> LanguageError:
    hint = "use #ifdef, #ifndef and #else, with macros that are defined or not"
    return LanguageError("unsupported", f"#{name} is not supported", place=place, hint=hint)
