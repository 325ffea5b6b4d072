"""What the papers say that strategies cost, on their own examples; the rows are in `tests/cases/papers`."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.version.changes import Changes

LINKS = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")]


def without_link_c_b(strategy: str, *, one_by_one: bool) -> Changes:
    """Liu et al. 2008, section 3.2: the network of figure 3, from which link(c, b) is deleted."""
    db = hw.connect(strategy=strategy)
    db.define("""
        link(src: string, dst: string).
        reachable(X, Y) :- link(X, Y).
        reachable(X, Y) :- link(X, Z), reachable(Z, Y).
    """)
    for links in [[link] for link in LINKS] if one_by_one else [LINKS]:
        db.apply(insert={"link": links})
    assert len(db["reachable"]) == 9
    changes = db.apply(delete={"link": [("c", "b")]})
    assert len(db["reachable"]) == 9
    return changes


@pytest.mark.parametrize("one_by_one", [False, True])
def test_figure_5_deletes_all_nine_rows_and_derives_them_again(one_by_one: bool):
    """Liu et al. 2008, figure 5: reachable(c, b) goes, then all rows of c, of b and of a; all of them come back,
    three by links of their own (steps 5 to 8), the others over those."""
    changes = without_link_c_b("dred", one_by_one=one_by_one)
    (cost,) = changes.statistics.strata
    assert (cost.died, cost.revived) == (9, 3)
    assert changes["reachable"].counts == (0, 0)


def test_a_row_that_has_other_support_does_not_die():
    """link(c, b) came last, when c reached b over a already: with ranked support nothing even dies for a moment."""
    changes = without_link_c_b("support", one_by_one=True)
    (cost,) = changes.statistics.strata
    assert (cost.died, cost.revived) == (0, 0)
    assert not changes["reachable"]


def test_a_row_whose_other_support_is_younger_dies_for_a_moment_only():
    """All links came at once, and c reached b by the link first: a few rows die and come back, none is lost."""
    changes = without_link_c_b("support", one_by_one=False)
    (cost,) = changes.statistics.strata
    assert 0 < cost.died < 9
    assert not changes["reachable"]


# ------------------------------------------------------------------ Harrison and Dietrich 1994, figures 2 and 3


def without_edge_b_d(strategy: str, leaves: int, elsewhere: int = 0) -> Changes:
    """d is reached over b and over c, and has `leaves` successors; `elsewhere` edges are not connected to it."""
    db = hw.connect(strategy=strategy)
    db.define("edge(x: string, y: string). tc(X, Y) :- edge(X, Y). tc(X, Y) :- tc(X, W), edge(W, Y).")
    fan = [("d", f"e{i}") for i in range(leaves)]
    db.apply(insert={"edge": [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), *fan]})
    db.apply(insert={"edge": [(f"x{i}", f"x{i + 1}") for i in range(elsewhere)]})
    return db.apply(delete={"edge": [("b", "d")]})


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
def test_exactly_the_rows_of_b_go(strategy: str):
    changes = without_edge_b_d(strategy, leaves=5)
    assert sorted(changes["tc"].deleted) == [("b", "d"), *(("b", f"e{i}") for i in range(5))]
    assert changes["tc"].inserted == []


def test_rows_of_a_are_never_candidates():
    """`tc(a, d)` keeps its way over c, so no `tc(a, ei)` is ever in doubt: what dies is what is lost."""
    (cost,) = without_edge_b_d("support", leaves=50).statistics.strata
    assert (cost.died, cost.revived) == (51, 0)


def test_overdeleting_takes_the_rows_of_a_as_well():
    (cost,) = without_edge_b_d("dred", leaves=50).statistics.strata
    assert cost.died == 2 * 51


def test_other_components_are_not_looked_at():
    """As the paper has it: only the component where the update occurred is examined."""
    alone = without_edge_b_d("support", leaves=20).statistics.touched
    assert without_edge_b_d("support", leaves=20, elsewhere=40).statistics.touched <= 1.5 * alone
