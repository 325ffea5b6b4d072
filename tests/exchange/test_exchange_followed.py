"""Databases of peers where unknown values become known: tables hold what users are shown, and are not all read."""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from exchange_support import COMMON
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.exchange.wrappers.sql_wrapper import SqlWrapper

EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "4"))
FILE = """
mappings = '''
m: R(i, x) -> exists n S(i, n), T(x, n).
s: Q(i, n) -> S(i, n).
key: S(i, n), S(i, k) -> n = k.
'''
peer.A.relations.R = "i: int, x: int"
peer.A.relations.Q = "i: int, n: int"
peer.B.relations.S = "i: int, n: int"
[peer.C]
relations.T = "x: int, n: int"
database = "sqlite:///c.db"
"""


def table(folder: Path) -> set[tuple]:
    with closing(sqlite3.connect(folder / "c.db")) as database:
        return set(database.execute('SELECT * FROM "T"'))


def stored(peer) -> set[tuple]:
    """What the table should hold: unknown values as NULL and their text."""
    unknown = hw.LabelledNull
    return {
        (x, None if isinstance(n, unknown) else n, str(n) if isinstance(n, unknown) else None)
        for x, n in peer["T"].rows(nulls=True)
    }


def test_a_value_that_becomes_known_elsewhere_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """No row of T comes or goes: its unknown value is made known by a key of another relation."""
    (tmp_path / "c.toml").write_text(FILE)
    with hw.exchange(tmp_path / "c.toml") as found:
        found["A"].edit(insert={"R": [(1, 10), (2, 20)]})
        found.exchange()
        assert table(tmp_path) == {(10, None, "?m_n(1, 10)"), (20, None, "?m_n(2, 20)")}
        monkeypatch.setattr(SqlWrapper, "rows", lambda *_: pytest.fail("all of the table is read"))
        found["A"].edit(insert={"Q": [(1, 7)]})
        found.exchange()
        assert table(tmp_path) == {(10, 7, None), (20, None, "?m_n(2, 20)")}
        found["A"].edit(delete={"Q": [(1, 7)]})
        found.exchange()
        assert table(tmp_path) == {(10, None, "?m_n(1, 10)"), (20, None, "?m_n(2, 20)")}
    with hw.exchange(tmp_path / "c.toml") as found:  # all is written: there is nothing to compare
        found["C"].update()


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_tables_hold_what_users_are_shown(seed: int):
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "c.toml").write_text(FILE)
        found = hw.exchange(folder / "c.toml")
        found.exchange()
        for _ in range(8):
            for _ in range(chance.randint(1, 2)):
                relation = chance.choice("RQ")
                row = (chance.randrange(3), chance.randrange(3))
                there = row in found["A"][relation]
                found["A"].edit(**{"delete" if there else "insert": {relation: [row]}})
            if chance.random() < 0.5:  # somebody edits the table, with tools of their own
                with closing(sqlite3.connect(folder / "c.db")) as database, database:
                    rows = sorted(database.execute('SELECT "x", "n" FROM "T" WHERE "n" IS NOT NULL'))
                    if rows and chance.random() < 0.6:
                        database.execute('DELETE FROM "T" WHERE "x" = ? AND "n" = ?', chance.choice(rows))
                    else:
                        new = (chance.randrange(3), chance.randrange(3))
                        database.execute('INSERT INTO "T" ("x", "n") VALUES (?, ?)', new)
            if chance.random() < 0.2:
                found.close()
                found = hw.exchange(folder / "c.toml")
            found.exchange()
            assert table(folder) == stored(found["C"])
        found.close()
