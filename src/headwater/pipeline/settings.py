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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.errors import DataError, HeadwaterError, PipelineError, Place
from headwater.files.missing import on_null
from headwater.files.toml_text import TomlText
from headwater.nodes.where import RUNS
from headwater.pipeline.kinds import PATHS, SINKS, SOURCES, TYPES, EndpointKind

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
    return _SettingsReader(TomlText.read(file, PipelineError)).settings()


def parse_settings(text: str, file: Path) -> Settings:
    """Check what a pipeline's file says."""
    return _SettingsReader(TomlText(text, file, PipelineError)).settings()


class _SettingsReader:
    def __init__(self, toml: TomlText):
        self.toml = toml
        self.file = toml.file
        self.data = toml.data

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
            parts.append(Part({**values, **paths}, self.toml.place(table, number, subject)))
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
        self.toml.check_keys(values, allowed, table, number)
        for key in ("columns", "options"):
            if key in values:
                self.toml.check_texts(values, key, table, number)

    def _path(self, path: str) -> str:
        return self.toml.path(path)

    def _error(
        self, code: str, what: str, table: str | None, number: int, key: str | None, hint: str
    ) -> HeadwaterError:
        return self.toml.error(code, what, table, number, key, hint)
