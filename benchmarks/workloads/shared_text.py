"""A text that several people write: a list of elements, each inserted after another, with long runs of deletions.

`put(E, A)`: element E was inserted after A; of elements after the same one, the younger comes first. Removed elements
stay as places to insert after. The order of what is visible skips over them: the recursion starts from visible
elements, since the closure over runs of removed ones would be quadratic.
"""

from __future__ import annotations

import random

from benchmarks.workloads.workload import RecursiveWorkload, Row

RULES = """
younger(E) :- put(E, A), put(F, A), F > E.
first(A, E) :- put(E, A), !younger(E).
between(E, F) :- put(E, A), put(F, A), put(G, A), F < G, G < E.
beside(E, F) :- put(E, A), put(F, A), F < E, !between(E, F).
has_beside(E) :- beside(E, _).
has_first(A) :- first(A, _).
onward(E, F) :- beside(E, F).
onward(E, F) :- put(E, A), !has_beside(E), onward(A, F).
next(A, E) :- first(A, E).
next(E, F) :- onward(E, F), !has_first(E).
seen(E) :- put(E, _), !removed(E).
leads(E, F) :- seen(E), next(E, F).
leads(E, G) :- leads(E, F), removed(F), next(F, G).
follows(E, F) :- leads(E, F), seen(F).
"""
NEMO = """
younger(?e) :- put(?e, ?a), put(?f, ?a), ?f > ?e .
first(?a, ?e) :- put(?e, ?a), ~younger(?e) .
between(?e, ?f) :- put(?e, ?a), put(?f, ?a), put(?g, ?a), ?f < ?g, ?g < ?e .
beside(?e, ?f) :- put(?e, ?a), put(?f, ?a), ?f < ?e, ~between(?e, ?f) .
has_beside(?e) :- beside(?e, ?f) .
has_first(?a) :- first(?a, ?e) .
onward(?e, ?f) :- beside(?e, ?f) .
onward(?e, ?f) :- put(?e, ?a), ~has_beside(?e), onward(?a, ?f) .
next(?a, ?e) :- first(?a, ?e) .
next(?e, ?f) :- onward(?e, ?f), ~has_first(?e) .
seen(?e) :- put(?e, ?a), ~removed(?e) .
leads(?e, ?f) :- seen(?e), next(?e, ?f) .
leads(?e, ?g) :- leads(?e, ?f), removed(?f), next(?f, ?g) .
follows(?e, ?f) :- leads(?e, ?f), seen(?f) .
"""
RUN = 40
"""How many elements are typed, or removed, in one go on average."""


def shared_text(elements: int, seed: int) -> RecursiveWorkload:
    """Runs that are typed one element after the other, at random places; about two fifths are removed again, in runs.

    >>> text = shared_text(300, 1)
    >>> len(text.base["put"]), 60 < len(text.base["removed"]) < 200
    (300, True)
    """
    choose = random.Random(seed)
    put: list[Row] = []
    after = 0
    while len(put) < elements:
        if choose.random() < 1 / RUN:
            after = choose.randrange(len(put) + 1)
        put.append((len(put) + 1, after))
        after = len(put)
    removed: dict[Row, None] = {}
    while len(removed) < elements * 2 // 5:
        start = choose.randrange(1, elements + 1)
        for element in range(start, min(elements + 1, start + 1 + choose.randrange(2 * RUN))):
            removed[(element,)] = None
    gone = list(removed)
    return RecursiveWorkload(
        "shared text", RULES, {"put": put, "removed": gone}, ("follows",), "Nemo", NEMO, "removed",
        choose.sample(gone, min(200, len(gone))),
    )  # fmt: skip
