"""NDlog's four constraints (Loo et al. 2006, definition 6), kept and broken."""

from __future__ import annotations

import random

import pytest
from link_restricted import link_restricted
from oracle_lockstep import examples

from headwater.language.datalog import parse
from headwater.networks.annotated.dred import dred
from headwater.networks.constraints import CONSTRAINTS, breaches, link_relations
from headwater.networks.library import library_program, programs
from headwater.networks.runtime.directory import Addresses
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.rules.checked import Premise
from headwater.values.functions import Functions


def broken(text: str) -> list[str]:
    return [breach.constraint for breach in breaches(parse(text), Functions())]


@pytest.mark.parametrize("name", programs())
def test_the_programs_of_the_library_keep_all_of_them(name):
    """Those that are written as P2's are mark the one address where a row lives, and overlays talk to anybody."""
    program = library_program(name)
    found = {breach.constraint for breach in breaches(program, Functions())}
    assert found <= ({"address-type", "link-restriction"} if program.tables else set())


@pytest.mark.parametrize(
    ("text", "constraints"),
    [
        ("p(@S, C) :- q(S, C).", ["location", "address-type"]),
        ("p(C) :- q(@S, C).", ["location", "link-restriction"]),
        ("p(@S, D) :- #link(@S, @D).", ["address-type"]),
        ("link(@S, @D) :- other(@S, @D). p(@S, @D) :- #link(@S, @D).", ["stored-links"]),
        ("p(@S) :- #link(@S, @Z), q(@W, @Z).", ["link-restriction"]),
        ("p(@S) :- #link(@S, @Z), #link(@Z, @W), q(@W).", ["link-restriction"]),
        ("p(@S) :- q(@D, @S).", ["link-restriction"]),
        ("p(@D) :- #link(@S, @D), q(@S), r(@S), f_member([S], D) = 0.", []),
        ("p(@S, @D) :- #link(@S, @Z), q(@Z, @D), !r(@S).", []),
        ("p(@S, C) :- q(@S, A), C := A + 1. q(@a, 1).", []),
    ],
)
def test_breaches(text, constraints):
    assert broken(text) == constraints


def test_a_breach_has_a_place_and_a_hint():
    (breach,) = breaches(parse("p(@S, @D) :-\n  #link(@S, @D), q(@W)."), Functions())
    assert breach.place is not None and breach.place.line == 2
    assert breach.hint and breach.rule.startswith("p(@S") and breach.constraint in CONSTRAINTS


def test_several_link_relations():
    text = "p(@S, @D) :- #radio(@S, @D). p(@S, @D) :- #wire(@S, @Z), p(@Z, @D)."
    assert link_relations(parse(text)) == ("radio", "wire") and broken(text) == []


# ------------------------------------------------------------------ claim 1


@pytest.mark.parametrize("seed", range(examples(50)))
def test_claim_1_bodies_are_local_and_messages_go_along_links(seed):
    chance = random.Random(seed)
    text = link_restricted(chance)
    assert broken(text) == []
    program = compile_program(check(parse(text), Functions(), network=True))
    for rule in program.rules:
        places = {
            item.args[program.relations[item.relation].location]
            for item in rule.body
            if isinstance(item, Premise)
        }
        assert len(places) == 1, rule
    names = ["a", "b", "c", "d", "e"]
    edges = chance.sample([(x, y) for x in range(5) for y in range(x)], 5)
    linked = {ends for x, y in edges for ends in ((x, y), (y, x))}
    sent = []
    net = Simulator(
        plan_nodes(program),
        Addresses(names),
        dred(),
        told=lambda time, sender, receiver, message, size: sent.append((sender, receiver)),
        seed=seed,
    )
    base = [name for name in ("link", "wire", "b") if name in net.plan.numbers]
    for x, y in linked:
        for name in base:
            net.insert(name, (names[x], names[y], 1)[: net.plan.relations[net.plan.numbers[name]].arity])
    net.run()
    assert set(sent) <= linked
    for x, y in chance.sample(sorted(linked), 3):
        net.delete("link", (names[x], names[y], 1))
    net.run()
    assert set(sent) <= linked
