"""Published logs at every kind of place: append-only, checksummed, exactly once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import ExchangeError, HeadwaterError, StoreError
from headwater.exchange.edit import Edit, PolicyEdit, Transaction, TransactionId
from headwater.exchange.logs import KeptLogs, open_logs
from headwater.values.labelled import LabelledNull

NOBODY = 65534
"""The user who may do least."""


def made(peer: str, number: int, *rows: tuple[object, ...]) -> Transaction:
    edits = tuple(Edit("+", "B", row) for row in rows or ((number, f"row\n{number}"),))
    return Transaction(TransactionId(peer, number), edits)


@pytest.fixture(params=["folder", "file", "memory", "sqlite", "duckdb", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").new_database()
    return {
        "folder": str(tmp_path / "logs"),
        "file": f"file://{tmp_path}/shared logs",
        "memory": f"memory://{uuid.uuid4().hex}",
        "sqlite": f"sqlite:///{tmp_path}/logs.db",
        "duckdb": f"duckdb:///{tmp_path}/logs.duckdb",
    }[request.param]


def test_what_is_published_is_read_in_order_and_once(address: str) -> None:
    logs = open_logs(address)
    assert (logs.last("GUS"), list(logs.read("GUS", 0)), logs.peers()) == (0, [], [])
    first = [made("GUS", 1), made("GUS", 2, (3, LabelledNull("c", ("x", 2))), (None, 1.5))]
    logs.append("GUS", first)
    policy = Transaction(TransactionId("GUS", 3), policy=(PolicyEdit("+", "distrust uBio"),))
    logs.append("GUS", [*first, policy])  # what is there is skipped
    logs.append("../odd / peer", [made("../odd / peer", 1)])
    again = open_logs(address)
    assert again.last("GUS") == 3
    assert list(again.read("GUS", 0)) == [*first, policy]
    assert list(again.read("GUS", 1)) == [first[1], policy]
    assert list(again.read("GUS", 3)) == []
    assert again.peers() == ["../odd / peer", "GUS"]


def test_transactions_that_edit_rows_are_found(address: str) -> None:
    logs = open_logs(address)
    odd = ('a"b\\', None, 1.5, LabelledNull("c", ("ü", 2)))
    logs.append("GUS", [made("GUS", 1, odd), made("GUS", 2, (1,)), made("GUS", 3, (12,))])
    logs.append("GUS", [made("GUS", 4, (2,), odd)])
    for rows, numbers in (([odd], [1, 4]), ([(1,)], [2]), ([(12,), (2,)], [3, 4]), ([(9,)], []), ([], [])):
        found = list(logs.editing("GUS", [("B", row) for row in rows]))
        assert [one.id.number for one in found] == numbers
    assert list(logs.editing("GUS", [("C", odd)])) == []


def test_a_gap_and_another_content_are_refused(address: str) -> None:
    logs = open_logs(address)
    logs.append("GUS", [made("GUS", 1), made("GUS", 2)])
    with pytest.raises(ExchangeError) as caught:
        logs.append("GUS", [made("GUS", 4)])
    assert caught.value.code == "log-gap"
    with pytest.raises(ExchangeError) as caught:
        open_logs(address).append("GUS", [made("GUS", 2, (9, "other")), made("GUS", 3)])
    assert caught.value.code == "published-elsewhere"
    assert open_logs(address).last("GUS") == 2


def test_two_copies_of_a_peer_publish_at_once_and_one_is_told(tmp_path: Path) -> None:
    def publish(number: int) -> str:
        try:
            open_logs(tmp_path).append("GUS", [made("GUS", 1, (number, "mine"))])
        except ExchangeError as error:
            return error.code
        return "done"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(publish, range(8))) == ["done"] + ["published-elsewhere"] * 7
    assert open_logs(tmp_path).last("GUS") == 1


# In DuckDB one process writes at a time, and within it one connection.
@pytest.mark.parametrize("address", ["folder", "file", "memory", "sqlite", "postgresql"], indirect=True)
def test_many_peers_publish_at_once(address: str) -> None:
    def publish(peer: int) -> None:
        logs = open_logs(address)
        for number in range(1, 6):
            logs.append(f"p{peer}", [made(f"p{peer}", number)])

    open_logs(address).append("first", [made("first", 1)])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(publish, range(4)))
    logs = open_logs(address)
    for peer in range(4):
        assert list(logs.read(f"p{peer}", 0)) == [made(f"p{peer}", number) for number in range(1, 6)]


# ------------------------------------------------------------------ damage


def entry_file(folder: Path, peer: str, first: int) -> Path:
    return folder / peer / f"{first:012d}.entry"


@pytest.fixture()
def three(tmp_path: Path) -> Path:
    """A log of three entries."""
    logs = open_logs(tmp_path)
    for number in (1, 2, 3):
        logs.append("GUS", [made("GUS", number)])
    return tmp_path


def cut(data: bytes) -> bytes:
    return data[:-5]


def flipped(data: bytes) -> bytes:
    return data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (cut, "incomplete"),
        (lambda data: data[:10], "incomplete"),
        (lambda data: b"", "incomplete"),
        (flipped, "damaged"),
        (lambda data: b"\0" * len(data), "damaged"),
        (lambda data: data + b"more", "damaged"),
        (lambda data: b"not an entry at all, by somebody who saved a file here", "damaged"),
    ],
)
def test_a_damaged_entry_is_named_and_nothing_before_it_is_lost(
    three: Path, change: Callable[[bytes], bytes], code: str
) -> None:
    path = entry_file(three, "GUS", 2)
    good = path.read_bytes()
    path.write_bytes(change(good))
    read: list[Transaction] = []
    with pytest.raises(StoreError) as caught:
        read.extend(open_logs(three).read("GUS", 0))
    assert caught.value.code == code
    assert "GUS from transaction 2" in caught.value.message
    iterator = open_logs(three).read("GUS", 0)
    assert next(iterator) == made("GUS", 1)
    assert list(open_logs(three).read("GUS", 2)) == [made("GUS", 3)]  # who is past it does not care
    path.write_bytes(good)
    assert len(list(open_logs(three).read("GUS", 0))) == 3


def test_a_missing_entry_and_a_shortened_log_are_noticed(three: Path) -> None:
    entry_file(three, "GUS", 2).unlink()
    with pytest.raises(StoreError, match="missing") as caught:
        list(open_logs(three).read("GUS", 0))
    assert caught.value.code == "damaged"
    entry_file(three, "GUS", 3).unlink()
    with pytest.raises(StoreError) as caught:
        list(open_logs(three).read("GUS", 3))
    assert caught.value.code == "log-shortened"


def test_a_missing_first_entry_is_noticed(three: Path) -> None:
    """By whoever has not read it: what comes after may not be taken without it."""
    entry_file(three, "GUS", 1).unlink()
    with pytest.raises(StoreError, match="from transaction 1 on.*missing") as caught:
        list(open_logs(three).read("GUS", 0))
    assert caught.value.code == "damaged"
    assert [one.id.number for one in open_logs(three).read("GUS", 1)] == [2, 3]


def test_an_entry_of_another_log_is_not_taken_for_one(three: Path) -> None:
    other = three / "other"
    logs = open_logs(other)
    logs.append("GUS", [made("GUS", 1, (1, "of another history"))])
    logs.append("GUS", [made("GUS", 2)])
    entry_file(three, "GUS", 2).write_bytes(entry_file(other, "GUS", 2).read_bytes())
    with pytest.raises(StoreError, match="after another entry"):
        list(open_logs(three).read("GUS", 0))
    entry_file(three, "GUS", 2).write_bytes(entry_file(three, "GUS", 3).read_bytes())
    with pytest.raises(StoreError, match="damaged"):
        list(open_logs(three).read("GUS", 0))


@given(st.binary(max_size=200), st.integers(0, 400))
def test_any_bytes_are_an_error_of_ours_or_the_entry(noise: bytes, at: int) -> None:
    class Place:
        what = "here"

        def __init__(self) -> None:
            self.kept: dict[int, bytes] = {}

        def put(self, peer: str, number: int, data: bytes) -> bool:
            self.kept[number] = data
            return True

        def get(self, peer: str, number: int) -> bytes | None:
            return self.kept.get(number)

        def numbers(self, peer: str) -> list[int]:
            return sorted(self.kept)

        def peers(self) -> list[str]:
            return []

    place = Place()
    logs = KeptLogs(place)
    logs.append("p", [made("p", 1)])
    good = place.kept[1]
    place.kept[1] = good[:at] + noise + good[at + len(noise) :]
    try:
        assert list(KeptLogs(place).read("p", 0)) == [made("p", 1)]
    except HeadwaterError:
        assert place.kept[1] != good


def test_places_that_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for address, code in (
        (str(tmp_path / "file" / "logs"), "not-a-directory"),
        ("postgresql+psycopg://ann:secret@127.0.0.1:1/db?connect_timeout=2", "unreachable"),
        ("nosuchstore://bucket/logs", "unreachable"),
        ("file://other-machine/logs", "unreachable"),
    ):
        with pytest.raises(StoreError) as caught:
            open_logs(address).append("GUS", [made("GUS", 1)])
        assert caught.value.code == code
        assert "secret" not in str(caught.value)


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Root may write everywhere; nobody else may."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with as_an_ordinary_user(), pytest.raises(StoreError) as caught:
        open_logs(tmp_path / "logs").append("GUS", [made("GUS", 1)])
    tmp_path.chmod(0o700)
    assert caught.value.code == "permission"


# ------------------------------------------------------------------ kill -9

PUBLISHER = textwrap.dedent(
    """
    import os, signal, sys
    from headwater.exchange.edit import Edit, Transaction, TransactionId
    from headwater.exchange.logs import open_logs
    address, calls = sys.argv[1], int(sys.argv[2])
    seen = 0
    def trace(frame, event, argument):
        global seen
        if "exchange/logs" in frame.f_code.co_filename or "store/durable" in frame.f_code.co_filename:
            if event in ("line", "call"):
                seen += 1
                if seen == calls:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace
        return None
    logs = open_logs(address)
    sys.settrace(trace)
    logs.append("GUS", [Transaction(TransactionId("GUS", n), (Edit("+", "B", (n, "x" * 50)),)) for n in (1, 2, 3)])
    sys.settrace(None)
    print(seen)
    """
)


def publish_and_die(address: str, calls: int) -> Any:
    return subprocess.run(
        [sys.executable, "-c", PUBLISHER, address, str(calls)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_a_publisher_that_is_killed_anywhere_leaves_all_or_nothing(kind: str, tmp_path: Path) -> None:
    def address(name: object) -> str:
        return str(tmp_path / f"logs{name}") if kind == "folder" else f"sqlite:///{tmp_path}/logs{name}.db"

    whole = [Transaction(TransactionId("GUS", n), (Edit("+", "B", (n, "x" * 50)),)) for n in (1, 2, 3)]
    steps = int(publish_and_die(address("whole"), 0).stdout)
    outcomes = set()
    for calls in sorted({1, steps * 2 // 3, steps - 2, steps}):
        here = address(calls)
        assert publish_and_die(here, calls).returncode == -9
        logs = open_logs(here)
        there = list(logs.read("GUS", 0))
        assert there in ([], whole)
        outcomes.add(len(there))
        logs.append("GUS", whole)
        assert list(open_logs(here).read("GUS", 0)) == whole
    assert outcomes == {0, 3}
