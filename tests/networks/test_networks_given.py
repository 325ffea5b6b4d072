"""Base rows that networks are given: all of a change or nothing, checked values, and what twins begin with."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

import headwater as hw

LINKS = [("a", "b", 1), ("b", "a", 1), ("b", "c", 2), ("c", "b", 2)]
MARKS = """
.decl mark(node: string, value: int)
m1 marked(@S, V) :- mark(@S, V).
m2 beside(@D, V) :- #link(@S, @D, C), mark(@S, V).
"""
TABLES = """
materialize(link, infinity, infinity, keys(1, 2)).
materialize(keyed, infinity, infinity, keys(1, 2)).
materialize(lasting, 5, infinity, keys(1, 2)).
materialize(small, infinity, 2, keys(1, 2)).
materialize(heard, infinity, infinity, keys(1, 2)).
t1 heard(@N, E) :- ping(@N, E).
t2 all(@N, K, V) :- ask(@N), keyed(@N, K, V), lasting(@N, L), small(@N, M), link(@N, O, C).
keyed("c", "stated", 7).
"""


@pytest.mark.parametrize(
    "rows, code",
    [
        ([("a", 1), ("a", "x")], "wrong-type"),
        ([("a", 1), ("nowhere", 2)], "no-such-node"),
        ([("a", 1), ("a",)], "wrong-arity"),
        ([("a", 1), ("a", 1 << 70)], "wrong-type"),
        ([("a", 1), "ab"], "wrong-type"),
        (5, "wrong-type"),
    ],
)
def test_of_a_change_that_is_refused_nothing_is_done(rows, code):
    net = hw.network(MARKS, LINKS)
    net.run()
    with pytest.raises(hw.HeadwaterError) as refused:
        net.insert("mark", rows)
    assert refused.value.code == code
    assert net.run().messages == 0
    assert not net["marked"].rows() and not net.twin()["mark"].rows()


def test_a_cost_that_no_column_holds_leaves_links_as_they_are():
    net = hw.network("best-cost", LINKS)
    net.run()
    before, costs = net.links, net["bestCost"].rows()
    with pytest.raises(hw.HeadwaterError) as refused:
        net.set_cost("a", "b", 1 << 70)
    assert refused.value.code == "wrong-type" and "None" not in str(refused.value)
    assert net.links == before
    net.fail("a", "b")
    net.run()
    net.restore("a", "b")
    net.run()
    assert net["bestCost"].rows() == costs


def test_a_twin_has_the_rows_that_there_are():
    net = hw.network(TABLES, LINKS)
    for value in (1, 2, 1):
        net.insert("keyed", [("a", "k", value)])
    for value in (1, 2, 3, 1):
        net.insert("small", [("a", value)])
    net.insert("lasting", [("a", 1)])
    net.run(until=3)
    net.insert("lasting", [("a", 2)])
    net.insert("ping", [("a", 1)])
    net.delete("keyed", [("c", "stated", 7)])
    net.run(until=6)
    twin = net.twin()
    for relation in ("link", "keyed", "lasting", "small"):
        assert sorted(twin[relation].rows()) == sorted(net[relation].rows()), relation
    assert net["keyed"].rows() == [("a", "k", 1)]
    assert net["lasting"].rows() == [("a", 2)]
    assert net["small"].rows() == [("a", 1), ("a", 3)]
    assert net["heard"].rows() == [("a", 1)] and not twin["heard"].rows()  # the event is over
    twin.insert("small", [("a", 4)])
    twin.run(until=1)
    assert twin["small"].rows() == [("a", 1), ("a", 4)]  # the oldest went


VALUES = [
    [1, 2],
    [1, 2.5],
    [None, 2],
    [Decimal("1.50"), Decimal("2.25")],
    [datetime.timedelta(days=1)],
    [(1 << 62), (1 << 62) - 1],
]


@pytest.mark.parametrize("values", VALUES, ids=str)
@pytest.mark.parametrize("function", ["sum", "avg", "min", "count"])
def test_columns_without_a_type_are_added_up_as_in_one_database(values, function):
    text = f"g(@S, {function}<V>) :- m(@S, V)."
    rows = [("a", value) for value in values]
    found: list[object] = []
    for make in (lambda: hw.connect(), lambda: hw.network(text, LINKS)):
        one = make()
        try:
            if isinstance(one, hw.Database):
                one.define(text)
                one.apply(insert={"m": rows})
            else:
                one.insert("m", rows)
                one.run()
            found.append(one["g"].rows())
        except hw.HeadwaterError as error:
            found.append(error.code)
    assert found[0] == found[1]


def test_costs_of_links_are_added_up():
    net = hw.network("s(@S, sum<C>) :- #link(@S, @D, C).", LINKS)
    net.run()
    assert net["s"].rows() == [("a", 1), ("b", 3), ("c", 2)]
    net.set_cost("b", "c", 9)
    net.run()
    assert net["s"].rows() == [("a", 1), ("b", 10), ("c", 2)]


def test_a_goal_need_not_need_all_links():
    text = """
    .decl hop(source: string, target: string)
    p1 near(@S, @D) :- #hop(@S, @D).
    p2 cost(@S, @D, C) :- #link(@S, @D, C).
    """
    net = hw.network(text, LINKS, goal="cost(@'a', D, C)")
    net.run()
    assert net["cost"].rows() == [("a", "b", 1)]


def test_links_are_not_derived():
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("link(@D, @S, C) :- #link(@S, @D, C).", LINKS)
    assert refused.value.code == "stored-links"
