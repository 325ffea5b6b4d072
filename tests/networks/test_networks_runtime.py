"""Rules on asynchronous nodes: the smallest cases, and those in which shortcuts went wrong."""

from __future__ import annotations

import datetime
from decimal import Decimal

import networkx as nx
import pytest

import headwater
from headwater import DataError
from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, windowed
from headwater.networks.runtime.directory import Addresses, Hashed
from headwater.networks.runtime.message_codec import decode_message, encode_message, size_of
from headwater.networks.runtime.messages import Derived
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.rules.render import render_rule
from headwater.values.functions import Functions
from headwater.values.labelled import LabelledNull
from headwater.values.record import Struct

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


TABLES = """
  materialize(cost, infinity, infinity, keys(1, 2)).
  materialize(alive, 10, infinity, keys(1)).
  materialize(last, infinity, 2, keys(1)).
  .decl cost(x: number, y: number, c: number)
  .decl alive(x: number)
  .decl last(x: number)
  dear(X, C) :- cost(X, Y, C), C > 1.
  up(X) :- alive(X).
  recent(X) :- last(X).
"""


def test_keys_lifetimes_and_sizes_of_base_relations():
    net = network(TABLES, Hashed(1))
    for row in [(1, 2, 5), (1, 3, 7), (1, 2, 9), (1, 3, 1)]:
        net.insert("cost", row)
    for row in [(1,), (2,), (3,)]:
        net.insert("last", row)
    net.insert("alive", (1,))
    net.run(until=6.0)
    net.insert("alive", (2,))
    net.insert("alive", (1,))
    assert net.rows("up") == {(1,), (2,)}
    net.run(until=12.0)
    assert net.rows("up") == {(1,), (2,)}, "given again, it lives longer"
    net.run(until=17.0)
    assert net.rows("up") == set()
    assert net.rows("dear") == {(1, 9)}
    assert net.rows("recent") == {(2,), (3,)}


def test_rows_that_do_not_fit_are_refused():
    net = network(TABLES, Hashed(2))
    for relation, row, code in [
        ("cost", (1, 2), "wrong-arity"),
        ("cost", ("a", 2, 3), "wrong-type"),
        ("dear", (1, 2), "unknown-relation"),
    ]:
        with pytest.raises(DataError) as caught:
            net.insert(relation, row)
        assert caught.value.code == code
    net.run()
    assert net.rows("cost") == set()


def test_functions_generators_facts_and_values_of_any_type():
    """The same rows as in one process."""
    text = """
      .decl day(name: string, at: date, price: decimal(10, 2))
      label(N, upper(N), L) :- day(N, _, _), L = f_append([N], "x").
      count_down(N, X) :- day(N, _, _), X = range(0, strlen(N)).
      total(sum<P>) :- day(_, _, P).
      mean(avg<P>) :- day(_, _, P).
      late(N) :- day(N, A, _), A > date("2024-01-31").
      first(min<A>) :- day(_, A, _).
      fixed(1, "a"). fixed(2, "b").
      known(X) :- fixed(X, _).
      always(1) :- 1 < 2.
    """
    rows = [
        ("ann", datetime.date(2024, 1, 5), Decimal("1.50")),
        ("bob", datetime.date(2024, 2, 5), Decimal("2.25")),
    ]
    with headwater.connect() as db:
        db.define(text)
        db.apply(insert={"day": rows})
        expected = {name: set(db[name].rows()) for name in db.relations}
    net = network(text, Hashed(3))
    for row in rows:
        net.insert("day", row)
    net.run()
    for name, wanted in expected.items():
        assert net.rows(name) == wanted, name


@pytest.mark.parametrize(
    "value",
    [None, True, 2**63 - 1, -(2**40), 1.5, "é", b"\x00", (1, (None, "a")), datetime.date(2024, 2, 29),
     Decimal("1.75"), datetime.timedelta(days=-1, seconds=1), Struct({"a": 1}), LabelledNull("f", (1, "x"))],
    ids=repr,
)  # fmt: skip
def test_messages_as_bytes(value):
    message = Derived(3, (value, "b"), ((1, 300), (7,)))
    assert decode_message(encode_message(message)) == message
    assert size_of(message) == len(encode_message(message))
    with pytest.raises(DataError):
        decode_message(encode_message(message)[:-1])


def test_bounded_shipping_keeps_a_few_terms_a_row():
    """Non-linear closure of a complete graph: a row has very many minimal terms, and needs few of them."""
    net = network("r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).", Hashed(4), BOUNDED)
    edges = [(x, y) for x in range(7) for y in range(7) if x != y]
    for edge in edges:
        net.insert("e", edge)
    net.run()
    assert len(net.rows("r")) == 49
    terms = [len(entry.value) for node in net.nodes for table in node.tables for entry in table.rows.values()]
    assert max(terms) <= 5
    for edge in edges[:20]:
        net.delete("e", edge)
    net.run()
    left = nx.transitive_closure(nx.DiGraph(edges[20:]))
    assert net.rows("r") == set(left.edges)


def test_a_link_that_fails_while_it_brings_what_it_held_back_keeps_the_order():
    """What came first and was held back once more comes before what the first restoration still has under way."""
    net = network("r(@Y, X, N) :- e(@X, Y, N).", Addresses(["a", "b"]))
    net.fail_link(0, 1)
    for number in range(4):
        net.insert("e", ("a", "b", number))
    net.run()
    assert net.rows("r") == set()
    for steps in (1, 2):
        net.restore_link(0, 1)
        net.fail_link(0, 1)
        net.steps(steps)
    came: list[int] = []
    take_in = net.nodes[1].take_in

    def taking_down(sender, message):
        came.append(message.row[2])
        take_in(sender, message)

    net.nodes[1].take_in = taking_down  # type: ignore[method-assign]
    net.restore_link(0, 1)
    net.run()
    assert came == [0, 1, 2, 3]
    assert net.rows("r") == {("b", "a", number) for number in range(4)}


def test_messages_that_wait_for_a_busy_node_have_arrived():
    """A link that fails keeps none of them back: they would come after what was sent later."""
    net = network("r(@Y, X, N) :- e(@X, Y, N).", Addresses(["a", "b"]), service=1.0)
    came: list[int] = []
    take_in = net.nodes[1].take_in

    def taking_down(sender, message):
        came.append(message.row[2])
        take_in(sender, message)

    net.nodes[1].take_in = taking_down  # type: ignore[method-assign]
    for number in range(3):
        net.insert("e", ("a", "b", number))
    net.run(until=0.5)
    net.fail_link(0, 1)
    net.run(until=1.5)
    net.restore_link(0, 1)
    net.run()
    assert came == [0, 1, 2]
