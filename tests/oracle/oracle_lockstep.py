"""Several databases that are given the same changes and must agree, after every version, with a reference.

What is compared after each version: the rows of every relation, and the reported changes, which must be the
difference of two consecutive states exactly: no row both inserted and deleted, none twice, and no relation
mentioned that did not change.
"""

from __future__ import annotations

import atexit
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle_tables import Table, Tables

import headwater as hw
from headwater.database import Database
from headwater.version.changes import Changes

if TYPE_CHECKING:
    from oracle_strategies import Version

Row = tuple[Any, ...]
State = dict[str, frozenset[Row]]
Rows = Mapping[str, Iterable[Row]]
Reference = Callable[[State], State]

FIGURES: Counter[str] = Counter()
"""What has been compared since the process began; written to the folder `HEADWATER_FIGURES` when it ends."""


@atexit.register
def _write_figures() -> None:
    if FIGURES and "HEADWATER_FIGURES" in os.environ:
        Path(os.environ["HEADWATER_FIGURES"], f"{os.getpid()}.json").write_text(json.dumps(FIGURES))


THOROUGH = "HEADWATER_ORACLE_EXAMPLES" in os.environ
"""Whether this is the deep run, which also tries what is much like something else (see `tests/deep.py`)."""


def examples(number: int) -> int:
    """How many examples to try: two fifths of what is thorough, or as many as `HEADWATER_ORACLE_EXAMPLES` says."""
    return int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", max(2, number * 2 // 5)))


def state_of(db: Database) -> State:
    """The rows of every relation; a row twice would be a fault."""
    found = {}
    for name in db.relations:
        rows = db[name].rows()
        found[name] = frozenset(rows)
        assert len(rows) == len(found[name]) == len(db[name]), f"{name} holds a row twice"
    return found


def assert_exact(changes: Changes, before: Mapping[str, frozenset[Row]], after: State) -> None:
    """The changes are the difference of the two states and nothing else."""
    for name in after:
        inserted, deleted = changes[name].inserted, changes[name].deleted
        old = before.get(name, frozenset())
        assert sorted(inserted, key=repr) == sorted(after[name] - old, key=repr), f"inserted into {name}"
        assert sorted(deleted, key=repr) == sorted(old - after[name], key=repr), f"deleted from {name}"
        assert (name in set(changes)) == (after[name] != old), f"{name} mentioned"
        assert changes[name].counts == (len(inserted), len(deleted))


def no_ops(base: State, delete: Rows, insert: Rows) -> int:
    """How many of these changes do nothing, told by plain sets."""
    found = 0
    for name in {*delete, *insert}:
        rows = set(base[name])
        for row in delete.get(name, ()):
            found += row not in rows
            rows.discard(row)
        for row in insert.get(name, ()):
            found += row in rows
            rows.add(row)
    return found


class Lockstep:
    """Databases by name, the state they share, and the check of every version."""

    def __init__(
        self,
        text: str,
        strategies: Iterable[str],
        runs: Mapping[str, Mapping[str, Any]] | None = None,
        tables: Mapping[str, Table] | None = None,
        **options: Any,
    ):
        """`runs` are further databases, each with options of its own. `tables` says what the text does about keys,
        lifetimes and sizes of base relations."""
        self.text = text
        self.options = {"max_rounds": 2000, **options}
        self.databases: dict[str, Database] = {}
        every = {strategy: {"strategy": strategy} for strategy in strategies}
        for name, more in {**every, **(runs or {})}.items():
            db = self.databases[name] = hw.connect(**{**self.options, **more})
            db.define(text)
        self.state = self._agreed()
        FIGURES["programs"] += 1
        base = [name for name in self.state if db.info(name).base]
        self.tables = Tables(base, tables or {})

    def follow(self, version: Version, reference: Reference | None = None) -> None:
        """Apply a version everywhere; then time goes by, if anything has a lifetime."""
        self.apply(*version.resolved(self.state), reference)
        if version.seconds and any(table.lifetime for table in self.tables.tables.values()):
            self.advance(self.tables.now + version.seconds, reference)

    def advance(self, to: int, reference: Reference | None = None) -> State:
        """Let time go on everywhere, and compare as after `apply`."""
        self.tables.advance(to)
        return self._compared({name: db.advance(to) for name, db in self.databases.items()}, reference)

    def apply(self, delete: Rows, insert: Rows, reference: Reference | None = None) -> State:
        """Apply a version everywhere; compare all with each other, a fresh database and the reference.

        The reference gets the state (of which it may trust the base relations only) and returns what it should
        be, or a part of that.
        """
        expected = no_ops(self.state, delete, insert)
        self.tables.apply(delete, insert)
        every: dict[str, Changes] = {}
        for strategy, db in self.databases.items():
            every[strategy] = db.apply(delete=dict(delete), insert=dict(insert))
            if not any(table != Table() for table in self.tables.tables.values()):
                assert every[strategy].statistics.no_ops == expected, strategy
        return self._compared(every, reference)

    def _compared(self, every: Mapping[str, Changes], reference: Reference | None) -> State:
        before, after = self.state, self._agreed()
        FIGURES["versions compared"] += len(every)
        for name, rows in self.tables.rows().items():
            assert after[name] == rows, f"{name}, a base relation"
        for changes in every.values():
            assert_exact(changes, before, after)
        fresh = hw.connect(**self.options)
        fresh.define(self.text)
        fresh.apply(insert={name: after[name] for name in after if fresh.info(name).base})
        assert state_of(fresh) == after, "a database that starts from the rows as they are now"
        if reference is not None:
            for name, rows in reference(after).items():
                assert after[name] == rows, name
        self.state = after
        return after

    def close(self) -> None:
        """Close all databases."""
        for db in self.databases.values():
            db.close()

    def _agreed(self) -> State:
        states = {strategy: state_of(db) for strategy, db in self.databases.items()}
        first, *others = states
        for other in others:
            for name in states[first]:
                assert states[first][name] == states[other][name], f"{name}: {first} and {other}"
        return states[first]
