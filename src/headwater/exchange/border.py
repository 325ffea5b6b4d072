"""Where rows leave a peer's database, values that are equal become one: a constant if there is one, else one null.

With equality-generating dependencies a database holds all rows as they were derived, and beside them which values are
equal. What users see are the rows with one value of each class in place of all others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headwater.database import Database
from headwater.database.answers import Answers
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation
from headwater.plan.steps import Ints
from headwater.values.keys import order_key
from headwater.values.labelled import LabelledNull

Code = int


class Border:
    """One value for each class of equal ones, as of one version of a database."""

    def __init__(self, database: Database, compiled: CompiledMappings):
        self._database = database
        self._names = compiled.names
        self._equalities = compiled.equalities
        self._chosen = {
            number: _chosen(database, compiled.names.same(number)) for number in compiled.equalities.numbers
        }
        self.version = database.version

    def shown(self, relation: PeerRelation, answers: Answers) -> Answers:
        """Rows of a relation with chosen values, each once, without those that the peer's users have rejected.

        A row may be rejected as it is shown, and derived with other values for the same: only here that can be seen.
        """
        matrix = self._represented(relation, answers.matrix)
        names = self._names
        rejected = self._rows(relation, names.rejections(relation)) - self._rows(
            relation, names.contributions(relation)
        )
        if rejected:
            kept = [tuple(row) not in rejected for row in matrix.tolist()]
            matrix = matrix[np.array(kept, bool)]
        return replace(answers, matrix=matrix)

    def _rows(self, relation: PeerRelation, name: str) -> set[tuple[Code, ...]]:
        if not len(self._database[name]):
            return set()
        found = self._represented(relation, self._database[name].where().matrix)
        return set(map(tuple, found.tolist()))

    def _represented(self, relation: PeerRelation, given: Ints) -> Ints:
        matrix = given
        for column in range(matrix.shape[1]):
            chosen = self._chosen.get(self._equalities.classes.get((relation, column), 0))
            if chosen:
                codes = [chosen.get(code, code) for code in matrix[:, column].tolist()]
                matrix = matrix.copy()
                matrix[:, column] = codes
        return matrix if matrix is given else np.unique(matrix, axis=0)


def _chosen(database: Database, same: str) -> dict[Code, Code]:
    """For each code of an unknown value that is equal to others, that of the value to show: the first constant, else
    the first null. Constants are shown as they are, though an unknown value may be equal to two of them.

    Of a class, all pairs are there but those of two constants: a look at what an unknown value is equal to sees all.
    """
    answers = database[same].where()
    pairs = answers.matrix
    codes, first = np.unique(pairs[:, 0], return_index=True)
    values = [row[0] for row in replace(answers, matrix=pairs[first]).rows()]
    ranked = sorted(range(len(codes)), key=lambda place: _order(values[place]))
    ranks = np.empty(len(codes), np.int64)
    ranks[ranked] = np.arange(len(codes))
    left, right = (np.searchsorted(codes, pairs[:, column]) for column in (0, 1))
    least = ranks.copy()
    np.minimum.at(least, left, ranks[right])
    chosen = zip(codes.tolist(), codes[ranked][least].tolist(), values, strict=True)
    return {code: shown for code, shown, value in chosen if isinstance(value, LabelledNull)}


def _order(value: object) -> tuple[int, object]:
    """Known values first; a null of a database is at least in a table somewhere."""
    if isinstance(value, LabelledNull):
        return 2, str(value)
    return (1, "") if value is None else (0, order_key((value,)))
