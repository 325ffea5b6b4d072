"""Confederations as TOML files, with databases of their peers; the example of green-2007 through them."""

from __future__ import annotations

import sqlite3
import textwrap
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import headwater as hw
from headwater.errors import ExchangeError, HeadwaterError
from headwater.exchange.settings import parse_confederation

EXAMPLE = """
state = "state"
mappings = '''
m1: G(i, c, n) -> B(i, n).
m2: G(i, c, n) -> U(n, c).
m3: B(i, n) -> exists c U(n, c).
m4: B(i, c), U(n, c) -> B(i, n).
'''

[peer.GUS]
relations.G = "id: int, can: int, nam: int"

[peer.BioSQL]
database = "{BioSQL}"
relations.B = "id: int, nam: int"

[peer.uBio]
database = "{uBio}"
[peer.uBio.relations]
U = "nam: int, can: int"
"""


def written(folder: Path, **databases: str) -> Path:
    file = folder / "bio.toml"
    named = {"BioSQL": "sqlite:///biosql.db", "uBio": "sqlite:///ubio.db", **databases}
    text = EXAMPLE
    for peer, address in named.items():
        text = text.replace(f"{{{peer}}}", address)
    file.write_text(text)
    return file


def sql(url: str, *statements: str) -> list[Any]:
    engine = sa.create_engine(url)
    found: list[Any] = []
    with engine.begin() as connection:
        for statement in statements:
            done = connection.exec_driver_sql(statement)
            found = [tuple(row) for row in done] if done.returns_rows else []
    engine.dispose()
    return found


def test_the_example_of_the_paper_in_databases_of_its_peers(tmp_path: Path) -> None:
    file = written(tmp_path)
    biosql, ubio = f"sqlite:///{tmp_path}/biosql.db", f"sqlite:///{tmp_path}/ubio.db"
    sql(biosql, 'CREATE TABLE "B" ("id" INTEGER, "nam" INTEGER)', 'INSERT INTO "B" VALUES (3, 5)')
    with hw.exchange(file) as confederation:
        confederation["GUS"].edit(insert={"G": [(1, 2, 3), (3, 5, 2)]})
        confederation["uBio"].edit(insert={"U": [(2, 5)]})
        confederation.exchange()
    assert sorted(sql(biosql, 'SELECT * FROM "B"')) == [(1, 3), (3, 2), (3, 3), (3, 5)]
    found = set(sql(ubio, 'SELECT "nam", "can", "can?" FROM "U"'))
    assert found == {
        (2, 5, None),
        (3, 2, None),
        (5, None, "?m3_c(5)"),
        (2, None, "?m3_c(2)"),
        (3, None, "?m3_c(3)"),
    }
    sql(biosql, 'DELETE FROM "B" WHERE "id" = 3 AND "nam" = 2')  # a curator, with tools of their own
    with hw.exchange(file) as confederation:
        confederation.exchange()
        assert sorted(confederation["BioSQL"]["B"].rows()) == [(1, 3), (3, 5)]
    assert sorted(sql(biosql, 'SELECT * FROM "B"')) == [(1, 3), (3, 5)]
    found = set(sql(ubio, 'SELECT "nam", "can", "can?" FROM "U"'))
    assert found == {(2, 5, None), (3, 2, None), (5, None, "?m3_c(5)"), (3, None, "?m3_c(3)")}


def test_a_confederation_over_databases_of_every_kind(tmp_path: Path, address: tuple[str, str]) -> None:
    """One peer in each kind of database; what its user does there reaches the other, and back."""
    text = f"""
        mappings = "a: R(x, y) -> S(x, y). b: S(x, y), x > 5 -> R(x, y)."
        [peer.one]
        database = "{address[0]}"
        capture = "{address[1]}"
        relations.R = "x: int, y: string"
        [peer.two]
        relations.S = "x: int, y: string"
    """
    file = tmp_path / "two.toml"
    file.write_text(textwrap.dedent(text))
    with hw.exchange(file) as confederation:
        one, two = confederation["one"], confederation["two"]
        one.edit(insert={"R": [(1, "it's"), (7, "ü")]})
        two.edit(insert={"S": [(8, "x")]})
        confederation.exchange()
        confederation.exchange()
        assert sorted(one["R"].rows()) == [(1, "it's"), (7, "ü"), (8, "x")]
        assert sorted(two["S"].rows()) == [(1, "it's"), (7, "ü"), (8, "x")]
        assert one.database is not None
        assert one.database.behind == 0
        if not address[0].startswith(("delta", "parquet")):
            sql(address[0], 'DELETE FROM "R" WHERE "x" = 1')
            confederation.exchange()
            assert sorted(two["S"].rows()) == [(7, "ü"), (8, "x")]


def test_what_was_computed_and_not_shown_is_shown_later(tmp_path: Path) -> None:
    file = written(tmp_path)
    biosql = f"sqlite:///{tmp_path}/biosql.db"
    with hw.exchange(file) as confederation:
        confederation["GUS"].edit(insert={"G": [(1, 2, 3)]})
        confederation["GUS"].publish()
        peer = confederation["BioSQL"]
        sql(biosql, 'ALTER TABLE "B" RENAME TO "C"')
        with pytest.raises(ExchangeError, match="schema-drift"):
            peer.update()
    sql(biosql, 'ALTER TABLE "C" RENAME TO "B"')
    with hw.exchange(file) as confederation:
        confederation["BioSQL"].update()
    assert sql(biosql, 'SELECT * FROM "B"') == [(1, 3)]


def test_a_database_of_another_state_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    with hw.exchange(file) as confederation:
        confederation["BioSQL"].edit(insert={"B": [(1, 1)]})
    with pytest.raises(ExchangeError) as caught, hw.exchange(file, path=tmp_path / "other") as confederation:
        confederation["BioSQL"].edit(insert={"B": [(1, 1)]})
    assert caught.value.code == "other-state"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("mappings = 3", "wrong-type", 1),
        ("mapings = ''", "unknown-key", 1),
        ("state = 'x'\n", "missing-key", None),
        ("[peer.A]\nrelation.R = 'x: int'", "unknown-key", 2),
        ("[peer.A]\ntrust = ''", "missing-key", 1),
        ("[peer.A]\nrelations.R = 3", "wrong-type", 2),
        ("[peer.A]\nrelations.R = 'x'", "bad-schema", 2),
        ("[peer.A]\n[peer.A.relations]\nR = 'x: wrong'", "bad-schema", 2),
        ("[peer.A]\nrelations.R = 'x: int'\ncapture = 'magic'", "unknown-kind", 3),
        ("[peer.A]\nrelations.R = 'x: int'\ntables.Q = 'q'", "unknown-key", 3),
        ("[peer.A]\nrelations.R = 'x: int'\ntrust = 'dis trust'", "syntax", 3),
        ("mappings_file = 'gone.txt'\n[peer.A]\nrelations.R = 'x: int'", "missing-file", 1),
        ("[peer.A]\nrelations.R = 'x: int'\n[peer.A", "toml-syntax", 3),
        ("mappings = 'm: R(x -> R(x).'\n[peer.A]\nrelations.R = 'x: int'", "syntax", 1),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, code: str, line: int | None, tmp_path: Path) -> None:
    with pytest.raises(HeadwaterError) as caught:
        parse_confederation(text, tmp_path / "c.toml")
    assert caught.value.code == code
    assert (caught.value.place.line if caught.value.place else None) == line


def test_mappings_that_cannot_be_kept_are_refused_when_a_peer_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("mappings = 'm: R(x, y) -> exists z R(y, z).'\n[peer.A]\nrelations.R = 'x: int, y: int'")
    with hw.exchange(file) as confederation, pytest.raises(HeadwaterError) as caught:
        confederation["A"]
    assert caught.value.code == "not-weakly-acyclic"


def test_a_file_and_arguments_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="two-descriptions"):
        hw.exchange(written(tmp_path), mappings="m: B(i, n) -> U(n, i).")
    with pytest.raises(ExchangeError, match="missing-file"):
        hw.exchange(tmp_path / "nothing.toml")


def test_a_preview_knows_what_users_did_in_the_database(tmp_path):
    """The row that would come is there already, since a user wrote it: then nothing comes."""
    file = tmp_path / "c.toml"
    file.write_text(
        'mappings = "a: R(x) -> S(x)."\n[peer.one]\nrelations.R = "x: int"\n'
        '[peer.two]\nrelations.S = "x: int"\ndatabase = "sqlite:///two.db"\n'
    )
    with hw.exchange(file) as found:
        found["two"].capture()
        found["one"].edit(insert={"R": [(1,), (2,)]})
        found["one"].publish()
        with sqlite3.connect(tmp_path / "two.db") as database:
            database.execute('INSERT INTO "S" VALUES (1)')
        database.close()
        preview = found["two"].preview()
        assert preview.inserted("S") == [(2,)] == found["two"].update().inserted("S")
        assert sorted(found["two"]["S"].rows()) == [(1,), (2,)]
