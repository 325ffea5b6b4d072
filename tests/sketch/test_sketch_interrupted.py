"""Ctrl-C at any moment leaves sketches of tables in databases that go on, and answers that are right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sketch_queries import bag
from sqlalchemy.exc import OperationalError

import headwater as hw
from headwater.errors import SketchError

QUERIES = (
    "SELECT g, sum(v) AS n FROM t GROUP BY g HAVING sum(v) > 62",
    "SELECT x, g FROM t ORDER BY g DESC, x LIMIT 5",
    "SELECT s.k, count(*) AS n FROM t JOIN s ON t.v = s.k WHERE t.g > 90 GROUP BY s.k HAVING count(*) > 60",
)


@pytest.fixture
def address(tmp_path: Path) -> str:
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS x, range % 97 AS g, range % 5 AS v FROM range(3000)"
        )
        connection.execute("CREATE TABLE s AS SELECT range AS k FROM range(3)")
    return f"duckdb:///{tmp_path}/shop.db"


@pytest.fixture
def sketches(address: str, tmp_path: Path) -> Iterator[Any]:
    with hw.sketches(address, tmp_path / "state") as opened:
        opened.table("t", partition="g", ranges=20)
        opened.table("s", partition="k", ranges=2)
        yield opened


def answers_are_right(sketches: Any) -> bool:
    return all(bag(sketches.ask(text).rows) == bag(sketches.ask(text, way="plain").rows) for text in QUERIES)


def test_a_transaction_that_ctrl_c_ends_leaves_the_next_one_alone(sketches: Any):
    transactions = sketches.backend._transactions
    with pytest.raises(KeyboardInterrupt), transactions.transaction() as connection:
        connection.do("DELETE FROM t")
        raise KeyboardInterrupt
    assert answers_are_right(sketches)
    assert sketches.ask("SELECT count(*) AS n FROM t").rows.to_pylist() == [{"n": 3000}]


def test_a_statement_of_postgresql_that_ctrl_c_ends_leaves_no_trace_in_the_log(
    postgres: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """SQLAlchemy would take back what was begun on a connection that is busy, and say at length why it cannot."""
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        transactions = sketches.backend._transactions
        with pytest.raises(KeyboardInterrupt), transactions.transaction() as connection:
            connection.connection.driver_connection.pgconn.send_query(b"SELECT pg_sleep(0.1)")
            raise KeyboardInterrupt
        with transactions.transaction() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    assert not caplog.records


def test_a_connection_that_sqlalchemy_closes_is_made_again(sketches: Any):
    """As it does with one that Ctrl-C has left in the middle of something."""
    assert answers_are_right(sketches)
    with sketches.backend.engine.connect() as connection:
        connection.invalidate()
    sketches.backend.engine.dispose()
    assert answers_are_right(sketches)


@pytest.mark.parametrize("left", ["close", "begin"])
def test_a_connection_that_ctrl_c_left_as_nobody_was_told_is_made_again(sketches: Any, left: str):
    """SQLAlchemy may close the one that it was made of without a word."""
    assert answers_are_right(sketches)
    getattr(sketches.backend._transactions.direct().raw, left)()
    assert answers_are_right(sketches)


def test_what_a_driver_says_in_the_stead_of_ctrl_c_is_ctrl_c(sketches: Any):
    with pytest.raises(KeyboardInterrupt), sketches.backend._transactions.refusals():
        try:
            raise KeyboardInterrupt
        finally:
            raise OperationalError("ROLLBACK", None, Exception("another command is already in progress"))
    with pytest.raises(SketchError), sketches.backend._transactions.refusals():
        raise OperationalError("ROLLBACK", None, Exception("out of luck"))


def test_what_fails_after_ctrl_c_was_heard_is_no_ctrl_c(sketches: Any):
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(SketchError, match="no-such-version"):
            sketches.ask(QUERIES[0], versions={"t": 7})


def test_values_of_the_same_words_are_no_ctrl_c(sketches: Any):
    with pytest.raises(SketchError, match="backend-failed"):
        sketches.ask("SELECT x FROM t WHERE CAST(replace('KeyboardInterrupt ', ' ', '') AS INTEGER) = x")


FIRST_OPENING = """
import os, signal, sys
import headwater as hw

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "asyncio.streams":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
try:
    hw.sketches("duckdb:///" + sys.argv[1], sys.argv[2])
except KeyboardInterrupt:
    hw.sketches("duckdb:///" + sys.argv[1], sys.argv[2])
    print("opened")
"""


def test_ctrl_c_waits_while_what_asks_databases_is_loaded(tmp_path: Path):
    """SQLAlchemy imports asyncio, which could not be imported again."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_OPENING, str(tmp_path / "t.db"), str(tmp_path / "state")],
        env={**os.environ, "PYTHONPATH": str(Path(hw.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "opened\n", done.stderr


def test_closing_that_ctrl_c_ends_lets_go_of_the_folder(
    address: str, sketches: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sketches.backend, "close", interrupted)
        sketches.close()
    sketches.backend.close()
    with hw.sketches(address, tmp_path / "state", patience=0) as again:
        assert answers_are_right(again)


@pytest.mark.parametrize("seed", range(3))
def test_ctrl_c_at_any_moment(sketches: Any, seed: int):
    rng = random.Random(seed)
    sketches.update("t", insert=[(9_999, 1, 1)])
    assert answers_are_right(sketches)  # all that is loaded once is loaded
    for number in range(40):
        timer = threading.Timer(rng.random() ** 2 * 0.03, os.kill, (os.getpid(), signal.SIGINT))
        with suppress(KeyboardInterrupt):
            interrupted(sketches, rng, timer, 10_000 + 100 * number)
        assert answers_are_right(sketches)


def interrupted(sketches: Any, rng: random.Random, timer: threading.Timer, first: int) -> None:
    """Change tables and ask until Ctrl-C comes, which is heard in here and nowhere else."""
    timer.start()
    try:
        for number in range(first, first + 100):
            sketches.update("t", insert=[(number, rng.randrange(97), rng.randrange(5))])
            sketches.ask(rng.choice(QUERIES), way=rng.choice([None, "capture"]))
    finally:
        timer.join()
