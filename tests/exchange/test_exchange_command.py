"""`headwater exchange`: the example of green-2007 from a shell."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headwater.cli import main
from headwater.errors import HeadwaterError


@pytest.fixture()
def bio(tmp_path: Path) -> Path:
    file = tmp_path / "bio.toml"
    assert run("init", file).exit_code == 0
    return file


def run(command: str, file: Path, *more: str) -> Result:
    done = CliRunner().invoke(main, ["exchange", command, str(file), *more], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, (HeadwaterError, SystemExit)):
        raise done.exception
    return done


def lines(done: Result) -> list[str]:
    assert done.exception is None, done.exception
    return done.output.splitlines()


def test_edit_publish_update_why_and_trust(bio: Path) -> None:
    assert lines(run("edit", bio, "GUS", "--insert", "G(1, 2, 3). G(3, 5, 2)")) == ["GUS:1"]
    assert lines(run("edit", bio, "uBio", "--insert", "U(2, 5)")) == ["uBio:1"]
    with sqlite3.connect(bio.parent / "bio-biosql.db") as database:
        database.execute('INSERT INTO "B" VALUES (3, 5)')
    database.close()
    assert "BioSQL published 1 transaction, up to BioSQL:1" in lines(run("publish", bio))
    would = lines(run("update", bio, "BioSQL", "--dry-run"))
    assert would[0] == "BioSQL would take: GUS (1 transaction), uBio (1 transaction)"
    assert would[-3:] == ["+ B(1, 3)", "+ B(3, 2)", "+ B(3, 3)"]
    before = json.loads(run("status", bio, "--json").output)
    assert before[1]["relations"] == {"B": 1}
    assert before[1]["to_take"] == {"GUS": 1, "uBio": 1}
    refused = run("update", bio, "BioSQL").exception
    assert isinstance(refused, HeadwaterError)
    assert refused.code == "not-confirmed"
    run("update", bio, "--yes")
    after = json.loads(run("status", bio, "--json").output)
    assert [peer["relations"] for peer in after] == [{"G": 2}, {"B": 4}, {"U": 5}]
    assert after[1]["to_take"] == {}
    with sqlite3.connect(bio.parent / "bio-biosql.db") as database:
        assert sorted(database.execute('SELECT * FROM "B"')) == [(1, 3), (3, 2), (3, 3), (3, 5)]
    database.close()
    said = run("why", bio, "BioSQL", "B(1, 3)").output
    assert "m1(G(1, 2, 3))" in said
    assert "by GUS in GUS:1" in said
    assert lines(run("show", bio, "uBio", "U"))[-1] == "2 rows"
    assert lines(run("show", bio, "uBio", "U", "--nulls"))[-1] == "5 rows"
    condition = "distrust B(i, n) from GUS if n >= 3."
    assert lines(run("trust", bio, "BioSQL", condition)) == [condition]
    assert lines(run("show", bio, "BioSQL", "B"))[-1] == "2 rows"
    kept_out = run("why", bio, "BioSQL", "B(1, 3)")
    assert f"kept out: m1(G(1, 2, 3)): {condition}" in kept_out.output
    assert isinstance(kept_out.exception, HeadwaterError) and kept_out.exception.code == "no-such-row"
    assert lines(run("trust", bio, "BioSQL", "--remove", condition)) == ["BioSQL trusts everything"]


def test_a_rejected_row_stays_away_until_it_is_inserted_again(bio: Path) -> None:
    run("edit", bio, "GUS", "--insert", "G(3, 5, 2)")
    run("publish", bio)
    run("update", bio, "--yes")
    run("edit", bio, "BioSQL", "--delete", "B(3, 2)")
    run("publish", bio)
    run("update", bio, "--yes")
    assert lines(run("show", bio, "BioSQL", "B"))[-1] == "0 rows"
    run("edit", bio, "BioSQL", "--insert", "B(3, 2)")
    assert lines(run("show", bio, "BioSQL", "B"))[-1] == "1 row"
    run("edit", bio, "BioSQL", "--delete", "B(3, 2)")
    run("edit", bio, "BioSQL", "--delete", "B(3, 2)")
    assert lines(run("show", bio, "BioSQL", "B"))[-1] == "0 rows"
    run("edit", bio, "BioSQL", "--reinstate", "B(3, 2)")
    assert "m1(G(3, 5, 2))" in run("why", bio, "BioSQL", "B(3, 2)").output


def test_a_transaction_waits_for_what_it_depends_on(bio: Path) -> None:
    run("edit", bio, "GUS", "--insert", "G(3, 5, 2)")
    run("edit", bio, "uBio", "--insert", "U(2, 5)", "--depends", "GUS:1")
    run("publish", bio, "uBio")
    assert "waiting for what they depend on: uBio:1" in run("update", bio, "BioSQL", "--yes").output
    run("publish", bio)
    run("update", bio, "BioSQL", "--yes")
    assert json.loads(run("status", bio, "BioSQL", "--json").output)[0]["to_take"] == {}


@pytest.mark.parametrize(
    ("command", "more", "code"),
    [
        ("edit", ("GUS", "--insert", "G(1, 2, 3)", "--depends", "Gus:1"), "unknown-peer"),
        ("edit", ("GUS", "--insert", "G(1, 2, 3)", "--depends", "GUS"), "transaction-id"),
        ("edit", ("GUS", "--reinstate", "G(1, 2, 3)"), "not-rejected"),
        ("edit", ("Gus", "--insert", "G(1, 2, 3)"), "unknown-peer"),
        ("edit", ("GUS", "--insert", "B(1, 2)"), "not-yours"),
        ("edit", ("GUS", "--insert", "G(1, 2)"), "wrong-arity"),
        ("edit", ("GUS", "--insert", "G(1, 2, x)"), "type-clash"),
        ("edit", ("GUS", "--insert", "G"), "syntax"),
        ("why", ("GUS", "G(1, 2, 3)"), "no-such-row"),
        ("trust", ("GUS", "distrust everyone"), "syntax"),
        ("show", ("GUS", "H"), "unknown-relation"),
    ],
)
def test_what_is_refused(bio: Path, command: str, more: tuple[str, ...], code: str) -> None:
    error = run(command, bio, *more).exception
    assert isinstance(error, HeadwaterError)
    assert error.code == code


def test_a_damaged_log_is_said_and_nothing_is_lost(bio: Path) -> None:
    run("edit", bio, "GUS", "--insert", "G(1, 2, 3)")
    run("publish", bio)
    entry = next((bio.parent / "bio-state" / "published" / "GUS").glob("*.entry"))
    good = entry.read_bytes()
    entry.write_bytes(good[:-1])
    for command in (("update", "BioSQL", "--yes"), ("update", "BioSQL", "--dry-run")):
        error = run(command[0], bio, *command[1:]).exception
        assert isinstance(error, HeadwaterError)
        assert error.code == "incomplete"
    entry.write_bytes(good)
    run("update", bio, "BioSQL", "--yes")
    assert lines(run("show", bio, "BioSQL", "B"))[-1] == "1 row"


def test_conflicts_are_listed_and_resolved_and_the_database_follows(tmp_path: Path) -> None:
    file = tmp_path / "names.toml"
    file.write_text(
        """
        mappings = "a: R(i, n) -> T(i, n). b: S(i, n) -> T(i, n). key: T(i, n), T(i, m) -> n = m."
        peer.A.relations.R = "id: int, name: string"
        peer.B.relations.S = "id: int, name: string"
        [peer.C]
        relations.T = "id: int, name: string"
        database = "sqlite:///c.db"
        """
    )
    run("edit", file, "A", "--insert", 'R(1, "gull")')
    run("edit", file, "A", "--insert", 'R(2, "tern")')
    run("edit", file, "B", "--insert", 'S(1, "mew")')
    run("publish", file)
    run("update", file, "C", "--yes")

    def shown() -> list[tuple[object, ...]]:
        with sqlite3.connect(tmp_path / "c.db") as database:
            found = sorted(database.execute('SELECT * FROM "T"'))
        database.close()
        return found

    assert shown() == [(2, "tern")]
    listed = lines(run("conflicts", file, "C"))
    assert listed[0] == "T with id = 1: to be resolved"
    assert listed[-1] == "1 conflict, 1 to be resolved"
    run("resolve", file, "C", "--keep", 'T(1, "gull")')
    assert lines(run("conflicts", file, "C"))[-1].endswith("0 to be resolved")
    assert shown() == [(1, "gull"), (2, "tern")]
