"""`what_if` is `apply` that is taken back: the same changes, and no trace. `depends` is what it says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import examples
from oracle_strategies import BASE, streams
from provenance_cases import Case, cases, followed, only, positive

import headwater as hw
from headwater.database import Database


def everything(db: Database) -> dict[str, Any]:
    """All that a version could change: rows with ranks and counts (but for signs of counts, which only say whether a
    row need be asked for other derivations), and what the database says of itself."""
    stored = {}
    for name, relation in db.engine.workspace.relations.items():
        codes, ranks, visible = relation.dump()
        order = np.lexsort(codes.T[::-1]) if codes.size else slice(None)
        stored[name] = (codes[order].tolist(), np.abs(ranks[order]).tolist(), visible[order].tolist())
    return {
        "stored": stored,
        "said": (db.version, db.now, db.texts, db.relations, db.statistics, db.engine.workspace.clock),
        "changed": sorted(db.engine.changed),
        "types": {name: db.info(name) for name in db.relations},
    }


def difference(changes: hw.changes.Changes) -> dict[str, tuple[list, list]]:
    return {name: (sorted(changes[name].inserted), sorted(changes[name].deleted)) for name in changes}


@settings(max_examples=examples(25))
@given(cases(), streams(length=2))
def test_what_if_is_apply_then_undo_and_leaves_no_trace(case: Case, stream):
    for version in stream:
        delete, insert = version.resolved(case.base)
        before = everything(case.db)
        supposed = difference(case.db.what_if(insert=insert, delete=delete))
        assert everything(case.db) == before
        applied = difference(case.db.apply(insert=insert, delete=delete))
        assert supposed == applied
        for name in BASE:
            case.base[name] = (case.base[name] - set(delete.get(name, ()))) | set(insert.get(name, ()))


def test_relations_never_heard_of_are_supposed_too():
    db = hw.connect(strict=False)
    db.define("p(X) :- q(X).")
    before = everything(db)
    changes = db.what_if(insert={"q": [("a",)], "fresh": [(1, 2)]})
    assert difference(changes) == {"q": ([("a",)], []), "p": ([("a",)], []), "fresh": ([(1, 2)], [])}
    after = everything(db)
    assert after == before and "fresh" not in db
    assert db.apply(insert={"q": [(7,)]})["p"].inserted == [(7,)]  # another type than was supposed


def test_keys_lifetimes_and_sizes_are_minded_and_put_back():
    program = "materialize(link, 10, infinity, keys(1)). materialize(last, infinity, 2, keys(1)). p(X) :- link(X, _)."
    one, other = hw.connect(), hw.connect()
    for db in (one, other):
        db.define(program)
        db.apply(insert={"link": [("a", 1)], "last": [(1,), (2,)]})
    supposed = one.what_if(insert={"link": [("a", 2), ("b", 1)], "last": [(3,)]})
    assert sorted(supposed["link"].deleted) == [("a", 1)] and supposed["last"].deleted == [(1,)]
    for db in (one, other):
        db.apply(insert={"last": [(4,)]})
        db.advance(10)
    assert sorted(one["last"].rows()) == sorted(other["last"].rows()) == [(2,), (4,)]
    assert one["link"].rows() == other["link"].rows() == []


def test_nothing_is_logged(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        db.define("p(X) :- q(X).")
        db.apply(insert={"q": [(1,)]})
    files = {file: file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file()}
    with hw.connect(tmp_path / "state", mode="r") as db:  # a reader may suppose
        assert db.what_if(insert={"q": [(2,)]})["p"].inserted == [(2,)]
        assert db.version == 2
    assert {file: file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file()} == files


@pytest.mark.parametrize("change", [{"insert": {"q": [("x",)]}}, {"insert": {"p": [(1,)]}}, {"delete": [1]}])
def test_what_cannot_be_applied_cannot_be_supposed(change):
    db = hw.connect()
    db.define("p(X) :- q(X).")
    db.apply(insert={"q": [(1,)]})
    before = everything(db)
    with pytest.raises(hw.HeadwaterError):
        db.what_if(**change)
    assert everything(db) == before


def test_a_rule_that_fails_is_taken_back():
    db = hw.connect()
    db.define("p(X) :- q(X, Y), X = 10 / Y.")
    db.apply(insert={"q": [(5, 2)]})
    before = everything(db)
    with pytest.raises(hw.errors.EvaluationError):
        db.what_if(insert={"q": [(1, 0)]})
    assert everything(db) == before


def test_changes_of_earlier_versions_stay_readable():
    db = hw.connect(strategy="recompute")
    db.define("p(X) :- q(X).")
    earlier = db.apply(insert={"q": [(1,), (2,)]})
    db.what_if(delete={"q": [(1,), (2,)]})
    assert sorted(earlier["p"].inserted) == [(1,), (2,)]


# ------------------------------------------------------------------ depends


@settings(max_examples=examples(30))
@given(cases())
def test_what_falls_and_appears_is_the_difference_of_recomputing_without_the_row(case: Case):
    rng = random.Random(case.seed)
    rows = sorted((name, row) for name, found in case.base.items() for row in found)
    now = solve(case.program, case.base)
    for relation, row in rng.sample(rows, min(2, len(rows))):
        found = case.db.depends(relation, row)
        then = solve(case.program, case.without([(relation, row)]))
        views = [name for name in case.program.relations if name not in BASE]
        assert found.falls == {(name, gone) for name in views for gone in now[name] - then[name]}
        assert found.appears == {(name, new) for name in views for new in then[name] - now[name]}
        assert found.alone <= found.falls <= found.uses


@settings(max_examples=examples(20))
@given(cases(positive()))
def test_what_uses_a_row_has_it_in_its_graph_and_what_hangs_on_it_alone_needs_no_other(case: Case):
    rng = random.Random(case.seed)
    rows = sorted((name, row) for name, found in case.base.items() for row in found)
    for relation, row in rng.sample(rows, min(1, len(rows))):
        found = case.db.depends(relation, row, limit=None)
        for name, other in case.rows(8):
            base = {kept.fact for kept in case.db.why(name, other).graph.rows if kept.kind == "base"}
            assert ((name, other) in found.uses) == ((relation, row) in base)
        derived = solve(case.program, only([(relation, row)]))
        views = [name for name in case.program.relations if name not in BASE]
        assert found.alone == found.falls & {(name, new) for name in views for new in derived[name]}


@settings(max_examples=examples(15))
@given(cases(positive()))
def test_a_derived_row_takes_along_what_has_no_derivation_without_it(case: Case):
    """Told by the rules with a test that keeps the row out."""
    for relation, row in case.rows(1):
        text = case.program.text()
        held = f"{relation}_held"
        text = text.replace(f"{relation}(", f"{held}(")
        names = ", ".join(f"V{i}" for i in range(len(row)))
        keep = " ; ".join(f"V{i} != {value}" for i, value in enumerate(row)) or "1 = 2"
        db = hw.connect()
        db.define(_reading(text, held, relation))
        db.define(f"{relation}({names}) :- {held}({names}), ({keep}).")
        db.apply(insert={name: sorted(rows) for name, rows in case.base.items()})
        falls = {
            (name, gone)
            for name in case.program.relations
            if name not in BASE
            for gone in set(case.db[name].rows()) - set(db[name].rows())
        }
        assert case.db.depends(relation, row).falls == falls - {(relation, row)}


def _reading(text: str, held: str, relation: str) -> str:
    """Rules derive the held relation and read the one that leaves the row out."""
    lines = []
    for line in text.splitlines():
        head, arrow, body = line.partition(" :- ")
        lines.append(head + arrow + body.replace(f"{held}(", f"{relation}("))
    return "\n".join(lines)


def test_given_rows_of_views_can_be_asked_about():
    db = hw.connect()
    db.define("p(1). p(X) :- q(X). r(X) :- p(X).")
    db.apply(insert={"q": [(2,)]})
    assert db.depends("p", (1,)).falls == {("p", (1,)), ("r", (1,))}
    assert db.depends("p", (2,)).falls == {("r", (2,))}


def test_limits_are_told():
    db = hw.connect()
    db.define("p(X, Y) :- q(X), r(Y).")
    db.apply(insert={"q": [(1,), (2,)], "r": [(n,) for n in range(100)]})
    found = db.depends("q", (1,), limit=10)
    assert found.more and len(found.falls) == 100 and "or more" in repr(found)
    assert not db.depends("q", (1,), limit=None).more


def test_what_is_not_there_has_nothing_depending_on_it():
    db = hw.connect()
    db.define("p(X) :- q(X).")
    db.apply(insert={"q": [(1,)]})
    with pytest.raises(hw.errors.DataError, match="not there"):
        db.depends("q", (2,))


@settings(max_examples=examples(10))
@given(cases(length=3), st.data())
def test_supposing_between_versions_changes_nothing_later(case: Case, data: st.DataObject):
    stream = data.draw(streams(length=3))
    for plain, asked in zip(
        followed(case.program, stream, "support"), followed(case.program, stream, "support"), strict=True
    ):
        asked[0].what_if(delete={"e": [(0, 1), (1, 2)], "w": [(0, 1, 2)]}, insert={"f": [(3, 3)]})
        for name in case.program.relations:
            assert sorted(plain[0][name].rows()) == sorted(asked[0][name].rows())
