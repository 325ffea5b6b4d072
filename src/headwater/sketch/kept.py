"""What a state folder keeps: the tables that were named, and for each query its sketches by version.

`tables.json` and `queries/<name>.json`, each replaced as a whole; beside a query's file a folder with the state
that maintains its sketch (`maintain`). A file that cannot be read is an error that names it: nothing is guessed,
nothing overwritten.

>>> import datetime
>>> part = SketchPart("t", Ranges("d", (datetime.date(2024, 1, 2),)), frozenset({0, 2}))
>>> sketch_from_json(sketch_to_json(Sketch((part,), {"t": 3}))) == Sketch((part,), {"t": 3})
True
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headwater.errors import SketchError, StoreError
from headwater.sketch.checked_files import damaged, read_checked, write_checked
from headwater.sketch.cost import Costs
from headwater.sketch.ranges import Ranges, RangeValue
from headwater.sketch.safety.facts import DataFact
from headwater.sketch.sketch import Sketch, SketchPart, Slot
from headwater.store.durable import make_folder
from headwater.store.failure import failed
from headwater.store.lock import Lock
from headwater.store.patience import PATIENCE

FORMAT = 1
MOST_SKETCHES = 8
"""So many versions of a query's sketch are kept; older ones are collected."""
HINTS = {
    "locked": "close the sketches there first, or wait longer for them: patience=...",
    "permission": "check owner, mode and mount of the path: sketches write to their folder",
}
"""What to do about a folder that cannot be taken."""
HINT = "remove that file: its sketches are captured again"
"""What to do about a query's file that is damaged."""
HINT_OF_TABLES = "remove that file, and name the tables again: sketches.table(...)"
"""What to do about the one that says which tables there are."""
MOST_COUNTED = 20
"""Of so many versions is known how often a query was asked at them."""


@dataclass(frozen=True)
class KeptTable:
    """A table as it was named."""

    name: str
    path: str
    format: str
    partition: tuple[str, ...] = ()
    """The attributes to sketch it by; none: those that are advised."""
    ranges: int | None = None
    identity: str = ""
    """What tells the table from another one at its path: its columns, and an id where its format has one."""
    columns: tuple[str, ...] = ()
    """Of a table of a database: its columns with their types. It may get more of them and stay the same."""

    def is_another(self, other: KeptTable) -> bool:
        """Whether it is another table than one that had its name, so that sketches of that one mean nothing here."""
        moved = (self.path, self.format) != (other.path, other.format)
        lost = set(other.columns) - set(self.columns)
        return moved or bool(lost) or bool(other.identity and self.identity != other.identity)


@dataclass(frozen=True)
class KeptQuery:
    """A query, the sketches it has (the newest last), the facts they rest on, and what running it costs."""

    name: str
    text: str
    sketches: tuple[Sketch, ...] = ()
    facts: frozenset[DataFact] = frozenset()
    costs: Costs = field(default_factory=Costs)
    asked: int = 0
    refused: str = ""
    """Why it has no sketch, once that was found."""
    unmaintained: str = ""
    """Why its sketches are captured again and never maintained, once that was found."""
    times: tuple[int, ...] = ()
    """How often it was asked at versions of its tables, one after the other; the last ones those of `asked_at`."""
    asked_at: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """What told the versions of tables that sketches are of from others with the same numbers (`Backend.marks`)."""

    def is_of_others(self, sketch: Sketch, marks: Mapping[str, int]) -> bool:
        """Whether a sketch is of other rows than those that its versions have by these marks: a table that was
        restored, and changed since, gives a number again."""
        return any(
            self.marks.get(table, {}).get(sketch.versions[table], mark) != mark
            for table, mark in marks.items()
        )

    def with_marks(self, versions: Mapping[str, int], marks: Mapping[str, int]) -> KeptQuery:
        """With the marks that these versions have; those of versions without a sketch are forgotten."""
        known = {table: {**self.marks.get(table, {}), versions[table]: mark} for table, mark in marks.items()}
        sketched = {(table, version) for each in self.sketches for table, version in each.versions.items()}
        found = {
            table: {version: mark for version, mark in each.items() if (table, version) in sketched}
            for table, each in {**self.marks, **known}.items()
        }
        return replace(self, marks={table: each for table, each in found.items() if each})

    def counted(self, versions: Mapping[str, int]) -> KeptQuery:
        """With one time more that it was asked, at these versions."""
        earlier, here = (self.times[:-1], self.times[-1]) if self._was_at(versions) else (self.times, 0)
        times = (*earlier, here + 1)[-MOST_COUNTED:]
        return replace(self, asked=self.asked + 1, times=times, asked_at=dict(versions))

    def to_come(self, versions: Mapping[str, int]) -> float:
        """How often it is expected to be asked at these versions after this time: as often as at others before, and
        where that is past, as often again as it was.

        >>> one = KeptQuery("q", "SELECT 1", times=(6, 2, 1), asked_at={"t": 3})
        >>> one.to_come({"t": 3}), replace(one, times=(6, 2, 4)).to_come({"t": 3})
        (3.0, 3.0)
        """
        earlier, here = (self.times[:-1], self.times[-1]) if self._was_at(versions) else (self.times, 1)
        usual = sum(earlier) / len(earlier) if earlier else 0.0
        return usual - here if usual > here else here - 1.0

    def _was_at(self, versions: Mapping[str, int]) -> bool:
        return bool(self.times) and self.asked_at == versions

    @property
    def newest(self) -> Sketch | None:
        return self.sketches[-1] if self.sketches else None

    def at(self, versions: Mapping[str, int]) -> Sketch | None:
        """The sketch of just these versions."""
        return next((each for each in reversed(self.sketches) if each.versions == versions), None)

    def with_sketch(self, sketch: Sketch) -> KeptQuery:
        others = tuple(each for each in self.sketches if each.versions != sketch.versions)
        return replace(self, sketches=(*others, sketch)[-MOST_SKETCHES:], refused="")

    def must_be_written(self, other: KeptQuery | None) -> bool:
        """Whether more would be lost with this process than can be made again by what changed: how often a query was
        asked and what that took is counted anew, and a sketch that was maintained is maintained again."""
        if other is None or (self.newest is None) != (other.newest is None):
            return True
        mine, others = (
            (each.facts, each.refused, each.unmaintained, each._ranges()) for each in (self, other)
        )
        return mine != others

    def _ranges(self) -> tuple[tuple[Slot, Ranges], ...]:
        return () if self.newest is None else tuple((part.slot, part.ranges) for part in self.newest.parts)


LITERAL = re.compile(r"""['"`$]|--""")
"""Where white space may begin to mean something: in strings, quoted names, and at the end of a comment."""


def query_name(text: str) -> str:
    """The name of a query: the same for the same text up to white space that means nothing.

    >>> query_name("SELECT  g FROM t") == query_name("SELECT g\\nFROM t ")
    True
    >>> query_name("SELECT g FROM t WHERE s = 'a b'") == query_name("SELECT g FROM t WHERE s = 'a  b'")
    False
    """
    found = LITERAL.search(text)
    end = len(text) if found is None else found.start()
    same = re.sub(r"\s+", " ", text[:end]) + text[end:]
    return hashlib.blake2b(same.strip().encode(), digest_size=6).hexdigest()


class KeptState:
    """The state folder of one process at a time; others wait for it, so many seconds."""

    def __init__(self, folder: Path, patience: float = PATIENCE):
        self.folder = folder
        try:
            self._refuse_strangers()
            make_folder(folder / "queries")
        except OSError as error:
            raise failed("cannot make", folder, error) from error
        try:
            self._lock = Lock.wait(folder / "lock", patience)
        except StoreError as error:  # a store has readers; sketches have none
            raise StoreError(error.code, error.message, hint=HINTS.get(error.code, error.hint)) from error

    def _refuse_strangers(self) -> None:
        """Refuse a folder that holds what is not ours."""
        if not self.folder.exists() or (self.folder / "tables.json").exists():
            return
        others = {path.name for path in self.folder.iterdir()} - {"queries", "lock", "tables", ".tables.json"}
        if others:
            raise SketchError(
                "not-a-state",
                f"{self.folder} is not empty and has no tables.json: it holds {min(others)!r}",
                hint="choose an empty or a new folder",
            )

    def close(self) -> None:
        self._lock.release()

    def described(self) -> dict[str, Any]:
        """What the folder is about: the backend and its tables."""
        file = self.folder / "tables.json"
        said: dict[str, Any] = self._load(file) or {"format": FORMAT, "backend": None, "tables": []}
        if not isinstance(said.get("tables"), list) or not isinstance(said.get("backend"), str | None):
            raise _damaged(file, "it does not say which tables there are")
        return said

    def tables(self) -> Iterator[KeptTable]:
        for one in self.described()["tables"]:
            try:
                chosen = one.get("partition") or ()
                attributes = (chosen,) if isinstance(chosen, str) else tuple(chosen)
                columns = tuple(one.get("columns", ()))
                table = KeptTable(**{**one, "partition": attributes, "columns": columns})
                _refuse_other_types(
                    (table.name, str), (table.path, str), (table.format, str), (table.identity, str),
                    (table.ranges, int | None), *((name, str) for name in (*attributes, *columns)),
                )  # fmt: skip
            except (TypeError, AttributeError) as error:
                raise _damaged(self.folder / "tables.json", f"{type(error).__name__} {error}") from error
            yield table

    def describe(self, backend: str, tables: Mapping[str, KeptTable]) -> None:
        said = {"format": FORMAT, "backend": backend, "tables": [vars(each) for each in tables.values()]}
        write_checked(self.folder / "tables.json", said)

    def queries(self) -> Iterator[KeptQuery]:
        """All queries; those that have a name which now means another text are forgotten."""
        for path in sorted((self.folder / "queries").glob("[!.]*.json")):
            found = self._query(path)
            if query_name(found.text) == found.name:
                yield found
            else:
                self.drop(found.name)

    def write(self, query: KeptQuery) -> None:
        said = {
            "format": FORMAT,
            "text": query.text,
            "sketches": [sketch_to_json(each) for each in query.sketches],
            "facts": [
                [one.table, one.column, one.kind, _value_to_json(one.bound)] for one in sorted(query.facts)
            ],
            "costs": query.costs.observations,
            "asked": query.asked,
            "refused": query.refused,
            "unmaintained": query.unmaintained,
            "times": query.times,
            "asked_at": dict(query.asked_at),
            "marks": {table: dict(each) for table, each in query.marks.items()},
        }
        write_checked(self._path(query.name), said)

    def drop(self, name: str) -> None:
        """Forget a query with all that is kept of it."""
        self._path(name).unlink(missing_ok=True)
        self.drop_state(name)

    def drop_state(self, name: str) -> None:
        """Forget what maintains a query's sketch: it is made again from the tables."""
        shutil.rmtree(self.state_of(name), ignore_errors=True)

    def state_of(self, name: str) -> Path:
        """Where the state that maintains a query's sketch is."""
        return self.folder / "queries" / name

    def _path(self, name: str) -> Path:
        return self.folder / "queries" / f"{name}.json"

    def _query(self, path: Path) -> KeptQuery:
        said = self._load(path)
        try:
            observations = {
                way: tuple((float(size), float(seconds)) for size, seconds in pairs)
                for way, pairs in said["costs"].items()
            }
            facts = frozenset(
                DataFact(table, column, kind, _value_from_json(bound))
                for table, column, kind, bound in said["facts"]
            )
            sketches = tuple(sketch_from_json(each) for each in said["sketches"])
            _refuse_other_types(
                (said["text"], str), (said["asked"], int), (said["refused"], str),
                (said.get("unmaintained", ""), str),
            )  # fmt: skip
            times = tuple(int(number) for number in said.get("times", ()))
            asked_at = {str(table): int(number) for table, number in said.get("asked_at", {}).items()}
            newest = sketches[-1].versions if sketches else {}
            marks = {
                str(table): {int(version): int(mark) for version, mark in each.items()}
                for table, found in said.get("marks", {}).items()
                for each in [found if isinstance(found, dict) else {newest.get(table, 0): found}]
            }
            return KeptQuery(
                path.stem, said["text"], sketches, facts, Costs(observations), said["asked"], said["refused"],
                said.get("unmaintained", ""), times, asked_at, marks,
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(path, f"{type(error).__name__} {error}") from error

    def _load(self, path: Path) -> Any:
        said = read_checked(path, ("format",), _hint(path))
        if said is None:
            return None
        if not isinstance(said["format"], int):
            raise _damaged(path, "it is of no format that there was")
        if said["format"] > FORMAT:
            raise SketchError(
                "damaged-state",
                f"{path} was written by a later version of Headwater",
                hint="use that version",
            )
        return said


def _refuse_other_types(*values: tuple[object, Any]) -> None:
    for value, kind in values:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is not of type {kind}")


def _damaged(path: Path, why: str) -> SketchError:
    return damaged(path, why, _hint(path))


def _hint(path: Path) -> str:
    return HINT_OF_TABLES if path.name == "tables.json" else HINT


def sketch_to_json(sketch: Sketch) -> dict[str, Any]:
    """A sketch as JSON has it."""
    return {
        "versions": dict(sketch.versions),
        "parts": [
            {
                "table": part.table,
                "attribute": part.ranges.attribute,
                "bounds": [_value_to_json(bound) for bound in part.ranges.bounds],
                "fragments": sorted(part.fragments),
                "doubtful": sorted(part.doubtful),
            }
            for part in sketch.parts
        ],
    }


def sketch_from_json(said: Mapping[str, Any]) -> Sketch:
    """A sketch from its JSON."""
    parts = tuple(
        SketchPart(
            one["table"],
            Ranges(one["attribute"], tuple(_value_from_json(bound) for bound in one["bounds"])),
            frozenset(int(number) for number in one["fragments"]),
            frozenset(int(number) for number in one.get("doubtful", ())),
        )
        for one in said["parts"]
    )
    return Sketch(parts, {str(table): int(version) for table, version in said["versions"].items()})


def _value_to_json(value: object) -> Any:
    match value:
        case datetime.datetime():
            return {"timestamp": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case decimal.Decimal():
            return {"decimal": str(value)}
        case float():
            return {"float": repr(value)}
        case _:
            return value


def _value_from_json(said: Any) -> RangeValue:
    if not isinstance(said, dict):
        return said  # type: ignore[no-any-return]
    ((kind, text),) = said.items()
    match kind:
        case "timestamp":
            return datetime.datetime.fromisoformat(text)
        case "date":
            return datetime.date.fromisoformat(text)
        case "decimal":
            return decimal.Decimal(text)
        case "float":
            return float(text)
    raise ValueError(f"no value of kind {kind}")
