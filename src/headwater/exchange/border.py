"""Where rows leave a peer's database, values that are equal become one: a constant if there is one, else one null.

With equality-generating dependencies a database holds all rows as they were derived, and beside them which values are
equal. What users see are the rows with one value of each class in place of all others. It follows the database at the
cost of what a version changes: values that are equal to others since, or no longer, and rows that hold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headwater.database import Database
from headwater.database.answers import Answers
from headwater.exchange.edit import Row
from headwater.exchange.net_change import NetChange
from headwater.exchange.renamed import RenamedRows
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation
from headwater.plan.steps import Ints
from headwater.values.keys import order_key
from headwater.values.labelled import LabelledNull
from headwater.version.changes import Changes

Code = int


@dataclass(frozen=True)
class ShownRelation:
    """A relation of the peer: rows are shown unless its users have rejected what is shown. (A row may be rejected as
    it is shown, and derived with other values for the same: only here that can be seen.)"""

    output: RenamedRows
    rejections: RenamedRows
    contributions: RenamedRows

    def holds(self, row: Row) -> bool:
        """Whether a row is shown."""
        rejected = self.rejections.holds(row) and not self.contributions.holds(row)
        return not rejected and self.output.holds(row)

    def held(self, row: Row) -> bool:
        """Whether it was before the last change."""
        rejected = self.rejections.held(row) and not self.contributions.held(row)
        return not rejected and self.output.held(row)


class Border:
    """One value for each class of equal ones, as of one version of a database; `peer` is whose relations are followed
    to the next."""

    def __init__(self, database: Database, compiled: CompiledMappings, peer: str):
        self._database = database
        self._names = compiled.names
        self._equalities = compiled.equalities
        self._schemas = compiled.schemas
        self._chosen: dict[int, dict[object, object]] = {}
        self._codes: dict[int, dict[Code, Code]] = {}
        self._code_of: dict[object, Code] = {}
        for number in compiled.equalities.numbers:
            self._choose_all(number)
        self._followed = {relation: self._shown_relation(relation) for relation in self._schemas.of(peer)}
        self._others: dict[PeerRelation, ShownRelation] = {}
        self.version = database.version

    @property
    def as_stored(self) -> bool:
        """Whether rows are shown as they are stored."""
        return not any(self._chosen.values())

    # ------------------------------------------------------------------ rows

    def shown(self, relation: PeerRelation, answers: Answers) -> Answers:
        """Rows of a relation with chosen values, each once, without those that the peer's users have rejected."""
        matrix = self._represented(relation, answers.matrix)
        names = self._names
        rejected = self._rows(relation, names.rejections(relation)) - self._rows(
            relation, names.contributions(relation)
        )
        if rejected:
            kept = [tuple(row) not in rejected for row in matrix.tolist()]
            matrix = matrix[np.array(kept, bool)]
        return replace(answers, matrix=matrix)

    def holds(self, relation: PeerRelation, row: Row) -> bool:
        """Whether a row is shown: one look-up."""
        return self._relation(relation).holds(row)

    def stored(self, relation: PeerRelation, row: Row) -> Row:
        """A row that is stored for one that is shown."""
        return self._relation(relation).output.stored(row)

    def _relation(self, relation: PeerRelation) -> ShownRelation:
        if relation in self._followed:
            return self._followed[relation]
        if relation not in self._others:
            self._others[relation] = self._shown_relation(relation)
        return self._others[relation]

    def _shown_relation(self, relation: PeerRelation) -> ShownRelation:
        classes = [
            self._equalities.classes.get((relation, column), 0)
            for column in range(len(self._schemas.columns[relation]))
        ]
        names = self._names
        of = (names.output(relation), names.rejections(relation), names.contributions(relation))
        return ShownRelation(*(RenamedRows(self._database, name, classes, self._chosen) for name in of))

    def _rows(self, relation: PeerRelation, name: str) -> set[tuple[Code, ...]]:
        if not len(self._database[name]):
            return set()
        found = self._represented(relation, self._database[name].where().matrix)
        return set(map(tuple, found.tolist()))

    def _represented(self, relation: PeerRelation, given: Ints) -> Ints:
        matrix = given
        for column in range(matrix.shape[1]):
            chosen = self._codes.get(self._equalities.classes.get((relation, column), 0))
            if chosen:
                codes = [chosen.get(code, code) for code in matrix[:, column].tolist()]
                matrix = matrix.copy()
                matrix[:, column] = codes
        return matrix if matrix is given else np.unique(matrix, axis=0)

    # ------------------------------------------------------------------ following versions

    def follow(self, versions: Iterable[Changes]) -> NetChange:
        """Stand where some versions have led; what they did to what users see of the peer's relations."""
        done = list(versions)
        values: dict[int, list[object]] = {}
        for number, chosen in self._chosen.items():
            inserted, deleted = _net(done, self._names.same(number))
            for value in {pair[0] for pair in (*inserted, *deleted) if isinstance(pair[0], LabelledNull)}:
                before = chosen.get(value, value)
                self._choose(number, value)
                if chosen.get(value, value) != before:
                    values.setdefault(number, []).append(value)
        gained: dict[PeerRelation, frozenset[Row]] = {}
        lost: dict[PeerRelation, frozenset[Row]] = {}
        for relation, shown in self._followed.items():
            names = self._names
            of = (names.output(relation), names.rejections(relation), names.contributions(relation))
            kept = (shown.output, shown.rejections, shown.contributions)
            touched = set[Row]().union(
                *(rows.follow(*_net(done, name), values) for rows, name in zip(kept, of, strict=True))
            )
            now = {row: shown.holds(row) for row in touched}
            was = {row: shown.held(row) for row in touched}
            gained[relation] = frozenset(row for row in touched if now[row] and not was[row])
            lost[relation] = frozenset(row for row in touched if was[row] and not now[row])
        self._others.clear()
        self.version = self._database.version
        return NetChange(
            {relation: rows for relation, rows in gained.items() if rows},
            {relation: rows for relation, rows in lost.items() if rows},
        )

    # ------------------------------------------------------------------ which value is shown

    def _choose(self, number: int, value: object) -> None:
        """Of an unknown value, the one to show for it: what it is equal to is all there, each in a pair with it."""
        same = self._database[self._names.same(number)]
        asked: dict[str, Any] = {same.columns[0]: value}
        found = same.where(**asked)
        pairs = list(zip(found.rows(), found.matrix.tolist(), strict=True))
        code = pairs[0][1][0] if pairs else self._code_of.get(value)
        if code is not None:
            options = [((value, value), (code, code)), *((row, codes) for row, codes in pairs)]
            best, codes = min(options, key=lambda option: _order(option[0][1]))
            self._show(number, value, best[1], codes[0], codes[1])

    def _choose_all(self, number: int) -> None:
        """The same of all unknown values: the first constant, else the first null. Constants are shown as they are,
        though an unknown value may be equal to two of them."""
        self._chosen[number], self._codes[number] = {}, {}
        answers = self._database[self._names.same(number)].where()
        pairs = answers.matrix
        codes, first = np.unique(pairs[:, 0], return_index=True)
        values = [row[0] for row in replace(answers, matrix=pairs[first]).rows()]
        ranked = sorted(range(len(codes)), key=lambda place: _order(values[place]))
        ranks = np.empty(len(codes), np.int64)
        ranks[ranked] = np.arange(len(codes))
        left, right = (np.searchsorted(codes, pairs[:, column]) for column in (0, 1))
        least = ranks.copy()
        np.minimum.at(least, left, ranks[right])
        for place, best in enumerate(np.array(ranked, np.int64)[least].tolist() if len(codes) else ()):
            if isinstance(values[place], LabelledNull):
                self._show(number, values[place], values[best], int(codes[place]), int(codes[best]))

    def _show(self, number: int, value: object, shown: object, code: Code, shown_code: Code) -> None:
        self._code_of[value] = code
        if shown == value:
            self._chosen[number].pop(value, None)
            self._codes[number].pop(code, None)
        else:
            self._chosen[number][value] = shown
            self._codes[number][code] = shown_code


def _net(versions: Iterable[Changes], name: str) -> tuple[set[Row], set[Row]]:
    """The rows that a relation gained and lost, all versions together."""
    gained: set[Row] = set()
    lost: set[Row] = set()
    for changes in versions:
        if name in changes:
            for row in changes[name].deleted:
                (gained.remove if row in gained else lost.add)(row)
            for row in changes[name].inserted:
                (lost.remove if row in lost else gained.add)(row)
    return gained, lost


def _order(value: object) -> tuple[int, object]:
    """Known values first; a null of a database is at least in a table somewhere."""
    if isinstance(value, LabelledNull):
        return 2, str(value)
    return (1, "") if value is None else (0, order_key((value,)))
