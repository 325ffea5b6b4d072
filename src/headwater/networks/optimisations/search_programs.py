"""The rules by which nodes search the best path between two of them (loo-2006 sections 5.1.2 to 5.3).

A query is a row `query(@S, @T, Q, R)`: from S to T, its number, and how far to look. What travels away from S is how
much the way has cost so far, and each node keeps which neighbour that came from: equally good ways are one row for
those who come next, so a node hands a query on once for each cost. The path is put together on the way back, so that
each node on it hears of the rest of its own way to T: that is what caches are filled with. Where T is searched from,
too, nodes keep which neighbour is next; a query that meets them is led on, and goes back like any other. Both ends of
a link know it: `into(@D, @S, C)` are the links at their other ends.
"""

from __future__ import annotations

_WALK = """
.decl link(source: string, target: string, cost: int)
.decl query(source: string, target: string, number: int, radius: int)
w1 walk(@S, @T, Q, R, @S, C) :- query(@S, @T, Q, R), C = 0.
w2 walk(@D, @T, Q, R, @Z, C) :- walk(@Z, @T, Q, R, F, C1), #link(@Z, @D, C2), Z != T, C = C1 + C2, C <= R{stop}.
w3 walkCost(@Z, @T, Q, R, min<C>) :- walk(@Z, @T, Q, R, F, C).
w4 from(@Z, @T, Q, min<F>) :- walkCost(@Z, @T, Q, R, C), walk(@Z, @T, Q, R, F, C).
f1 found(@Z, @T, Q, P, C) :- walkCost(@Z, @T, Q, R, C), Z = T, P = [T].
b1 back(@N, @T, Q, P, C) :- found(@Z, @T, Q, P1, C), from(@Z, @T, Q, N), N != Z, P = f_concat([N], P1).
b2 back(@N, @T, Q, P, C) :- back(@Z, @T, Q, P1, C), from(@Z, @T, Q, N), N != Z, P = f_concat([N], P1).
b3 backCost(@N, @T, Q, min<C>) :- back(@N, @T, Q, P, C).
b4 heard(@N, @T, Q, P, C) :- backCost(@N, @T, Q, C), back(@N, @T, Q, P, C).
o1 offer(@S, @T, Q, P, C) :- query(@S, @T, Q, R), heard(@S, @T, Q, P, C).
o2 offer(@S, @T, Q, P, C) :- query(@S, @T, Q, R), found(@S, @T, Q, P, C).
a1 answerCost(@S, @T, Q, min<C>) :- offer(@S, @T, Q, P, C).
a2 answer(@S, @T, Q, P, C) :- answerCost(@S, @T, Q, C), offer(@S, @T, Q, P, C).
"""
_FROM_TARGET = """
.decl into(target: string, source: string, cost: int)
.decl target(target: string, source: string, number: int, radius: int)
n1 near(@T, @T, @S, Q, R, @T, C) :- target(@T, @S, Q, R), C = 0.
n2 near(@Z, @T, @S, Q, R, @D, C) :- near(@D, @T, @S, Q, R, N, C2), into(@D, @Z, C1), D != S, C = C1 + C2, C <= R.
n3 nearCost(@Z, @T, @S, Q, R, min<C>) :- near(@Z, @T, @S, Q, R, N, C).
n4 next(@Z, @T, Q, min<N>) :- nearCost(@Z, @T, @S, Q, R, C), near(@Z, @T, @S, Q, R, N, C).
w5 walk(@N, @T, Q, R, @Z, C) :- walk(@Z, @T, Q, R, F, C1), next(@Z, @T, Q, N), #link(@Z, @N, C2), Z != T, C = C1 + C2.
"""
_KNOWN = """
.decl known(node: string, target: string, path: list[string], cost: int)
f3 found(@Z, @T, Q, P, C) :- walkCost(@Z, @T, Q, R, C1), known(@Z, @T, P, C2), C = C1 + C2.
"""
_ZONE = """
.decl link(source: string, target: string, cost: int)
z1 zone(@Z, @T, P, C) :- #link(@Z, @T, C), C <= {radius}, P = [Z, T].
z2 zone(@Z, @T, P, C) :- #link(@Z, @D, C1), zone(@D, @T, P2, C2), Z != T, C = C1 + C2, C <= {radius},
     P = f_concat([Z], P2).
z3 zoneCost(@Z, @T, min<C>) :- zone(@Z, @T, P, C).
z4 inZone(@Z, @T, P, C) :- zoneCost(@Z, @T, C), zone(@Z, @T, P, C).
"""

NEWS = """
.decl changed(node: string)
.decl beside(node: string, neighbour: string)
d1 told(@N) :- changed(@N).
d2 told(@M) :- beside(@N, @M), told(@N).
"""
"""How nodes hear of a link that has changed: each tells all its neighbours once, along links and against them."""


def search_program(*, from_target: bool = False, knowing: bool = False) -> str:
    """The rules of a search, as NDlog; `knowing` ones end where the rest of the path is known."""
    text = _WALK.format(stop=", !known(@Z, @T, _, _)" if knowing else "")
    return text + (_FROM_TARGET if from_target else "") + (_KNOWN if knowing else "")


def zone_program(radius: int) -> str:
    """Best paths within a radius: `inZone(@Z, @T, P, C)`."""
    return _ZONE.format(radius=radius)
