"""What another definition and other rows would do together: as if both were done, and nothing is."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from headwater.errors import HeadwaterError, UnknownRelation

TEXTS = (
    "reach(x, y) :- link(x, y). reach(x, z) :- reach(x, y), link(y, z).",
    "reach(x, y) :- link(x, y). reach(x, z) :- reach(x, y), link(y, z), !barred(y).",
    "reach(x, y) :- link(x, y), !barred(x). far(x) :- reach(0, x), reach(x, x).",
    "reach(x, y) :- link(y, x). reach(x, z) :- reach(x, y), reach(y, z). far(x) :- barred(x), reach(x, _).",
)
DECLARED = ".decl link(a: int, b: int)\n.decl barred(a: int)\n"


def rows(db) -> dict[str, set]:
    return {name: set(db[name].rows()) for name in db.relations}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("strategy", ["support", "dred", "recompute"])
def test_a_definition_and_rows_together(seed: int, strategy: str):
    chance = random.Random(seed)
    db = hw.connect(strategy=strategy)
    db.define(DECLARED + chance.choice(TEXTS))
    for _ in range(6):
        text = DECLARED + chance.choice(TEXTS)
        insert = {
            "link": [(chance.randrange(5), chance.randrange(5)) for _ in range(chance.randrange(4))],
            "barred": [(chance.randrange(5),) for _ in range(chance.randrange(2))],
        }
        present = sorted(db["link"].rows())
        delete = {"link": chance.sample(present, min(len(present), chance.randrange(3)))}
        before, version, texts = rows(db), db.version, db.texts
        supposed = db.what_if(insert, delete, redefine=text)
        assert (rows(db), db.version, db.texts) == (before, version, texts)
        db.redefine(text)
        db.apply(insert, delete)
        after = rows(db)
        for name in before.keys() | after.keys():
            gained, lost = (
                after.get(name, set()) - before.get(name, set()),
                before.get(name, set()) - after.get(name, set()),
            )
            told = supposed.get(name)
            assert set(told.inserted if told is not None else ()) == gained, name
            assert set(told.deleted if told is not None else ()) == lost, name
    db.close()


def test_a_wrong_definition_is_refused_and_nothing_is_changed():
    db = hw.connect()
    db.define(DECLARED + TEXTS[0], insert={"link": [(1, 2)]})
    for text in ("reach(x :- link(x).", DECLARED + "p(x) :- !p(x), link(x, _)."):
        with pytest.raises(HeadwaterError):
            db.what_if(redefine=text)
    with pytest.raises(HeadwaterError):
        db.what_if({"link": [("a", 1)]}, redefine=DECLARED + TEXTS[1])
    with pytest.raises(UnknownRelation):
        db.what_if({"new": [(1,)]}, redefine=DECLARED + TEXTS[1])
    declared = db.what_if({"new": [(1,)]}, redefine=DECLARED + ".decl new(a: int)\n" + TEXTS[1])
    assert declared["new"].inserted == [(1,)] and "new" not in db
    assert db["reach"].rows() == [(1, 2)]
    db.close()
