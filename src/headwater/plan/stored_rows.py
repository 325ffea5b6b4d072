"""Rows by their keys: whether they are there, when they were derived, and those that agree with them.

A row's *key* is its relation and the codes of its values. Keys stay valid over versions, unlike row numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headwater.kernel.relation import Relation
from headwater.kernel.states import LIVE_ROWS, VISIBLE
from headwater.language.program import Variable
from headwater.plan.access import PRESENT, Access
from headwater.plan.execute import Executor
from headwater.plan.order import Planner
from headwater.plan.steps import Ints
from headwater.rules.checked import CheckedRule, Premise

Key = tuple[str, tuple[int, ...]]
CANDIDATES = Access(LIVE_ROWS, LIVE_ROWS, LIVE_ROWS, LIVE_ROWS, LIVE_ROWS, LIVE_ROWS)
"""What can be derived, best or not."""
ASKED = "~asked"
"""A relation for values that rows are looked for by."""


class StoredRows:
    """The rows of some relations. `relations` also takes rows that are kept aside for plans to start from."""

    def __init__(self, relations: dict[str, Relation], planner: Planner, executor: Executor):
        self.relations = relations
        self.planner = planner
        self.executor = executor

    def numbers(self, relation: str, rows: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int32]:
        """The row number of each row that is there, -1 of each that is not."""
        stored = self.relations[relation]
        if not stored.stored:
            return np.full(len(rows), -1, np.int32)
        found = stored.find(np.array(rows, np.int64).reshape(len(rows), stored.arity))
        there = (found >= 0) & ((stored.state[np.maximum(found, 0)] & VISIBLE) != 0)
        return np.where(there, found, np.int32(-1)).astype(np.int32)

    def has(self, key: Key) -> bool:
        """Whether the row is there."""
        return bool(self.numbers(key[0], [key[1]])[0] >= 0)

    def rank(self, key: Key) -> int:
        """When the row was derived: one of its derivations is from rows of its stratum derived before."""
        relation = self.relations[key[0]]
        number = int(self.numbers(key[0], [key[1]])[0])
        return int(relation.rows[number, relation.head_rank_column]) if number >= 0 else -1

    def group(self, key: Key, columns: Sequence[int], access: Access = PRESENT) -> list[Key]:
        """The rows that agree with this one, there or not, in some columns."""
        codes = tuple(columns)
        values = np.array([key[1][code] for code in codes], np.int64).reshape(1, len(codes))
        return sorted(self.matching(key[0], codes, values, access))

    def matching(
        self, relation: str, columns: Sequence[int], values: Ints, access: Access = PRESENT
    ) -> set[Key]:
        """The rows that have one of the given combinations of codes in some code columns, found by an index."""
        rows = self.matching_rows(relation, columns, values, access)
        return {(relation, row) for row in map(tuple, rows.tolist())}

    def matching_rows(
        self, relation: str, columns: Sequence[int], values: Ints, access: Access = PRESENT
    ) -> Ints:
        """The same as a matrix."""
        every = tuple(Variable(f"c{column}") for column in range(self.relations[relation].arity))
        starts = self.set_aside(ASKED, values)
        body = (Premise(ASKED, tuple(every[column] for column in columns)), Premise(relation, every))
        plan = self.planner.delta(CheckedRule(ASKED, relation, every, body, {}), 0, frozenset())
        found: list[Ints] = [np.empty((0, len(every)), np.int64)]
        self.executor.run(plan, {}, starts, access, lambda rows: found.append(rows[:, :-1].copy()))
        return np.concatenate(found)

    def set_aside(self, name: str, rows: Ints) -> npt.NDArray[np.int32]:
        """Keep rows in a relation of their own, for plans to start from; their numbers there."""
        aside = Relation(name, rows.shape[1])
        tuples = np.zeros((rows.shape[0], aside.arity + 1), np.int64)
        tuples[:, : aside.arity] = rows
        self.relations[name] = aside
        return aside.show(aside.add(tuples, 0), 0)
