"""Cases that any way of running must pass, as data: a program, changes to it, and the rows that are to come out.

A case is a folder `<area>/<case>/` of three texts:

- `program.dl`, the definitions;
- `changes.txt`, a block of lines for each version: `+link(a, b)` inserts, `-link(a, b)` deletes, `@12.5` (alone
  in its block) sets the time. Blocks are parted by empty lines;
- `expected.txt`: a first line `compares: reach, total`, then for each version a line `version 1` followed by all
  the rows that those relations hold then, several on a line or one.

Values are written as in facts: `12`, `-1.5`, `true`, `[a, b]`, `a`, `"two words"`. In all three texts `#` at the
start of a line begins a note (in programs, `//`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]
FOLDER = Path(__file__).parent

# Python functions that programs may call; a case of another implementation needs the same.
FUNCTIONS = {
    "distance": (lambda a, b: hypot(a[0] - b[0], a[1] - b[1]), ["list[float]", "list[float]"], "float"),
}


@dataclass(frozen=True)
class Version:
    """Rows to delete and to insert (in the order of writing), or a time to go to."""

    delete: tuple[tuple[str, Row], ...] = ()
    insert: tuple[tuple[str, Row], ...] = ()
    time: float | None = None


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    compares: tuple[str, ...]
    versions: tuple[Version, ...]
    expected: tuple[dict[str, frozenset[Row]], ...]

    def __str__(self) -> str:
        return self.name


def load_cases(folder: Path = FOLDER) -> Iterator[Case]:
    """All cases below a folder."""
    for program in sorted(folder.glob("*/*/program.dl")):
        yield load_case(program.parent)


def load_case(folder: Path) -> Case:
    """The case in a folder; every version must have its expected rows."""
    name = f"{folder.parent.name}/{folder.name}"
    versions = tuple(_version(block) for block in _blocks((folder / "changes.txt").read_text()))
    compares, expected = _expected((folder / "expected.txt").read_text())
    assert len(versions) == len(expected), f"{name}: {len(versions)} versions, {len(expected)} expected"
    return Case(name, (folder / "program.dl").read_text(), compares, versions, tuple(expected))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if not line.lstrip().startswith("#")]


def _blocks(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in _lines(text):
        if line:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def _version(block: list[str]) -> Version:
    if block[0].startswith("@"):
        assert len(block) == 1, "a time stands alone"
        return Version(time=float(block[0][1:]))
    changes: dict[str, list[tuple[str, Row]]] = {"+": [], "-": []}
    for line in block:
        changes[line[0]] += parse_rows(line[1:])
    return Version(tuple(changes["-"]), tuple(changes["+"]))


def _expected(text: str) -> tuple[tuple[str, ...], list[dict[str, frozenset[Row]]]]:
    first, *lines = [line for line in _lines(text) if line]
    compares = tuple(name.strip() for name in first.removeprefix("compares:").split(","))
    versions: list[dict[str, set[Row]]] = []
    for line in lines:
        if line.startswith("version"):
            versions.append({name: set() for name in compares})
            assert line.split() == ["version", str(len(versions))], (
                f"{line} stands where {len(versions)} should"
            )
            continue
        for name, row in parse_rows(line):
            assert row not in versions[-1][name], f"version {len(versions)} has {name}{row} twice"
            versions[-1][name].add(row)
    return compares, [{name: frozenset(rows) for name, rows in version.items()} for version in versions]


# ------------------------------------------------------------------ rows

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"[^"]*")|(?P<number>-?\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<word>\w+)|(?P<mark>[(),\[\]]))'
)


def parse_rows(text: str) -> list[tuple[str, Row]]:
    """Rows written one after the other.

    >>> parse_rows('link(a, "b c", -1.5)  path(a, [a, [b], 3]) ready()')
    [('link', ('a', 'b c', -1.5)), ('path', ('a', ('a', ('b',), 3))), ('ready', ())]
    """
    tokens = _tokens(text)
    rows = []
    while tokens:
        name = tokens.pop(0)[1]
        rows.append((name, _values(tokens, "(", ")")))
    return rows


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        assert match is not None and match.lastgroup is not None, f"cannot read {text[place:]!r}"
        found.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found


def _values(tokens: list[tuple[str, str]], opening: str, closing: str) -> Row:
    assert tokens.pop(0)[1] == opening
    values: list[Any] = []
    while tokens[0][1] != closing:
        if values:
            assert tokens.pop(0)[1] == ","
        values.append(_value(tokens))
    tokens.pop(0)
    return tuple(values)


def _value(tokens: list[tuple[str, str]]) -> Any:
    kind, text = tokens[0]
    if text == "[":
        return _values(tokens, "[", "]")
    tokens.pop(0)
    if kind == "string":
        return text[1:-1]
    if kind == "number":
        return float(text) if set(text) & set(".e") else int(text)
    return {"true": True, "false": False}.get(text, text)
