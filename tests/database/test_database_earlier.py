"""State folders written by earlier versions of the software open, hold what they held, and go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import headwater as hw

EARLIER = Path(__file__).parent / "earlier"
WRITTEN = sorted(folder.name for folder in EARLIER.iterdir())


@pytest.fixture(params=WRITTEN)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(EARLIER / request.param, tmp_path / "copy")


def test_it_holds_what_it_held(folder: Path):
    expected = json.loads((folder / "expected.json").read_text())
    with hw.connect(folder / "state") as db:
        assert (db.version, db.now, dict(db.marks)) == (
            expected["version"],
            expected["now"],
            expected["marks"],
        )
        assert {name: sorted(map(list, db[name].rows())) for name in db.relations} == expected["rows"]
        assert len(db.owed("console")) == expected["owed"]


def test_it_goes_on_as_if_written_today(folder: Path):
    """Keys, lifetimes, supports and best rows are those of a database that was given the same from the start."""
    with hw.connect(folder / "state") as db:
        fresh = hw.connect(strict=False)
        for text, source in db.texts:
            fresh.define(text, source=source)
        base = [name for name in db.relations if db.info(name).base]
        present = {name: db[name].rows() for name in base}
        fresh.apply(
            insert={**present, "both": [("q",)]}, delete={"link": set(fresh["link"]) - set(db["link"])}
        )
        for insert, delete in (
            ({"link": [("b", "c", 1)]}, {}),
            ({"link": [("a", "b", 7)]}, {"link": [("d", "a", 1)]}),
            ({}, {"link": [("b", "d", 9)], "both": [("q",)]}),
        ):
            db.apply(insert=insert, delete=delete)
            fresh.apply(insert=insert, delete=delete)
            for name in db.relations:
                assert set(db[name].rows()) == set(fresh[name].rows()), name
        db.advance(to=120.0)
        assert [row[0] for row in db["seen"].rows()] == ["d"], "the lifetimes of the others are over"


def test_it_is_the_same_after_a_checkpoint_of_today(folder: Path):
    with hw.connect(folder / "state") as db:
        before = {name: sorted(db[name].rows()) for name in db.relations}
        db.checkpoint()
    with hw.connect(folder / "state") as db:
        assert {name: sorted(db[name].rows()) for name in db.relations} == before
