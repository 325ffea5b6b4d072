"""TOML files that say what to run: their keys checked, and the place in the file of what is wrong.

What has a place is a key of a table: of the top one, of `[table]`, of the `number`th `[[table]]` (from 0), or of a
table inside of it. Nothing is opened here but the file itself.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.errors import HeadwaterError, Place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Allowed = Mapping[str, tuple[type, ...]]
"""The keys that a table may have, and the types of their values."""
_WORDS = {
    str: "a text",
    dict: "a table",
    list: "a list of tables",
    float: "a number",
    int: "a number",
    bool: "true or false",
}


class TomlText:
    """The text of a file, what it says (`data`), and errors of one kind about it."""

    def __init__(self, text: str, file: Path, refusal: type[HeadwaterError]):
        self.file = file
        self.refusal = refusal
        self.lines = text.splitlines()
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise self._syntax(str(error)) from None
        except RecursionError:
            raise self._syntax("it is nested too deeply") from None

    @classmethod
    def read(cls, file: Path, refusal: type[HeadwaterError]) -> TomlText:
        """The text of a file that is there and is UTF-8."""
        try:
            text = file.read_bytes().decode()
        except OSError as error:
            raise refusal("missing-file", f"cannot read {file}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise refusal("not-utf8", f"{file}: byte {error.start + 1} is not UTF-8") from None
        return cls(text, file, refusal)

    def path(self, path: str) -> str:
        """A path in the file, which is relative to its folder; addresses are none."""
        return path if "://" in path else str(self.file.absolute().parent / path)

    def check_keys(
        self, values: Mapping[str, Any], allowed: Allowed, table: str | None, number: int = 0
    ) -> None:
        """Refuse keys that are not allowed, and values of other types."""
        for key, value in values.items():
            kinds = allowed.get(key)
            if kinds is None:
                near = difflib.get_close_matches(key.lower(), allowed, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(allowed)}"
                where = f" in [{table}]" if table else ""
                raise self.error("unknown-key", f"no key {key}{where}", table, number, key, hint)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                wanted = f"{key} is {_WORDS[kinds[0]]}"
                if kinds[0] is list:
                    wanted += f": write [[{key}]]"
                raise self.error("wrong-type", f"{key} is {value!r}", table, number, key, wanted)

    def check_texts(self, values: Mapping[str, Any], key: str, table: str | None, number: int = 0) -> None:
        """Refuse a table of texts that has other values."""
        for name, one in values[key].items():
            if not isinstance(one, str):
                hint = f'in quotes: {name} = "{one}"'
                raise self.error(
                    "wrong-type", f"{key}.{name} is {one!r}, not a text", table, number, key, hint
                )

    # ------------------------------------------------------------------ places

    def error(
        self, code: str, what: str, table: str | None, number: int, key: str | None, hint: str | None
    ) -> HeadwaterError:
        """An error about a key, at its place."""
        return self.refusal(code, what, place=self.place(table, number, key), hint=hint)

    def place(self, table: str | None, number: int, key: str | None) -> Place | None:
        """Where a key stands: in the top table, or in the table of that name and number; or the table's head."""
        seen, inside = -1, table is None
        head: Place | None = None
        for line, text in enumerate(self.lines, 1):
            heading = re.match(r"\s*\[\[?\s*([\w.]+)\s*\]?\]", text)
            if heading is not None:
                if table is None:
                    break
                name = heading[1]
                seen += name == table
                inside = name == table and seen == number
                inside = inside or (name.startswith(f"{table}.") and max(seen, 0) == number)
                if name in (table, f"{table}.{key}") and inside and (head is None or name != table):
                    found_head = Place(str(self.file), line, heading.start(1) + 1, len(name), text)
                    if name != table:
                        return found_head
                    head = found_head
            found = (
                re.match(rf"""\s*["']?({re.escape(key)})["']?\s*[.=]""", text) if key is not None else None
            )
            if inside and found is not None:
                return Place(str(self.file), line, found.start(1) + 1, len(found[1]), text)
        if head is None and key is not None and table is None:
            return self.place(key, 0, None)
        return head

    def _syntax(self, said: str) -> HeadwaterError:
        found = re.search(r"\(at line (\d+), column (\d+)\)", said)
        line, column = (int(found[1]), int(found[2])) if found else (len(self.lines) or 1, 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        what = said.partition(" (at ")[0]
        place = Place(str(self.file), line, column, 1, text)
        hint = "texts are in quotes" if what.startswith("Invalid value") else None
        return self.refusal("toml-syntax", f"this is not TOML: {what}", place=place, hint=hint)
