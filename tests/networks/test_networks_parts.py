"""Single operators: what they let through, keep back and forget."""

from __future__ import annotations

import random

import pytest
from simulated_oracle import closure

from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.errors import EvaluationError
from headwater.networks.simulated.absorption import EAGER, LAZY, AbsorptionCluster
from headwater.networks.simulated.aggregate_selection import AggSel, BestOf
from headwater.networks.simulated.channels import Channels, RowMessage
from headwater.networks.simulated.fixpoint import ProvenanceFixpoint
from headwater.networks.simulated.min_ship import ProvenanceMinShip
from headwater.networks.simulated.queries import reachable

DNF = MinimalDNF()
p = DNF.variable
ROW = ("a", "b")


def shipping(batch, selection=None):
    out = []
    ship = ProvenanceMinShip(DNF, lambda row, value: out.append((row, DNF.show(value))), batch, selection)
    return ship, out


def test_fixpoint_forwards_what_was_not_absorbed():
    fixpoint = ProvenanceFixpoint(DNF)
    steps = [p(1), DNF.times(p(1), p(2)), DNF.plus(p(3), DNF.times(p(1), p(4)))]
    assert [[DNF.show(news) for _, news in fixpoint.insert(ROW, value)] for value in steps] == [
        ["p1"],
        [],
        ["p3"],
    ]


def test_lazy_ships_the_first_and_then_only_what_is_needed():
    ship, out = shipping(LAZY)
    for value in (p(1), p(2), DNF.times(p(1), p(3)), p(4)):
        ship.insert(ROW, value)
    assert out == [(ROW, "p1")]
    ship.delete(2)
    assert out == [(ROW, "p1")]
    ship.delete(1)
    assert out[1:] == [(ROW, "p4")]
    ship.delete(4)
    assert len(out) == 2
    ship.insert(ROW, p(5))
    assert out[2:] == [(ROW, "p5")]


def test_eager_ships_every_derivation_that_is_not_absorbed():
    ship, out = shipping(EAGER)
    for value in (p(1), p(2), DNF.times(p(1), p(3))):
        ship.insert(ROW, value)
    assert out == [(ROW, "p1"), (ROW, "p2")]


def test_a_batch_is_shipped_when_it_is_full_and_in_the_end():
    ship, out = shipping(2)
    for row in ("x", "y"):
        ship.insert((row,), p(1))
    ship.insert(("x",), p(2))
    ship.insert(("x",), p(3))
    assert len(out) == 2
    ship.insert(("y",), p(4))
    assert out[2:] == [(("x",), "p2 + p3"), (("y",), "p4")]
    ship.insert(("y",), p(5))
    assert ship.flush() and out[4:] == [(("y",), "p5")]
    assert not ship.flush()


def test_aggregate_selection_by_two_measures_at_once():
    select = AggSel(BestOf(lambda row: row[0], (lambda row: row[1], lambda row: row[2])))
    rows = [("g", 5, 2), ("g", 4, 3), ("g", 6, 6), ("g", 4, 2)]
    assert [select.insert(row) for row in rows] == [True, True, False, False], "the first of equals stays"
    assert select.best["g"] == [("g", 4, 3), ("g", 5, 2)]
    assert select.remove([("g", 6, 6)]) == []
    assert select.remove([("g", 4, 3)]) == [("g", 4, 2)]
    assert select.remove([("g", 5, 2), ("g", 4, 2)]) == []
    assert "g" not in select.best


def test_aggregate_selection_keeps_back_and_falls_back():
    ship, out = shipping(LAZY, BestOf(lambda row: row[0], (lambda row: row[1],)))
    for row, value in ((("g", 5), p(1)), (("g", 7), p(2)), (("g", 3), p(3)), (("g", 7), p(4))):
        ship.insert(row, value)
    assert out == [(("g", 5), "p1"), (("g", 3), "p3")]
    ship.delete(1)
    assert len(out) == 2
    ship.delete(3)
    assert out[2:] == [(("g", 7), "p2 + p4")]


@pytest.mark.parametrize("batch", [LAZY, EAGER])
def test_base_rows_expire_and_what_was_derived_goes_with_them(batch):
    """Random insertions over time: rows live for 10; one that comes again begins anew."""
    chance = random.Random(5)
    cluster = AbsorptionCluster(reachable(), 3, lifetime=10, batch=batch)
    born: dict = {}
    for now in range(60):
        cluster.advance(now)
        born = {link: time for link, time in born.items() if time + 10 > now}
        for _ in range(2):
            link = (chance.randrange(5), chance.randrange(5))
            cluster.insert([link])
            born[link] = now
        cluster.run()
        assert cluster.view() == closure(born)


def test_a_window_of_so_many_rows_on_each_node():
    cluster = AbsorptionCluster(reachable(), 1, window_size=2)
    cluster.insert([(1, 2), (2, 3), (3, 4)])
    cluster.run()
    assert cluster.view() == closure([(2, 3), (3, 4)])


def test_channels_keep_their_order_and_count_what_leaves_a_node():
    for seed in range(20):
        channels = Channels(3, random.Random(seed))
        for number in range(30):
            channels.send(number % 3, number % 2, RowMessage("say", (number,)))
        got: dict = {}
        channels.deliver(lambda a, b, message, got=got: got.setdefault((a, b), []).append(message.row[0]))
        assert all(numbers == sorted(numbers) for numbers in got.values())
        assert sum(map(len, got.values())) == 30
        assert channels.messages == sum(number % 3 != number % 2 for number in range(30))
        assert channels.bytes == sum(channels.sent_by) == 2 * channels.messages


def test_a_run_that_takes_too_many_messages_is_given_up():
    cluster = AbsorptionCluster(reachable(), 2, limit=3)
    cluster.insert([(x, y) for x in range(4) for y in range(4)])
    with pytest.raises(EvaluationError) as caught:
        cluster.run()
    assert caught.value.code == "no-convergence"


def test_measures_count_rows_provenance_and_state():
    cluster = AbsorptionCluster(reachable(), 2, place=lambda key: key % 2)
    cluster.insert([(0, 1)])
    cluster.run()
    found = cluster.measures()
    assert (found.rows, found.messages) == (1, 1)
    assert found.provenance == len(DNF.encode(DNF.variable(0)))
    assert found.bytes == 1 + 2 + found.provenance
    assert found.state == 3 * (2 + found.provenance), "in the fixpoint, and on both sides of joins"
