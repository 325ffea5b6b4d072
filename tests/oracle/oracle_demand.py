"""Recursions that ask for aggregates of what lies below them, each with a plain Python version of its own.

A Python version is a function from rows of the recursion to rows that follow from them; the reference repeats it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Row = tuple[int, ...]
Base = Mapping[str, frozenset[Row]]
Step = Callable[[Base, Row], Iterator[Row]]

ARITIES = {"seed": 1, "point": 2, "hole": 2}
HEADER = "".join(
    f".decl {name}({', '.join('xy'[:arity])}: number)\n" for name, arity in ARITIES.items()
).replace("x, y: number", "x: number, y: number")


@dataclass(frozen=True)
class Recursion:
    """`rules` derive `o` from `seed` and, by `step`, from itself."""

    name: str
    first: str
    rule: str
    start: Callable[[int], Row]
    step: Step

    @property
    def text(self) -> str:
        """The program as Headwater reads it."""
        return f"{HEADER}{self.first}\n{self.rule}\n"

    def solve(self, base: Base) -> dict[str, frozenset[Row]]:
        """All rows of the recursion."""
        found = {self.start(x) for (x,) in base["seed"]}
        todo = list(found)
        while todo:
            for row in self.step(base, todo.pop()):
                if row not in found:
                    found.add(row)
                    todo.append(row)
        return {"o": frozenset(found)}


def _count(base: Base, row: Row) -> Iterator[Row]:
    if row[0] < 5:
        yield row[0] + 1, sum(x <= row[0] for x, _ in base["point"])


def _feedback(base: Base, row: Row) -> Iterator[Row]:
    yield sum(x <= row[0] for x, _ in base["point"]), row[0]


def _sum(base: Base, row: Row) -> Iterator[Row]:
    for _, step in base["hole"]:
        if step > 0 and row[0] + step < 7:
            next_ = row[0] + step
            yield next_, sum(y for x, y in base["point"] if x < next_)


def _least(base: Base, row: Row) -> Iterator[Row]:
    values = [y for x, y in base["point"] if x >= row[0]]
    if row[0] < 5 and values:
        yield row[0] + 1, min(values), max(values)


def _absent(base: Base, row: Row) -> Iterator[Row]:
    if row[0] < 5:
        yield row[0] + 1, len({(x, y) for x, y in base["point"] - base["hole"] if x <= row[0]})


def _chained(base: Base, row: Row) -> Iterator[Row]:
    if row[0] < 4:
        counted = sum(x <= row[0] for x, _ in base["point"])
        yield row[0] + 1, counted, sum(y for x, y in base["point"] if y < counted)


def _either(base: Base, row: Row) -> Iterator[Row]:
    if row[0] < 5:
        yield row[0] + 1, len({x for x, _ in base["point"] | base["hole"] if x <= row[0]})


def _nested(base: Base, row: Row) -> Iterator[Row]:
    if row[0] < 5:
        holes = [x for x, _ in base["hole"]]
        yield row[0] + 1, sum(x <= row[0] and y <= holes.count(x) for x, y in base["point"])


def _no_group(base: Base, row: Row) -> Iterator[Row]:
    if row[0] < 5 and not any(x <= row[0] and y > 2 for x, y in base["point"]):
        yield (row[0] + 1,)


def _grouped(base: Base, row: Row) -> Iterator[Row]:
    for x in {x for x, _ in base["point"]}:
        if row[0] < 5:
            yield row[0] + 1, sum(y <= row[0] for z, y in base["point"] if z == x)


RECURSIONS = [
    Recursion("count", "o(r, 0) :- seed(r).",
              "o(r + 1, z) :- o(r, _), r < 5, z = count : { point(x, _), x <= r }.", lambda x: (x, 0), _count),
    Recursion("feedback", "o(r, 9) :- seed(r).",
              "o(z, r) :- o(r, _), z = count : { point(x, _), x <= r }.", lambda x: (x, 9), _feedback),
    Recursion("sum", "o(r, 0) :- seed(r).",
              "o(n, z) :- o(r, _), hole(_, d), d > 0, n = r + d, n < 7, z = sum y : { point(x, y), x < n }.",
              lambda x: (x, 0), _sum),
    Recursion("min and max", "o(r, 0, 0) :- seed(r).",
              "o(r + 1, a, b) :- o(r, _, _), r < 5, a = min y : { point(x, y), x >= r },"
              " b = max y : { point(x, y), x >= r }.",
              lambda x: (x, 0, 0), _least),
    Recursion("negation", "o(r, 0) :- seed(r).",
              "o(r + 1, z) :- o(r, _), r < 5, z = count : { point(x, y), !hole(x, y), x <= r }.",
              lambda x: (x, 0), _absent),
    Recursion("chained", "o(r, 0, 0) :- seed(r).",
              "o(r + 1, a, b) :- o(r, _, _), r < 4, a = count : { point(x, _), x <= r },"
              " b = sum y : { point(_, y), y < a }.",
              lambda x: (x, 0, 0), _chained),
    Recursion("alternatives", "o(r, 0) :- seed(r).",
              "o(r + 1, z) :- o(r, _), r < 5, z = count : { (point(x, _) ; hole(x, _)), x <= r }.",
              lambda x: (x, 0), _either),
    Recursion("nested", "o(r, 0) :- seed(r).",
              "o(r + 1, z) :- o(r, _), r < 5, z = count : { point(x, y), x <= r, y <= count : { hole(x, _) } }.",
              lambda x: (x, 0), _nested),
    Recursion("negated group", "o(r) :- seed(r).",
              "o(r + 1) :- o(r), r < 5, !(point(x, y), x <= r, y > 2).", lambda x: (x,), _no_group),
    Recursion("grouped as well", "o(r, 0) :- seed(r).",
              "o(r + 1, z) :- o(r, _), r < 5, point(x, _), z = count : { point(x, y), y <= r }.",
              lambda x: (x, 0), _grouped),
]  # fmt: skip


def versions(seed: int, number: int) -> Iterator[tuple[dict[str, list[Row]], dict[str, list[Row]]]]:
    """Deletes and inserts at random."""
    rng = random.Random(seed)
    rows: dict[str, set[Row]] = {name: set() for name in ARITIES}
    for _ in range(number):
        delete: dict[str, list[Row]] = {}
        insert: dict[str, list[Row]] = {}
        for name, arity in ARITIES.items():
            if rng.random() < 0.6:
                gone = rng.sample(
                    sorted(rows[name]), rng.randint(0, len(rows[name])) // rng.choice([1, 2, 4])
                )
                come = [tuple(rng.randint(0, 4) for _ in range(arity)) for _ in range(rng.randint(0, 4))]
                delete[name], insert[name] = gone, come
                rows[name] = (rows[name] - set(gone)) | set(come)
        yield delete, insert
