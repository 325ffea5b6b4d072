"""What an edit of a rule costs does not grow with the rules that it does not concern: counted in calls, not timed."""

from __future__ import annotations

import sys
from types import FrameType

import headwater as hw
from headwater.database import Database
from headwater.rules import plain_joins
from headwater.version.changes import Changes

VIEW = "under(X, Y) :- boss(X, Y).\nunder(X, Z) :- boss(X, Y), under(Y, Z).\n"
BOSSES = [(person, person // 2) for person in range(1, 64)]
MORE = "under(X, Z) :- deputy(X, Y), boss(Y, Z)."


def company(others: int, *, apart: bool = False) -> Database:
    """A database with so many views beside the one that is edited, in one text or each in its own."""
    db = hw.connect()
    db.define("boss(person: int, manager: int). deputy(person: int, stands_for: int).")
    db.apply(insert={"boss": BOSSES, "deputy": [(62, 33)]})
    texts = [f"other{number}(X, Y) :- deputy(X, Y), X > {number}.\n" for number in range(others)]
    for text in texts if apart else ["".join(texts)]:
        db.define(text)
    db.define(VIEW)
    return db


def edits(db: Database) -> tuple[Changes, Changes, Changes]:
    """A rule comes, is another one, and goes."""
    added = db.add_rule(MORE)
    id = db.rules[-1]
    replaced = db.replace_rule(id, "under(X, Z) :- deputy(X, Z), boss(X, Y), boss(Y, W).")
    return added, replaced, db.drop_rule(id)


def calls(db: Database) -> dict[str, int]:
    """How many functions an edit of each kind calls, once what is made on first use is there."""
    edits(db)
    found: dict[str, int] = {}
    called = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal called
        called += event == "call"

    id = ""
    for what in ("added", "dropped"):
        called = 0
        sys.setprofile(count)
        try:
            if what == "added":
                db.add_rule(MORE)
            else:
                db.drop_rule(id)
        finally:
            sys.setprofile(None)
        found[what] = called
        id = db.rules[-1]
    return found


def test_an_edit_calls_as_many_functions_whatever_else_is_defined() -> None:
    few, many = calls(company(10)), calls(company(300))
    assert many == few


def test_rules_in_texts_of_their_own_are_gathered() -> None:
    """A text is asked some times whether it has the rule; of texts of one rule each, a few are left to be asked."""
    few, many = calls(company(10, apart=True)), calls(company(120, apart=True))
    assert all(many[what] - few[what] <= 25 * 6 for what in few)


def test_views_that_are_not_concerned_are_the_very_same() -> None:
    db = company(40)
    edits(db)
    views = {view.stratum.relations: view for view in db.runner.engine.views}
    db.add_rule(MORE)
    after = {view.stratum.relations: view for view in db.runner.engine.views}
    assert [names for names in after if after[names] is not views[names]] == [("under",)]


def test_plans_of_rules_that_stay_are_kept() -> None:
    db = company(0)
    edits(db)
    made: list[str] = []
    planner = db.runner.engine.workspace.planner
    delta = planner.delta

    def counted(rule, position, own):  # type: ignore[no-untyped-def]
        made.append(rule.label)
        return delta(rule, position, own)

    planner.delta = counted  # type: ignore[method-assign]
    db.add_rule(MORE)
    id = db.rules[-1]
    assert set(made) <= {id}
    db.drop_rule(id)
    assert set(made) <= {id}


def test_an_edit_says_what_a_definition_from_scratch_says() -> None:
    db, fresh = company(20), company(20)
    added, replaced, dropped = edits(db)
    assert added["under"].counts[0] > 0
    assert replaced["under"].counts[1] > 0
    assert set(db["under"].rows()) == set(fresh["under"].rows())
    assert not dropped["under"].counts[0]


def test_a_rule_that_is_more_than_a_plain_join_is_left_to_the_check() -> None:
    db = company(0)
    infos, functions = db.catalog.program.relations, db.catalog.functions
    for body in ("X > 1 + 1", "X = Y", "deputy(Y, _)"):
        db.add_rule(f"under(X, Y) :- deputy(X, Y), {body}.")
        assert plain_joins.plain_join(db.catalog.rules[-1], infos, functions) is None
    for text in (MORE, "under(X, Y) :- deputy(X, Y), X > 1, !boss(X, Y)."):
        db.add_rule(text)
        assert plain_joins.plain_join(db.catalog.rules[-1], infos, functions) is not None
