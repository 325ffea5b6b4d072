"""`db.watch`: what callbacks are told, and in which order."""

from __future__ import annotations

import datetime
import decimal
import threading
import warnings

import pytest
from active_alarms import PROGRAM, alarms, told

import headwater as hw

# ------------------------------------------------------------------ what is told


def test_a_goal_with_constants_and_a_condition(db):
    events = []
    db.watch("alarm(X, 'high')", do=events.append, on="added", when="X > 3")
    alarms(db, (1, "high"), (5, "high"), (7, "low"))
    alarms(db, (1, "low"), delete=[(5, "high")])
    assert told(events) == [(2, [(5, "high")], [])]
    assert (events[0].view, events[0].columns, events[0].watch) == ("alarm", ("x", "level"), "watch-1")


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("added", [(2, [(1,)], []), (4, [(2,)], [])]),
        ("removed", [(3, [], [(1,)]), (4, [], [(3,)])]),
        ("changed", [(2, [(1,)], []), (3, [], [(1,)]), (4, [(2,)], [(3,)])]),
    ],
)
def test_rows_that_come_go_or_either(on, expected):
    db = hw.connect()
    db.define(PROGRAM, insert={"alarm": [(3, "high")]})
    events = []
    db.watch("hot", events.append, on=on)
    alarms(db, (1, "high"))
    alarms(db, delete=[(1, "high")])
    alarms(db, (2, "high"), delete=[(3, "high")])
    assert told(events) == expected


def test_a_condition_reads_other_relations_as_they_are_after_the_version(db):
    events = []
    db.watch("alarm(X, _)", events.append, when="owner(X, W), !ticket(X)")
    db.apply(
        insert={
            "alarm": [(1, "low"), (2, "low"), (3, "low")],
            "owner": [(1, "a"), (2, "b")],
            "ticket": [(2,)],
        }
    )
    assert told(events) == [(2, [(1, "low")], [])]


def test_a_relation_without_columns_and_a_version_that_does_nothing(db):
    events = []
    db.watch("some", events.append)
    alarms(db, (1, "low"))
    alarms(db, (2, "low"))
    alarms(db, delete=[(1, "low"), (2, "low")])
    assert told(events) == [(2, [()], []), (4, [], [()])]


def test_definitions_and_time_are_told_too(db):
    db.define("materialize(heard, 3, infinity, keys(1)). heard(x: int).")
    events = []
    db.watch("heard", events.append)
    db.define("heard(4).")
    db.advance(10)
    assert [(sorted(e.inserted), sorted(e.deleted)) for e in events] == [([(4,)], []), ([], [(4,)])]


@pytest.mark.parametrize("coupling", ["now", "after"])
@pytest.mark.parametrize("kind", ["stored", "watched"])
def test_rows_that_go_with_the_last_rule_that_tells_their_types(db, kind, coupling):
    db.define(f"first: v(X, L) :- alarm(X, L). more: v(X, L) :- v(X, L), ticket(X).\n.kind v {kind}")
    alarms(db, (1, "low"), (2, "high"))
    events = []
    db.watch("v", events.append, coupling=coupling)
    db.drop_rule("first")
    db.add_rule("first: v(X, L) :- alarm(X, L), X > 1.")
    assert told(events) == [(4, [], [(1, "low"), (2, "high")]), (5, [(2, "high")], [])]


def test_a_view_that_is_watched_and_never_stored(db):
    events = []
    db.define(".kind pair watched\npair(X, Y) :- alarm(X, L), alarm(Y, L), X < Y.")
    db.watch("pair(X, Y)", events.append, when="Y > 2", name="pairs")
    alarms(db, (1, "a"), (2, "a"), (3, "a"))
    alarms(db, delete=[(3, "a")])
    assert told(events) == [(3, [(1, 3), (2, 3)], []), (4, [], [(1, 3), (2, 3)])]
    with pytest.raises(hw.DataError) as caught:
        db.keep("pair", "virtual")
    assert caught.value.code == "still-read"


# ------------------------------------------------------------------ actions that use the database


def test_an_action_may_change_the_database_and_ask_it(db):
    """What it changes is a later version, told when the action is over."""
    order = []

    def open_ticket(event):
        order.append(("alarm", event.version))
        db.apply(insert={"ticket": [(x,) for x, _ in event.inserted]})
        order.append(("asked", len(db.query("ticket(X)"))))

    db.watch("alarm", open_ticket)
    db.watch("ticket", lambda event: order.append(("ticket", event.version)))
    db.watch("alarm", lambda event: order.append(("second", event.version)))
    assert alarms(db, (1, "low")).version == 2
    assert order == [("alarm", 2), ("asked", 1), ("second", 2), ("ticket", 3)]


def test_actions_that_cause_each_other_without_end_are_parked(db):
    with hw.connect(max_cascade=5) as db:
        db.define("n(x: int). m(x: int).")
        db.watch("n", lambda event: db.apply(insert={"m": [(event.inserted[0][0] + 1,)]}), name="a")
        db.watch("m", lambda event: db.apply(insert={"n": [(event.inserted[0][0] + 1,)]}), name="b")
        db.apply(insert={"n": [(0,)]})
        parked = [row for row in db.watches.rows() if row[3] == "parked"]
        assert [row[0] for row in parked] == ["a"] and "error[cascade]: a -> b -> a:" in parked[0][6]
        assert db.version == 8
        db.watches["a"].skip()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.close()


def test_an_action_may_end_its_own_watch(db):
    events = []

    def once(event):
        events.append(event)
        db.watches["once"].stop()

    db.watch("alarm", once, name="once")
    alarms(db, (1, "low"))
    alarms(db, (2, "low"))
    assert told(events) == [(2, [(1, "low")], [])] and "once" not in db.watches


def test_an_action_may_close_the_database():
    db = hw.connect()
    db.define(PROGRAM)
    db.watch("alarm", lambda event: db.close())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert alarms(db, (1, "low")).version == 2
    with pytest.raises(hw.StoreError, match="closed"):
        alarms(db, (2, "low"))


def test_an_interrupted_action_is_still_owed(db):
    """Ctrl-C is the caller's; the version stands, and the event comes again."""
    tries = []

    def interrupted(event):
        tries.append(event.attempt)
        if len(tries) == 1:
            raise KeyboardInterrupt

    db.watch("alarm", interrupted, name="slow")
    with pytest.raises(KeyboardInterrupt):
        alarms(db, (1, "low"))
    assert db.version == 2 and db.watches["slow"].owed == (2,) and db.watches["slow"].state == "following"
    assert db.watches.deliver() == 1 and tries == [1, 1] and db.watches["slow"].owed == ()


# ------------------------------------------------------------------ in the same version


def test_an_action_in_the_version_can_undo_it(db):
    seen, after = [], []

    def refuses(event):
        seen.append(sorted(event.inserted))
        if any(x > 3 for x, _ in event.inserted):
            raise ValueError("too much")

    db.watch("alarm", refuses, coupling="now")
    db.watch("alarm", after.append)
    alarms(db, (1, "low"))
    with pytest.raises(hw.EvaluationError, match="too much") as caught:
        alarms(db, (4, "low"))
    assert caught.value.code == "function-failed"
    assert seen == [[(1, "low")], [(4, "low")]] and [event.version for event in after] == [2]
    assert db.version == 2 and db["alarm"].rows() == [(1, "low")]


def test_an_action_in_the_version_cannot_use_the_database(db):
    db.watch("alarm", lambda event: db.apply(insert={"ticket": [(1,)]}), coupling="now")
    with pytest.raises(hw.DatabaseError) as caught:
        alarms(db, (1, "low"))
    assert caught.value.code == "called-inside" and db.version == 1


def test_nothing_is_told_of_what_is_only_supposed(db):
    events = []
    db.watch("alarm", events.append)
    db.watch("alarm", events.append, coupling="now")
    db.what_if(insert={"alarm": [(1, "low")]})
    assert events == []


# ------------------------------------------------------------------ threads


def test_threads_leave_it_to_the_one_that_tells():
    """Each event once, in order, whoever made the version."""
    events, inside = [], []
    with hw.connect(threads="wait") as db:
        db.define(PROGRAM)

        def note(event):
            inside.append(1)
            assert len(inside) == 1
            events.append(event.version)
            inside.pop()

        db.watch("ticket", note)
        threads = [
            threading.Thread(target=lambda start=start: [
                db.apply(insert={"ticket": [(100 * start + number,)]}) for number in range(20)
            ])
            for start in range(3)
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        db.watches.deliver()
        assert events == list(range(2, 62))


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"goal": "nowhere"}, "unknown-relation"),
        ({"goal": "alarm(X)"}, "wrong-arity"),
        ({"goal": "alarm(X, Y)", "when": "Z > 3"}, "unsafe-variable"),
        ({"goal": "!alarm(X, Y)"}, "syntax"),
        ({"goal": "alarm", "on": "add"}, "unknown-option"),
        ({"goal": "alarm", "coupling": "before"}, "unknown-option"),
        ({"goal": "alarm", "do": 3}, "wrong-type"),
        ({"goal": "alarm", "pause": -1}, "wrong-type"),
        ({"goal": 3}, "wrong-type"),
        ({"goal": "lazy"}, "virtual-relation"),
    ],
)
def test_what_cannot_be_watched(db, arguments, code):
    db.define(".kind lazy virtual\nlazy(X) :- alarm(X, _).")
    with pytest.raises(hw.HeadwaterError) as caught:
        db.watch(**{"do": print, **arguments})
    assert caught.value.code == code and len(db.watches) == 0


@pytest.mark.parametrize("change", [lambda db: db.drop("ticket"), lambda db: db.rename("owner", "who")])
def test_what_is_watched_cannot_go(db, change):
    db.watch("ticket(X)", print, when="owner(X, _)", name="t")
    with pytest.raises(hw.DataError) as caught:
        change(db)
    assert caught.value.code == "still-read"
    db.watches["t"].stop()
    change(db)


def test_a_watch_that_is_not_there(db):
    db.watch("alarm", print, name="mail")
    with pytest.raises(hw.DataError) as caught:
        db.watches["mial"]
    assert caught.value.code == "unknown-watch" and "mail" in caught.value.hint


# ------------------------------------------------------------------ the table


def test_watches_print_as_a_table(db):
    def fails(event):
        raise ValueError("no\nway")

    db.watch("alarm(X, 'high')", print, on="added", when="X > 3", name="page")
    db.watch("ticket", fails, name="mail", retries=0)
    db.apply(insert={"ticket": [(1,)]})
    assert repr(db.watches).splitlines() == [
        "watch  goal                     on       state      delivered  owed  error",
        "page   alarm(X, 'high'), X > 3  added    following  0          0",
        "mail   ticket                   changed  parked     0          1     ValueError: no way",
    ]
    assert db.watches.arrow().column("state").to_pylist() == ["following", "parked"]
    assert "<table" in db.watches._repr_html_() and "parked" in db.watches._repr_html_()
    assert list(db.watches) == ["page", "mail"] and "mail" in db.watches and 3 not in db.watches
    assert repr(db.watches["mail"]) == "<watch mail of ticket changed, parked, 1 owed: ValueError: no\nway>"
    db.watches["mail"].skip()


# ------------------------------------------------------------------ constants


@pytest.mark.parametrize(
    ("type_", "rows", "constant"),
    [
        ("int", [1, 2], "1"),
        ("float", [1.0, 2.5, -0.0], "1"),
        ("float", [0.0, 1.5], "0.0"),
        ("decimal(10,2)", ["1.50", "2.00"], "1.5"),
        ("decimal(10,2)", ["1.50", "2.00"], "2"),
        ("string", ["a", "b"], "'a'"),
        ("string", ["a", "b"], "'never seen'"),
        ("date", ["2024-01-31", "2024-02-01"], "2024-01-31"),
        ("bool", [True, False], "true"),
        ("int?", [1, None], "1"),
        ("int?", [1, None], "null"),
        ("list[int]", [(1, 2), (3,)], "[1, 2]"),
    ],
)
def test_a_constant_of_a_goal_is_a_test_for_equality(type_, rows, constant):
    """Constants are looked for among codes; conditions are evaluated."""
    made = {"date": datetime.date.fromisoformat, "decimal(10,2)": decimal.Decimal}.get(
        type_, lambda value: value
    )
    with hw.connect() as db:
        db.define(f"r(x: {type_}, n: int).")
        first, second, both = [], [], []
        db.watch(f"r({constant}, _)", first.append)
        db.watch("r(X, _)", second.append, when="X is null" if constant == "null" else f"X = {constant}")
        db.watch(f"r({constant}, N)", both.append, when="N < 5")
        db.apply(insert={"r": [(made(value), n) for n, value in enumerate(rows)]})
        db.apply(delete={"r": [(made(value), n) for n, value in enumerate(rows)]})
        assert told(first) == told(second) == told(both)
        assert len(first) == (0 if "never" in constant else 2)
