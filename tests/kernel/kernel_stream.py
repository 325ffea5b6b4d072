"""Random operations on a relation and on its model side by side."""

from __future__ import annotations

import random

import numpy as np
from kernel_model import Model, Values, assert_same, chains, matrix, values_of

from headwater.kernel.index import Index
from headwater.kernel.relation import Fallen, Relation


class Stream:
    """Versions of random operations; after each the relation is compared with the model."""

    def __init__(
        self,
        seed: int,
        arity: int,
        *,
        selected: bool = False,
        domain: int = 4,
        counts: tuple[int, ...] = (0, 1, 3, 10, 40),
    ):
        self.counts = counts
        self.rng = random.Random(seed)
        self.arity = arity
        self.relation = Relation("r", arity, selected=selected)
        self.model = Model(selected)
        self.values = [-(2**63), -1, 0, 2**63 - 1, *range(1, domain + 1)][-domain - 2 :]
        self.clock = 1
        self.operations = [
            self.add,
            self.add,
            self.subtract,
            self.insert,
            self.delete,
            self.kill,
            self.fall,
            self.revive,
            self.show,
            self.lead,
        ]

    def version(self, operations: int, *, keep: bool = True) -> None:
        """Some operations, then commit or rollback."""
        for _ in range(operations):
            self.clock += self.rng.randint(0, 2)
            self.rng.choice(self.operations)()
        assert_same(self.relation, self.model)
        if keep:
            self.finish()
            self.relation.commit()
            self.model.commit()
        else:
            self.relation.rollback()
            self.model.rollback()
        assert_same(self.relation, self.model, between=True)

    def finish(self) -> None:
        """What every version does before it is committed: dead rows have fallen, live ones are shown."""
        dead = [values for values, row in self.model.rows.items() if row.visible and not row.live]
        self.relation.fall(self.numbers(dead))
        self.model.fall(dead)
        dying = [values for values, row in self.model.rows.items() if row.dying]
        self.relation.settle(self.numbers(dying))
        self.model.settle(dying)
        if not self.model.selected:
            self.show_these(
                [values for values, row in self.model.rows.items() if row.live and not row.visible]
            )

    # ------------------------------------------------------------ operations

    def add(self) -> None:
        tuples = self.tuples()
        fresh = self.relation.add(matrix(tuples, self.arity + 1), self.clock)
        assert values_of(self.relation, fresh) == self.model.add(tuples, self.clock)

    def insert(self) -> None:
        tuples = self.tuples()
        fresh = self.relation.insert(matrix(tuples, self.arity + 1), self.clock)
        assert values_of(self.relation, fresh) == self.model.insert(tuples, self.clock)

    def delete(self) -> None:
        which = [values[: self.arity] for values in self.tuples()]
        assert self.relation.delete(matrix(which, self.arity)) == self.model.delete(which)

    def subtract(self) -> None:
        tuples = self.tuples()
        self.same_fallen(self.relation.subtract(matrix(tuples, self.arity + 1)), self.model.subtract(tuples))

    def kill(self) -> None:
        which = [values[: self.arity] for values in self.tuples()]
        rows = self.relation.find(matrix(which, self.arity))
        self.same_fallen(self.relation.kill(rows), self.model.kill(which))

    def fall(self) -> None:
        which = self.some(lambda row: row.visible)
        self.relation.fall(self.numbers(which))
        self.model.fall(which)
        if self.rng.random() < 0.5:
            self.relation.settle(self.numbers(which))
            self.model.settle(which)

    def revive(self) -> None:
        which = self.some(lambda row: True)
        which += which[: self.rng.randint(0, 2)]
        fresh = self.relation.revive(self.numbers(which).astype(np.int64), self.clock)
        assert values_of(self.relation, fresh) == self.model.revive(which, self.clock)

    def show(self) -> None:
        self.show_these(self.some(lambda row: True))

    def show_these(self, which: list[Values]) -> None:
        shown = self.relation.show(self.numbers(which), self.clock)
        assert values_of(self.relation, shown) == self.model.show(which, self.clock)

    def lead(self) -> None:
        """Rows move to the front of their chains, the last one to the very front."""
        which = self.some(lambda row: True)
        for columns, index in self.relation.indexes.items():
            if not isinstance(index, Index):
                continue
            index.to_front(self.relation, self.numbers(which))
            fronts = {chain[0] for chain in chains(self.relation, columns).values()}
            assert fronts.issuperset(self.numbers(which[-1:]).tolist())

    def kill_all(self) -> None:
        self.relation.kill_all()
        self.model.kill_all()

    # ------------------------------------------------------------ material

    def tuples(self) -> list[Values]:
        """Rows, some more than once, each with the highest rank of its premises."""
        count = self.rng.choice(self.counts)
        return [
            (*self.rng.choices(self.values, k=self.arity), self.rng.randint(0, self.clock))
            for _ in range(count)
        ]

    def some(self, condition) -> list[Values]:
        fitting = sorted(values for values, row in self.model.rows.items() if condition(row))
        return self.rng.sample(fitting, self.rng.randint(0, len(fitting)))

    def numbers(self, which: list[Values]) -> np.ndarray:
        return self.relation.find(matrix(which, self.arity))

    def same_fallen(self, real: Fallen, expected: tuple[list[Values], list[Values]]) -> None:
        assert (values_of(self.relation, real.falling), values_of(self.relation, real.dead)) == expected
