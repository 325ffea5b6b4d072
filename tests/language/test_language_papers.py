"""The programs printed in the papers read as they stand."""

import pytest

from headwater.language.datalog import parse
from headwater.language.datalog.render import render
from headwater.language.program import Call, Constant, HeadAggregate, Variable

# Loo et al. 2006, figure 1.
SHORTEST_PATH = """
SP1: path(@S,@D,@D,P,C) :- #link(@S,@D,C),
       P = f_concatPath(link(@S,@D,C), nil).
SP2: path(@S,@D,@Z,P,C) :- #link(@S,@Z,C1),
       path(@Z,@D,@Z2,P2,C2), C = C1 + C2,
       P = f_concatPath(link(@S,@Z,C1),P2).
SP3: spCost(@S,@D,min<C>) :- path(@S,@D,@Z,P,C).
SP4: shortestPath(@S,@D,P,C) :- spCost(@S,@D,C),
       path(@S,@D,@Z,P,C).
Query: shortestPath(@S,@D,P,C).
"""

# Loo et al. 2006, section 5.1.2: magic sets, with their labels.
MAGIC = """
SP1-SD: pathDst(@D,@S,@D,P,C) :- magicSrc(@S), #link(@S,@D,C), P = f_concatPath(link(@S,@D,C), nil).
SP3-SD: spCost(@D,@S,min<C>) :- magicDst(@D), pathDst(@D,@S,@Z,P,C).
"""

# Liu et al. 2008, queries 1 to 3.
REACHABLE = """
reachable(x,y) :- link(x,y).
reachable(x,y) :- link(x,z), reachable(z,y).
"""
PATHS = """
path(x,y,p,c,l) :- link(x,y,c), p=concat([x,y],nil), l=1.
path(x,y,p,c,l) :- link(x,z,c0), path(z,y,p1,c1,l1), c=c0+c1, p=concat([x],p1), l=1+l1.
minCost(x,y,min<c>) :- path(x,y,p,c,l).
minHops(x,y,min<l>) :- path(x,y,p,c,l).
cheapestPath(x,y,p,c) :- path(x,y,p,c,l), minCost(x,y,c).
fewestHops(x,y,p,l) :- path(x,y,p,c,l), minHops(x,y,l).
shortestCheapestPath(x,y,p1,c,p2,l) :- cheapestPath(x,y,p1,c), fewestHops(x,y,p2,l).
"""
REGIONS = """
activeRegion(rid,x) :- sensor(x,posx), mainSensorInRegion(rid,x), isTriggered(x).
activeRegion(rid,y) :- sensor(x,posx), sensor(y,posy), isTriggered(x),
  activeRegion(rid,x), distance(posx,posy) < k.
regionSizes(rid, count<x>) :- activeRegion(rid, x).
largestRegion(max<size>) :- regionSizes(rid, size).
largestRegions(rid) :- regionSizes(rid,size), largestRegion(size).
"""

# A RapidNet-style program: tables, events, deletions, the dialect's aggregates.
PING = """
materialize(link, infinity, infinity, keys(1,2)).
materialize(rtt, 30, infinity, keys(2)).
watch(rtt).
r1 ping(@N, M, T) :- periodic(@N, E, 5), link(@N, M, C), T := f_now().
r2 pong(@M, N, T) :- ping(@N, M, T).
r3 rtt(@N, M, D) :- pong(@N, M, T), D := f_now() - T, D <= 10.
r4 best(@N, a_MIN<D>) :- rtt(@N, M, D).
r5 neighbours(@N, a_COUNT<*>) :- link(@N, M, C).
r6 delete link(@N, M, C) :- dead(@N, M), link(@N, M, C).
"""

# A Souffle-style program of everyday constructs.
WAREHOUSE = """
// which parts can be shipped
.type Part <: symbol
.symbol_type Bin
.number_type Amount
.pragma "legacy"
.decl holds (bin: Bin, part: Part, amount: Amount)
.input holds(IO=file, filename="holds.csv", delimiter=",")
.decl needs(whole: Part, part: Part, amount: Amount) brie
.input needs()
.decl stock, short(part: Part, amount: Amount)
.decl within(whole: Part, part: Part)
.decl label(part: Part, text: symbol)
.functor shout(symbol): symbol
.output stock, short(IO=stdout)
.printsize within

holds("b1", "bolt", 0x10).  holds("b2", "bolt", 4u).
within(whole, part) :- needs(whole, part, _) ; within(whole, middle), needs(middle, part, _).
  .plan 1:(2,1)
stock(p, n) :- holds(_, p, _), n = sum a : { holds(_, p, a) }.
short(p, n - have) :-
    needs(_, p, n),
    (stock(p, have) ; !stock(p, _), have = 0),
    have < n, n % 2 = 0 /* pairs */, p != "nut".
label(p, cat(@shout(p), " ", to_string(count : { within(_, p) }))) :- stock(p, n), n >= 2 ^ 3 - 1, !match("x.*", p).
"""

TEXTS = {
    "warehouse": WAREHOUSE,
    "shortest path": SHORTEST_PATH,
    "magic": MAGIC,
    "reachable": REACHABLE,
    "paths": PATHS,
    "regions": REGIONS,
    "ping": PING,
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_reads_and_survives_rendering(name):
    program = parse(TEXTS[name])
    assert program.rules
    assert parse(render(program)) == program


def test_the_shortest_path_program():
    program = parse(SHORTEST_PATH)
    assert [rule.label for rule in program.rules] == ["SP1", "SP2", "SP3", "SP4"]
    assert [len(rule.body) for rule in program.rules] == [2, 4, 1, 2]
    assert [rule.body[0].atom.link for rule in program.rules] == [True, True, False, False]
    assert program.rules[2].heads[0].args[2] == HeadAggregate("min", Variable("C"))
    assert program.queries[0].body[0].atom.relation == "shortestPath"
    assert all(term.address for term in program.queries[0].body[0].atom.args[:2])


def test_labels_of_rewritten_rules():
    assert [rule.label for rule in parse(MAGIC).rules] == ["SP1-SD", "SP3-SD"]


def test_lower_case_variables():
    first = parse(PATHS).rules[0]
    assert first.heads[0].args == tuple(Variable(name) for name in "xypcl")
    assert first.body[1].right == Call("concat", (Call("list", (Variable("x"), Variable("y"))), Constant(())))


def test_the_region_program_has_a_variable_k():
    assert parse(REGIONS).rules[1].body[-1].right == Variable("k")


def test_the_event_program():
    program = parse(PING)
    assert [rule.delete for rule in program.rules] == [False, False, False, False, False, True]
    assert [table.keys for table in program.tables] == [(0, 1), (1,)]
    assert program.rules[0].body[2].op == ":="


def test_the_souffle_program():
    program = parse(WAREHOUSE)
    assert [declaration.relation for declaration in program.declarations] == [
        "holds", "needs", "stock", "short", "within", "label"
    ]  # fmt: skip
    assert [str(column.type) for column in program.declarations[0].columns] == ["string", "string", "int"]
    assert [directive.kind for directive in program.directives] == [
        "input",
        "input",
        "output",
        "output",
        "printsize",
    ]
    assert [rule.heads[0].relation for rule in program.rules] == [
        "holds", "holds", "within", "stock", "short", "label"
    ]  # fmt: skip
