"""Events, timers, delete rules and state that rules update: one behaviour a test, and random programs beside P2 in
plain Python."""

import random

import pytest
from networks.p2_interpreter import Atom, EventProgram, P2Network, Table, UpdateText
from oracle.oracle_lockstep import examples

import headwater as hw
from headwater.errors import DataError, RuleError
from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.counting import counting
from headwater.networks.annotated.dred import dred
from headwater.networks.runtime.directory import Addresses
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.links import LinkQuality
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

LINE = [("a", "b", 2), ("b", "a", 2), ("b", "c", 5), ("c", "b", 5)]
TABLES = "materialize(link, infinity, infinity, keys(1, 2)). "


def run(text, links=LINE, until=20.0, **rows):
    net = hw.network(text, links)
    for relation, given in rows.items():
        net.insert(relation, given)
    net.run(until=until)
    return net


def told(net, relation=None):
    return [(w.sign, *w.row) for w in net.watched if relation in (None, w.relation)]


def test_an_event_is_not_stored_and_fires_rules_with_tables():
    text = (
        TABLES
        + "materialize(heard, infinity, infinity, keys(1, 2)).  r1 heard(@Y, X) :- shout(@X), link(@X, Y, C)."
    )
    net = run(text, shout=[("b",)])
    assert net["heard"].rows() == [("a", "b"), ("c", "b")]
    assert net["shout"].rows() == []


def test_what_an_event_inserted_stays_when_links_go_and_views_follow_it():
    text = (
        TABLES
        + """materialize(heard, infinity, infinity, keys(1, 2)). materialize(known, infinity, infinity, keys(1, 2)).
      r1 heard(@Y, X) :- shout(@X), link(@X, Y, C).
      r2 known(@X, Y) :- heard(@X, Y), link(@X, Y, C)."""
    )
    net = run(text, shout=[("b",)])
    assert net["known"].rows() == [("a", "b"), ("c", "b")]
    net.fail("a", "b")
    net.run(until=30)
    assert net["heard"].rows() == [("a", "b"), ("c", "b")]
    assert net["known"].rows() == [("c", "b")]


def test_an_aggregate_of_an_event_is_there_even_if_the_join_is_empty():
    text = """materialize(member, infinity, infinity, keys(1, 2)). watch(n). watch(low). watch(all).
      r1 n(@X, E, a_COUNT<*>) :- ask(@X, E), member(@X, Y, V).
      r2 low(@X, E, min<V>) :- ask(@X, E), member(@X, Y, V).
      r3 all(@X, E, a_LIST<Y>) :- ask(@X, E), member(@X, Y, V)."""
    net = run(text, ask=[("a", 1)])
    assert told(net) == [("!", "a", 1, 0), ("!", "a", 1, None), ("!", "a", 1, ())]
    net.insert("member", [("a", "p", 4), ("a", "q", 3)])
    net.insert("ask", [("a", 2)])
    net.run(until=30)
    assert told(net)[3:] == [("!", "a", 2, 2), ("!", "a", 2, 3), ("!", "a", 2, ("p", "q"))]


def test_tables_change_after_the_local_fixpoint():
    text = """materialize(seen, infinity, infinity, keys(1, 2)). watch(n).
      r1 seen(@X, E) :- ask(@X, E).
      r2 n(@X, E, a_COUNT<*>) :- ask(@X, E), seen(@X, F)."""
    net = run(text, ask=[("a", 1), ("a", 2)])
    assert told(net, "n") == [("!", "a", 1, 0), ("!", "a", 2, 1)]


def test_keys_replace_lifetimes_expire_sizes_evict_where_rules_write():
    text = """materialize(last, infinity, infinity, keys(1)). materialize(soft, 5, infinity, keys(1, 2)).
      materialize(few, infinity, 2, keys(1, 2)).
      r1 last(@X, E) :- say(@X, E).  r2 soft(@X, E) :- say(@X, E).  r3 few(@X, E) :- say(@X, E)."""
    net = hw.network(text, LINE)
    for time, value in ((1, 10), (2, 20), (4, 10), (5, 30)):
        net.run(until=time)
        net.insert("say", [("a", value)])
    net.run(until=6)
    assert net["last"].rows() == [("a", 30)]
    assert net["few"].rows() == [("a", 10), ("a", 30)]  # 10 was said again after 20
    assert net["soft"].rows() == [("a", 10), ("a", 20), ("a", 30)]
    net.run(until=8.5)
    assert net["soft"].rows() == [("a", 10), ("a", 30)]
    net.run(until=20)
    assert net["soft"].rows() == []


def test_delete_rules_delete_here_and_elsewhere():
    text = (
        TABLES
        + """materialize(seen, infinity, infinity, keys(1, 2)).
      r1 seen(@Y, X) :- shout(@X), link(@X, Y, C).
      r2 delete seen(@Y, X) :- hush(@X), link(@X, Y, C)."""
    )
    net = run(text, shout=[("b",)])
    net.insert("hush", [("b",)])
    net.run(until=30)
    assert net["seen"].rows() == []


def test_timers_fire_every_so_often_or_so_many_times():
    text = """watch(one). watch(three). watch(ever). watch(late).
      r1 one(@N) :- periodic(@N, E, 0, 1).  r2 three(@N) :- periodic(@N, E, 2, 3).
      r3 ever(@N) :- periodic(@N, 4).  r4 late(@N) :- periodic(@N, E, 10, 0, 1)."""
    net = run(text, [("a", "b", 1)], until=12.0)
    at = {name: [w.time for w in net.watched if w.relation == name and w.row == ("a",)] for name in
          ("one", "three", "ever", "late")}  # fmt: skip
    assert at == {"one": [0.0], "three": [2.0, 4.0, 6.0], "ever": [4.0, 8.0, 12.0], "late": [1.0, 11.0]}


def test_chance_and_time_follow_from_the_seed():
    text = "watch(r). r1 r(@N, E, T, R, I, F) :- periodic(@N, E, 1, 4), T := f_now(), R := f_rand(), I := f_idgen(),"
    text += " F := f_coinFlip(0.5)."

    def once(seed):
        net = hw.network(text, [("a", "b", 1)], seed=seed)
        net.run()
        return [(w.time, w.row) for w in net.watched]

    assert once(1) == once(1) != once(2)
    assert [time for time, row in once(1) if row[0] == "a"] == [1.0, 2.0, 3.0, 4.0]
    assert len({row[1] for _, row in once(1)} | {row[4] for _, row in once(1)}) == 16


def test_an_event_goes_on_along_a_rule_whose_tables_are_elsewhere():
    text = (
        TABLES
        + """materialize(load, infinity, infinity, keys(1)). watch(answer).
      r1 answer(@X, Y, L) :- ask(@X), #link(@X, Y, C), load(@Y, L)."""
    )
    net = run(text, load=[("a", 1), ("b", 2), ("c", 3)], ask=[("b",)])
    assert sorted(told(net)) == [("!", "b", "a", 1), ("!", "b", "c", 3)]


def test_rows_that_tables_gain_fire_rules_without_an_event():
    text = (
        TABLES
        + "watch(up). watch(degree). r1 up(@X, Y) :- link(@X, Y, C). r2 degree(@X, a_COUNT<*>) :- link(@X, Y, C)."
    )
    net = run(text)
    assert sorted(told(net, "up")) == [("!", *row[:2]) for row in LINE]
    assert [row for row in told(net, "degree") if row[1] == "b"] == [("!", "b", 1), ("!", "b", 2)]
    net.fail("b", "c")
    net.run(until=30)
    assert [row for row in told(net, "degree") if row[1] == "b"][2:] == [("!", "b", 1)]


def test_saying_a_row_again_refreshes_what_follows_from_it_at_other_nodes():
    text = (
        TABLES
        + """materialize(alive, 5, infinity, keys(1)). materialize(near, 5, infinity, keys(1, 2)).
      r1 near(@Y, X) :- alive(@X), link(@X, Y, C)."""
    )
    net = hw.network(text, LINE)
    for time in range(0, 12, 3):
        net.run(until=time)
        net.insert("alive", [("b",)])
    net.run(until=13)
    assert net["near"].rows() == [("a", "b"), ("c", "b")]
    net.run(until=20)
    assert net["near"].rows() == [] == net["alive"].rows()


def test_a_broadcast_goes_to_all_neighbours():
    text = (
        TABLES
        + "watch(hello). r1 hello(@Broadcast, X) :- shout(@X). r2 x(@X) :- #link(@X, Y, C), hello(@X, Z)."
    )
    assert told(run(text, shout=[("b",)])) == [("!", "a", "b"), ("!", "c", "b")]
    assert told(run(text, shout=[("a",)])) == [("!", "b", "a")]


@pytest.mark.parametrize("transport", ["simulated", "tcp"])
def test_a_broadcast_of_a_program_without_links_goes_to_the_neighbours_of_the_topology(transport):
    text = """
      materialize(heard, infinity, infinity, keys(1, 2)).
      r1 hello(@Broadcast, X) :- shout(@X).
      r2 heard(@X, Y) :- hello(@X, Y).
    """
    links = [("a", "b", 1), ("b", "c", 1), ("c", "d", 1)]
    both = [*links, *((other, one, cost) for one, other, cost in links)]
    options = {} if transport == "simulated" else {"processes": 2}
    with hw.network(text, both, transport=transport, **options) as net:
        net.insert("shout", [("b",)])
        net.run()
        assert net["heard"].rows() == [("a", "b"), ("c", "b")]


def test_an_address_bound_nowhere_is_that_of_the_body():
    text = TABLES + "watch(here). r1 here(@Local, Y) :- hello(@X, Y)."
    assert told(run(text, hello=[("b", 7)])) == [("!", "b", 7)]


def test_min_of_a_table_with_a_key_has_a_group_for_each_key_and_brings_the_rest_along():
    text = (
        TABLES
        + """materialize(way, infinity, infinity, keys(1, 2)). materialize(heard, infinity, infinity, keys(1, 2, 3)).
      r1 way(@X, D, a_MIN<C>, Z) :- heard(@X, D, C, Z), link(@X, Y, B)."""
    )
    net = run(text, heard=[("a", "d", 3, "p"), ("a", "d", 2, "q"), ("a", "e", 9, "r")])
    assert net["way"].rows() == [("a", "d", 2, "q"), ("a", "e", 9, "r")]
    net.delete("heard", [("a", "d", 2, "q")])
    net.run(until=30)
    assert net["way"].rows() == [("a", "d", 3, "p"), ("a", "e", 9, "r")]


def test_lists_and_distinct_counts_of_tables_follow_what_comes_and_goes():
    text = """materialize(item, infinity, infinity, keys(1, 2)). materialize(all, infinity, infinity, keys(1)).
      materialize(kinds, infinity, infinity, keys(1)).
      r1 all(@X, a_LIST<K>) :- item(@X, K, V).  r2 kinds(@X, a_COUNTDISTINCT<V>) :- item(@X, K, V)."""
    net = run(text, item=[("a", 1, 5), ("a", 2, 5), ("b", 1, 6)])
    assert net["all"].rows() == [("a", (1, 2)), ("b", (1,))] and net["kinds"].rows() == [("a", 1), ("b", 1)]
    net.delete("item", [("a", 1, 5), ("b", 1, 6)])
    net.run(until=30)
    assert net["all"].rows() == [("a", (2,))] and net["kinds"].rows() == [("a", 1)]


def test_texts_and_anything_are_a_text_and_names_with_two_numbers_of_columns_are_two():
    text = (
        TABLES
        + """watch(id). watch(ping). r1 id(@X, H) :- ask(@X, N), H := f_tostr("a" + N + X).
      r2 ping(@Y, X) :- ask(@X, N), link(@X, Y, C). r3 ping(@X, Y, N) :- ping(@X, Y), N := f_size(f_append(X))."""
    )
    net = run(text, ask=[("a", 3)])
    assert told(net, "id") == [("!", "a", "a3a")] and told(net, "ping") == [("!", "b", "a")]
    assert "ping/3" in net.relations


def test_namespaces_aggregates_on_the_address_and_what_belongs_to_the_best():
    text = (
        TABLES
        + """namespace chord {
        materialize(finger, infinity, infinity, keys(1, 2)).
        l1 best(@X, K, min<D, B>) :- lookup(@X, K), finger(@X, D, B).
        l2 lookup(@max<B>, K) :- again(@X, K), finger(@X, D, B). }
      watch(chord::best). watch(chord::lookup)."""
    )
    fingers = {"chord::finger": [("a", 4, "b"), ("a", 2, "c")]}
    net = run(text.replace("materialize(link, infinity, infinity, keys(1, 2)).", ""), **fingers)
    net.insert("chord::lookup", [("a", 7)])
    net.insert("chord::again", [("a", 8)])
    net.run(until=40)
    assert told(net, "chord::best")[0] == ("!", "a", 7, 2, "c")
    assert told(net, "chord::lookup") == [("!", "a", 7), ("!", "c", 8)]


def test_a_network_with_endless_timers_is_never_quiet():
    net = hw.network("r1 tick(@N) :- periodic(@N, E, 1).", LINE)
    with pytest.raises(DataError) as caught:
        net.run()
    assert caught.value.code == "never-quiet"
    assert not net.run(until=3).quiet


REFUSED = [
    (TABLES + "r1 p(@X) :- e(@X), f(@X).", "two-events"),
    (TABLES + "r1 p(@X) :- e(@X), !f(@X).", "event-not-stored"),
    (TABLES + "r1 delete p(@X) :- e(@X).", "event-not-stored"),
    ("r1 p(@X) :- periodic(@X, E, T).", "timer"),
    ("r1 p(@X) :- periodic(@X, E, 0).", "timer"),
    ("materialize(p, 1, 1, keys(1)). r1 q(@X, T) :- #p(@X, Y), T := f_now(). .decl q(X: string, T: float)",
     "function-mismatch"),
    (TABLES + "r1 p(@Y) :- e(@X), #link(@Y, Z, C).", "not-link-restricted"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_refused(text, code):
    with pytest.raises(RuleError) as caught:
        hw.network(text, LINE)
    assert caught.value.code == code and caught.value.place is not None
    assert caught.value.hint or "event" in caught.value.message


def test_an_event_that_raises_itself_for_ever_is_stopped():
    with pytest.raises(hw.EvaluationError) as caught:
        run(TABLES + "r1 e(@X, N) :- e(@X, M), N := M + 1.", e=[("a", 0)])
    assert caught.value.code == "no-fixpoint"


def test_events_need_rows_one_by_one():
    with pytest.raises(DataError) as caught:
        hw.network("r1 tick(@N) :- periodic(@N, E, 1, 1).", LINE, order="sn")
    assert caught.value.code == "order"


# ------------------------------------------------------------------ random programs

NAMES = ("a", "b", "c")
SCHEMES = (absorption, counting, dred)


def random_program(chance):
    tables = {
        "link": Table((0, 1)),
        "s": Table(chance.choice([(0, 1), (0,)]), chance.choice([None, 1.7]), chance.choice([None, 2])),
        "t": Table((0, 1), chance.choice([None, None, 2.3]), chance.choice([None, 3])),
        "h": Table((0, 1, 2)),
    }
    stored, events = ["s", "t", "h"], ["e", "f", "g"]
    rules = []
    for _ in range(chance.randint(3, 7)):
        event = Atom(chance.choice(events), ("X", chance.choice(["K", "K", 1])))
        table = Atom(chance.choice(stored), ("X", chance.choice(["K", "L"]), "V"))
        kind = chance.randrange(8)
        values = [arg for arg in ("K", "L", "V") if arg in event.args + table.args] + [0, 1]
        if kind == 0:
            event = Atom(chance.choice(events), ("X", "K"))
            rules.append(UpdateText(Atom(chance.choice(events), ("Y", "K")), event, Atom("link", ("X", "Y"))))
        elif kind == 1:
            head = Atom(chance.choice(stored), ("Y", "K", chance.choice([0, 1, 2])))
            rules.append(UpdateText(head, Atom(chance.choice(events), ("X", "K")), Atom("link", ("X", "Y"))))
        elif kind == 2:
            function = chance.choice([("COUNT", "*"), ("MIN", "V"), ("MAX", "V")])
            rules.append(UpdateText(Atom(chance.choice(events), ("X",)), event, table, aggregate=function))
        elif kind == 3:
            rules.append(UpdateText(Atom(table.relation, table.args), event, table, delete=True))
        elif kind == 4:
            other = chance.choice([name for name in stored if name != "h"])
            rules.append(UpdateText(Atom(other, ("X", "V", "K")), None, Atom("h", ("X", "K", "V"))))
        elif kind == 5:
            absent = Atom("v", ("X", chance.choice([v for v in values if v != "V"])))
            rules.append(
                UpdateText(Atom(chance.choice(stored), ("X", chance.choice(values), 1)), event, table, absent)
            )
        else:
            head = Atom(chance.choice(stored), ("X", chance.choice(values), chance.choice(values)))
            less = (chance.choice(values), chance.choice(values)) if chance.random() < 0.5 else None
            rules.append(UpdateText(head, event, table, less=less))
    rules.append(UpdateText(Atom("t", ("Y", 1, 0)), Atom("e", ("X", 1)), Atom("link", ("X", "Y"))))
    rules.append(UpdateText(Atom("s", ("X", "K", 0)), Atom("e", ("X", "K"))))
    rules.append(UpdateText(Atom("h", ("X", "K", 1)), Atom("f", ("X", "K"))))
    rules.append(UpdateText(Atom("g", ("X", 0)), Atom("g", ("X", 2))))
    return EventProgram(tables, tuple(rules), {"v": "h"}, chance.choice([{}, {"g": 1.3}]))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_random_programs_do_what_p2_does(seed):
    chance = random.Random(seed)
    program = random_program(chance)
    latency = {(x, y): 0.01 + chance.random() for x in NAMES for y in NAMES}
    oracle = P2Network(program, NAMES, latency)
    checked = check(parse(program.text()), Functions(), network=True)
    plan = plan_nodes(compile_program(checked))
    ours = Simulator(
        plan,
        Addresses(NAMES),
        SCHEMES[seed % len(SCHEMES)](),
        links=lambda x, y: LinkQuality(latency[NAMES[x], NAMES[y]]),
    )
    for row in [("a", "b"), ("b", "c"), ("b", "a"), ("c", "a")]:
        ours.insert("link", row)
        oracle.outside(oracle.nodes[row[0]], ("insert", "link", row))
    for _ in range(12):
        time = oracle.now + chance.random()
        ours.run(time)
        oracle.run(time)
        node = chance.choice(NAMES)
        relation = chance.choice([name for name in ("e", "f", "g") if name in plan.numbers])
        ours.insert(relation, (node, row := chance.randrange(3)))
        oracle.outside(oracle.nodes[node], ("raise", relation, (node, row)))
        for table in ("s", "t", "h"):
            if table in plan.numbers:
                expected = {row for each in oracle.nodes.values() for row in each.rows[table]}
                assert ours.rows(table) == expected, program.text()
