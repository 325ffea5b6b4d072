"""Random link-restricted programs with every optimisation: what nodes hold together is what one database holds.

Programs have recursions along links both ways, least and greatest values inside recursion, counts and negation on
top. Links fail, come back and cost something else while messages are under way; the rows are compared when all is
quiet.
"""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import examples

import headwater as hw
from headwater.networks.network import Network

ANNOTATIONS = ("absorption", "absorption-lazy", "support", "dred", "relative")
Rows = dict[str, list[tuple]]


def link_restricted(chance: random.Random) -> str:
    """Recursions along links, each over those before it."""
    lines = ["p0 p(@S, @D) :- #link(@S, @D, C).", "q0 q(@S, @D) :- #link(@D, @S, C)."]
    for number in range(chance.randint(1, 3)):
        here, there = chance.choice([("S", "D"), ("D", "S")])
        head, other = chance.choice("pq"), chance.choice("pq")
        lines.append(f"r{number} {head}(@{here}, @Z) :- #link(@S, @D, C), {other}(@{there}, @Z).")
    if chance.random() < 0.5:
        lines.append("r9 p(@S, @Z) :- #link(@S, @D, C), p(@D, @Z), q(@S, @Z).")
    best, value = chance.choice([("min", "A + B"), ("max", "f_min(A, B)"), ("min", "f_max(A, B)")])
    here, there = chance.choice([("S", "Z"), ("Z", "S")])
    lines += [
        f"c0 cost(@{here}, @{there}, {best}<C>) :- #link(@S, @Z, C).",
        f"c1 cost(@{here}, @D, {best}<C>) :- #link(@S, @Z, A), cost(@{there}, @D, B), C = {value}.",
        "c2 near(@S, @D) :- cost(@S, @D, C), C < 7.",
        "n0 degree(@S, count<D>) :- p(@S, D).",
        "u0 only(@S, @D) :- p(@S, @D), !q(@S, @D).",
    ]
    return "\n".join(lines)


def options_of(chance: random.Random) -> dict[str, object]:
    drawn: dict[str, object] = {
        "annotation": chance.choice(ANNOTATIONS),
        "order": chance.choice(["psn", "bsn"]),
    }
    if chance.random() < 0.6:
        drawn["selection_period"] = chance.choice([0.002, 0.01, 0.1])
    if chance.random() < 0.6:
        drawn["sharing_delay"] = chance.choice([0.002, 0.01, 0.1])
    if chance.random() < 0.2:
        drawn["service_time"] = chance.choice([0.001, 0.05])
    if chance.random() < 0.3:
        drawn["multi_aggregates"] = False
    return drawn


def change(net: Network, chance: random.Random) -> None:
    """Links fail, come back and cost something else, most of it while what follows is under way."""
    for _ in range(chance.randint(2, 6)):
        net.run(until=net.now + chance.choice([0.0, 0.001, 0.01, 0.2]))
        source, target, _ = chance.choice(net.topology.links)
        if (source, target) not in {link[:2] for link in net.links}:
            net.restore(source, target)
        elif chance.random() < 0.5:
            net.fail((source, target))
        else:
            net.set_cost((source, target), chance.randint(1, 9))
    assert net.run().quiet


def central(text: str, links: list[tuple], names: list[str]) -> Rows:
    db = hw.connect()
    db.define(text)
    db.apply(insert={"link": links})
    return {name: sorted(db[name].rows()) for name in names}


@settings(max_examples=examples(12))
@given(st.integers(0, 1 << 30))
def test_random_programs_with_any_options_are_as_in_one_database(seed):
    chance = random.Random(seed)
    text, options = link_restricted(chance), options_of(chance)
    nodes = "abcdef"[: chance.randint(2, 6)]
    pairs = [(one, other) for one in nodes for other in nodes if one != other]
    links = [
        (*ends, chance.randint(1, 9)) for ends in chance.sample(pairs, min(len(pairs), chance.randint(2, 10)))
    ]
    net = hw.network(text, links, seed=seed, **options)
    change(net, chance)
    names = [name for name in net.relations if name != "link"]
    expected = central(text, net.links, names)
    assert {name: sorted(net[name].rows()) for name in names} == expected, (text, links, options)

    asked, node = chance.choice(["p", "q", "cost", "near"]), chance.choice(links)[0]
    goal = f"{asked}('{node}', D{', C' if asked == 'cost' else ''})"
    asking = hw.network(text, links, seed=seed, goal=goal, **options)
    change(asking, chance)
    wanted = [row for row in central(text, asking.links, [asked])[asked] if row[0] == node]
    assert sorted(asking[asked].rows()) == wanted, (text, links, options, goal)
