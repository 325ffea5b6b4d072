"""Rules on asynchronous nodes: the smallest cases, and those in which shortcuts went wrong."""

from __future__ import annotations

import pytest

from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, windowed
from headwater.networks.runtime.directory import Addresses, Hashed
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.rules.render import render_rule
from headwater.values.functions import Functions

REACH = """
  r1 reach(@X, @Y) :- #link(@X, @Y).
  r2 reach(@X, @Y) :- #link(@X, @Z), reach(@Z, @Y).
"""
SHIPPINGS = [EAGER, LAZY, BOUNDED, windowed(2)]


def network(text: str, directory, shipping=LAZY, **options) -> Simulator:
    plan = plan_nodes(compile_program(check(parse(text), Functions())))
    return Simulator(plan, directory, absorption(shipping), **options)


def test_the_shortest_path_rule_is_localised_as_in_the_paper():
    """Loo et al. 2006, section 3.2: SP2 becomes SP2a and SP2b."""
    text = """
      sp2 path(@S, @D, @Z, C) :- #link(@S, @Z, C1), path(@Z, @D, @Z2, C2), C = C1 + C2.
    """
    program = compile_program(check(parse(text), Functions()))
    assert [render_rule(rule) for rule in program.rules] == [
        "sp2a: link~at_1(Z, S, C1) :- link(S, Z, C1).",
        "sp2b: path(S, D, Z, C) :- link~at_1(Z, S, C1), path(Z, D, Z2, C2), C := C1 + C2.",
    ]
    assert program.relations["link~at_1"].location == 0


@pytest.mark.parametrize(("shipping", "messages"), [(LAZY, 16), (BOUNDED, 16)])
def test_figure_2_takes_16_tuples_and_a_deletion_two_messages(shipping, messages):
    net = network(REACH, Addresses("ABC"), shipping)
    for link in [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]:
        net.insert("link", link)
    net.run()
    assert len(net.rows("reach")) == 9
    assert net.traffic.messages == messages
    net.delete("link", ("C", "B"))
    net.run()
    assert len(net.rows("reach")) == 9
    assert net.traffic.kinds["Gone"] == 2


WIDEST = """
  .decl w(x: number, y: number, c: number)
  best(X, Y, max<C>) :- w(X, Y, C).
  best(X, Y, max<C>) :- w(X, Z, A), best(Z, Y, B), C = min(A, B).
"""
CHEAPEST = (
    WIDEST.replace("max<", "min<").replace("min(A, B)", "A + B") + "far(X, C) :- best(X, Y, C), C > 1.\n"
)


@pytest.mark.parametrize("shipping", SHIPPINGS, ids=lambda shipping: shipping.name)
@pytest.mark.parametrize("nodes", [1, 2, 3])
class TestWhatWentWrong:
    """The smallest case of each shortcut that was tried and failed."""

    def test_no_tombstones(self, shipping, nodes):
        net = network("r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).", Hashed(nodes), shipping)
        net.insert("e", (0, 0))
        net.delete("e", (0, 0))
        net.run()
        assert net.rows("r") == set()

    def test_the_same_variable_on_insertion_again(self, shipping, nodes):
        net = network("r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).", Hashed(nodes), shipping)
        for _ in range(3):
            net.insert("e", (0, 1))
            net.delete("e", (0, 1))
        net.insert("e", (0, 1))
        net.run()
        assert net.rows("r") == {(0, 1)}

    @pytest.mark.parametrize("text", [WIDEST, CHEAPEST], ids=["widest", "cheapest"])
    def test_fresh_versions_inside_a_recursion(self, text, shipping, nodes):
        net = network(text, Hashed(nodes), shipping, most_messages=5000)
        for row in [(0, 1, 1), (1, 2, 1), (2, 1, 1)]:
            net.insert("w", row)
            net.run()
        net.delete("w", (0, 1, 1))
        net.run()
        assert {row[0] for row in net.rows("best")} == {1, 2}

    def test_beaten_rows_outside_of_the_recursion(self, shipping, nodes):
        net = network(CHEAPEST, Hashed(nodes), shipping, most_messages=5000)
        net.insert("w", (2, 2, 2))
        net.run()
        assert net.rows("far") == {(2, 2)}
        net.insert("w", (2, 2, 0))
        net.run()
        assert net.rows("best") == {(2, 2, 0)}
        assert net.rows("far") == set()
