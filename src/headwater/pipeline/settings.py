"""A pipeline as a TOML file: what it says, checked, with the place of what is wrong.

    program = "network.dl"
    state = "state"

    [[source]]
    relation = "link"
    kind = "csv"
    path = "links.csv"

    [[sink]]
    view = "reach"
    kind = "feed"
    path = "out/reach_changes"

Nothing is opened here but the file itself. Paths in it are relative to its folder.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.errors import DataError, PipelineError, Place
from headwater.files.missing import on_null
from headwater.nodes.where import RUNS
from headwater.pipeline.kinds import PATHS, SINKS, SOURCES, TYPES, EndpointKind

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TOP: Mapping[str, tuple[type, ...]] = {
    "program": (str,),
    "state": (str,),
    "every": (float, int),
    "run": (str,),
    "nodes": (int,),
    "memory": (str, int),
    "spark": (dict,),
    "source": (list,),
    "sink": (list,),
}
_SPARK: Mapping[str, tuple[type, ...]] = {"master": (str,), "log_level": (str,), "conf": (dict,)}
_WORDS = {
    str: "a text",
    dict: "a table",
    list: "a list of tables",
    float: "a number",
    int: "a number",
    bool: "true or false",
}


@dataclass(frozen=True)
class Part:
    """One source or sink: its keys, and where it is written."""

    values: Mapping[str, Any]
    place: Place | None

    def make(self, kinds: Mapping[str, EndpointKind]) -> Any:
        """The source or sink itself."""
        try:
            return kinds[self.values["kind"]].make(self.values)
        except PipelineError as error:
            raise PipelineError(error.code, error.message, place=self.place, hint=error.hint) from None


@dataclass(frozen=True)
class Settings:
    """All that a pipeline's file says."""

    file: Path
    program: Path
    state: Path
    every: float = 1.0
    master: str | None = None
    log_level: str = "error"
    conf: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[Part, ...] = ()
    sinks: tuple[Part, ...] = ()
    run: str = "local"
    nodes: int | None = None
    memory: str | int | None = None


def read_settings(file: Path) -> Settings:
    """Read and check a pipeline's file."""
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise PipelineError("missing-file", f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PipelineError("not-utf8", f"{file}: byte {error.start + 1} is not UTF-8") from None
    return parse_settings(text, file)


def parse_settings(text: str, file: Path) -> Settings:
    """Check what a pipeline's file says."""
    return _SettingsReader(text, file).settings()


class _SettingsReader:
    def __init__(self, text: str, file: Path):
        self.file = file
        self.lines = text.splitlines()
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise self._syntax(str(error)) from None
        except RecursionError:
            raise self._syntax("it is nested too deeply") from None

    def settings(self) -> Settings:
        data = self.data
        self._keys(data, _TOP, None, 0)
        spark = data.get("spark", {})
        self._keys(spark, _SPARK, "spark", 0)
        for key in ("program", "state"):
            if key not in data:
                raise self._error("missing-key", f"there is no {key}", None, 0, None, f'{key} = "..."')
        program = self._path(data["program"])
        if not Path(program).is_file():
            raise self._error(
                "missing-file", f"there is no file {program}", None, 0, "program", "rules in Datalog"
            )
        every = data.get("every", 1.0)
        if every < 0:
            raise self._error("wrong-type", f"every is {every}", None, 0, "every", "seconds, 0 or more")
        if data.get("run", "local") not in RUNS:
            hint = f"one of {', '.join(RUNS)}"
            raise self._error("unknown-kind", f"no run is {data['run']!r}", None, 0, "run", hint)
        return Settings(
            self.file,
            Path(program),
            Path(self._path(data["state"])),
            float(every),
            spark.get("master"),
            spark.get("log_level", "error"),
            spark.get("conf", {}),
            tuple(self._parts("source", "relation", SOURCES)),
            tuple(self._parts("sink", "view", SINKS)),
            data.get("run", "local"),
            data.get("nodes"),
            data.get("memory"),
        )

    def _parts(self, table: str, subject: str, kinds: Mapping[str, EndpointKind]) -> Sequence[Part]:
        parts = []
        for number, values in enumerate(self.data.get(table, [])):
            if not isinstance(values, dict):
                raise self._error(
                    "wrong-type", f"{table} is not a table", None, 0, table, f"write [[{table}]]"
                )
            for key in (subject, "kind"):
                if key not in values:
                    hint = f"one of {', '.join(kinds)}" if key == "kind" else f"the {subject} that it is for"
                    raise self._error("missing-key", f"a {table} has no {key}", table, number, None, hint)
            kind = kinds.get(values["kind"]) if isinstance(values["kind"], str) else None
            if kind is None:
                said = values["kind"]
                near = difflib.get_close_matches(str(said).lower(), kinds, n=1)
                hint = (f"did you mean {near[0]}? " if near else "") + f"one of {', '.join(kinds)}"
                raise self._error(
                    "unknown-kind", f"no kind of {table} is {said!r}", table, number, "kind", hint
                )
            allowed = {key: (TYPES[key],) for key in (subject, "kind", "name", *kind.needs, *kind.may)}
            self._keys(values, allowed, table, number)
            for key in kind.needs:
                if key not in values:
                    what = f"a {table} of kind {values['kind']} needs {key}"
                    raise self._error("missing-key", what, table, number, "kind", f'{key} = "..."')
            paths = {key: self._path(values[key]) for key in PATHS if key in values}
            paths |= self._quarantine(values, table, number)
            if "path" in values:  # as it is written: the name stays when the folder of all this moves
                mode = f"-{values['mode']}" if "mode" in values else ""
                paths["name"] = values.get("name") or f"{values['kind']}{mode}:{values['path']}"
            parts.append(Part({**values, **paths}, self._place(table, number, subject)))
        return parts

    def _quarantine(self, values: Mapping[str, Any], table: str, number: int) -> dict[str, str]:
        """The file of refused rows, if a source has one."""
        if "on_null" not in values:
            return {}
        try:
            way = on_null(values["on_null"])
        except DataError as error:
            raise self._error(error.code, error.message, table, number, "on_null", error.hint or "") from None
        return {} if way.path is None else {"on_null": self._path(way.path)}

    def _keys(
        self,
        values: Mapping[str, Any],
        allowed: Mapping[str, tuple[type, ...]],
        table: str | None,
        number: int,
    ) -> None:
        for key, value in values.items():
            kinds = allowed.get(key)
            if kinds is None:
                near = difflib.get_close_matches(key.lower(), allowed, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(allowed)}"
                where = f" in [{table}]" if table else ""
                raise self._error("unknown-key", f"no key {key}{where}", table, number, key, hint)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                wanted = f"{key} is {_WORDS[kinds[0]]}"
                if kinds[0] is list:
                    wanted += f": write [[{key}]]"
                raise self._error("wrong-type", f"{key} is {value!r}", table, number, key, wanted)
            if key in ("columns", "options"):
                named: dict[str, Any] = values[key]
                for name, one in named.items():
                    if not isinstance(one, str):
                        hint = f'in quotes: {name} = "{one}"'
                        raise self._error(
                            "wrong-type", f"{key}.{name} is {one!r}, not a text", table, number, key, hint
                        )

    def _path(self, path: str) -> str:
        return path if "://" in path else str(self.file.absolute().parent / path)

    # ------------------------------------------------------------------ places

    def _error(
        self, code: str, what: str, table: str | None, number: int, key: str | None, hint: str
    ) -> PipelineError:
        return PipelineError(code, what, place=self._place(table, number, key), hint=hint)

    def _place(self, table: str | None, number: int, key: str | None) -> Place | None:
        """Where a key stands: in the top table, or in the table of that name and number; or the table's head."""
        seen, inside = -1, table is None
        head: Place | None = None
        for line, text in enumerate(self.lines, 1):
            heading = re.match(r"\s*\[\[?\s*([\w.]+)\s*\]?\]", text)
            if heading is not None:
                if table is None:
                    break
                seen += heading[1] == table
                inside = heading[1].split(".")[0] == table and seen == number
                if inside and heading[1] == table:
                    head = Place(str(self.file), line, heading.start(1) + 1, len(heading[1]), text)
                if inside and heading[1] == f"{table}.{key}":
                    return Place(str(self.file), line, heading.start(1) + 1, len(heading[1]), text)
            found = (
                re.match(rf"""\s*["']?({re.escape(key)})["']?\s*[.=]""", text) if key is not None else None
            )
            if inside and found is not None:
                return Place(str(self.file), line, found.start(1) + 1, len(found[1]), text)
        if head is None and key is not None and table is None:
            return self._place(key, 0, None)
        return head

    def _syntax(self, said: str) -> PipelineError:
        found = re.search(r"\(at line (\d+), column (\d+)\)", said)
        line, column = (int(found[1]), int(found[2])) if found else (len(self.lines) or 1, 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        what = said.partition(" (at ")[0]
        place = Place(str(self.file), line, column, 1, text)
        hint = "texts are in quotes" if what.startswith("Invalid value") else None
        return PipelineError("toml-syntax", f"this is not TOML: {what}", place=place, hint=hint)
