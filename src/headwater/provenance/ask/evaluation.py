"""What the rows of a view carry in some annotation: trust, cost, confidence, clearance (green-2007, section 3.3).

Base rows carry what the user says, rules too; along a derivation values are multiplied, alternative derivations are
added. An aggregate row carries the product of all that it is made of. The absence of rows carries `one`.

The derivations of the view are kept, so that a change costs what it affects. A version of the database is worked in
when somebody asks: the rows whose derivations it may have changed are looked into again, the others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headwater import notebook
from headwater.annotations.protocol import AnyAnnotation, refuse_cycles
from headwater.annotations.registry import annotation as named_annotation
from headwater.annotations.variables import Variables
from headwater.calls import public_class
from headwater.errors import DataError, EvaluationError
from headwater.plan.instances import Derivation
from headwater.plan.stored_rows import Key
from headwater.provenance.ask.asked import key_of, not_there
from headwater.provenance.ask.valuation import Valuation
from headwater.provenance.ask.values import Given, GivenValues
from headwater.provenance.evidence import Evidence
from headwater.provenance.graph.graph import by_relation, explore, look_into
from headwater.provenance.show.wording import Fact, Wording
from headwater.values import arguments
from headwater.version.guard import reads
from headwater.version.row_change import RowChange

MOST_DERIVATIONS_HELD = 1_000_000
"""How many derivations an evaluation holds unless more are allowed."""


@public_class
class Evaluation(Mapping[tuple[Any, ...], Any]):
    """The rows of a view and what they carry, now: it follows the database and the values of base rows."""

    def __init__(
        self,
        evidence: Callable[[], Evidence],
        view: str,
        annotation: str | AnyAnnotation,
        base: Given,
        rules: Mapping[str, object] | None,
        limit: int | None,
    ):
        now = evidence()
        self.view = now.info(view).name
        self.annotation = named_annotation(annotation)
        self._evidence = evidence
        self.guard = now.guard
        self._given = GivenValues(self.annotation, base, rules).checked(now.catalog)
        self._limit = limit
        self._pending: list[Mapping[str, RowChange]] = []
        self._build()

    # ------------------------------------------------------------------ reading

    @reads
    def __getitem__(self, row: Any) -> Any:
        """What a row carries."""
        self._sync()
        key = key_of(self._evidence(), self.view, row)
        if key is None or not (key in self._valuation.values or self._instances.rows.has(key)):
            raise not_there(Fact(self.view, tuple(row)))
        return self._valuation.values.get(key, self.annotation.zero)

    @reads
    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._sync()
        return iter(fact.row for fact in self._wording.facts(self._rows()).values())

    @reads
    def __len__(self) -> int:
        self._sync()
        return len(self._rows())

    @reads
    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple):
            return False
        try:
            key = key_of(self._evidence(), self.view, row)
        except DataError:
            return False
        return key is not None and self._evidence().engine.instances().rows.has(key)

    def _rows(self) -> list[Key]:
        return [key for key in self._valuation.values if key[0] == self.view]

    @reads
    def items(self) -> Any:
        """Rows with what they carry."""
        self._sync()
        facts = self._wording.facts(self._rows())
        return {facts[key].row: self._valuation.values[key] for key in facts}.items()

    @reads
    def derived_from(
        self, base: Mapping[str, Iterable[tuple[Any, ...]]], holds: Callable[[Any], bool]
    ) -> list[tuple[Any, ...]]:
        """The rows of the view that are derived from some base rows, step by step, by rows whose value `holds`. Costs
        what it finds on the way."""
        self._sync()
        now, values = self._evidence(), self._valuation.values
        todo = [
            (self._program.facades.get(name, name), key[1])
            for name, rows in base.items()
            for row in rows
            if (key := key_of(now, name, row)) is not None
        ]
        todo = [key for key in todo if key in values and holds(values[key])]
        found = dict.fromkeys(todo)
        while todo:
            for head in self._valuation.users.get(todo.pop(), ()):
                if head not in found and head in values and holds(values[head]):
                    found[head] = None
                    todo.append(head)
        return [fact.row for fact in self._wording.facts(k for k in found if k[0] == self.view).values()]

    def show(self, row: Any) -> str:
        """What a row carries, as text; base rows by name."""
        return self.annotation.show(self[row], self._name)

    def _name(self, number: int) -> str:
        return str(self._wording.fact(self._variables.key(number)))

    def fact(self, number: int) -> Fact:
        """The base row that a number stands for, in annotations that hold such numbers."""
        arguments.whole_number("number", number, least=0, most=self._variables.given - 1)
        return self._wording.fact(self._variables.key(number))

    @property
    def evaluated(self) -> int:
        """How many values the last change worked out."""
        return self._valuation.evaluated

    def __rich__(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in (*self._evidence().info(self.view).columns, self.annotation.name):
            table.add_column(column)
        for row, value in sorted(self.items(), key=lambda item: str(item[0])):
            table.add_row(*map(str, row), self.annotation.show(value, self._name))
        return table

    def _repr_html_(self) -> str:
        info = self._evidence().info(self.view)
        found = sorted(self.items(), key=lambda item: str(item[0]))[: notebook.MOST_ROWS]
        rows = [[*row, self.annotation.show(value, self._name)] for row, value in found]
        columns, types = (*info.columns, self.annotation.name), (*info.types, "annotation")
        return notebook.rows_table(columns, types, rows, len(self), of=self.view)

    def __repr__(self) -> str:
        return f"<{self.annotation.name} of {self.view}, {len(self):,} rows>"

    # ------------------------------------------------------------------ values that change

    @reads
    def update(self, base: Given = None, rules: Mapping[str, object] | None = None) -> dict[Any, Any]:
        """Say something else of some base rows or rules; return the rows of the view that carry another value.

        What is not mentioned keeps what was said of it.
        """
        self._sync()
        GivenValues(self.annotation, base, rules).checked(self._evidence().catalog)
        given = self._given.updated(base, rules)
        keys = self._mentioned(base)
        facts = self._wording.facts(keys)
        before, self._given = self._given, given
        try:
            values = {key: self._base_value(key, facts[key]) for key in keys}
        except BaseException:
            self._given = before
            raise
        changed = [key for key in keys if not self.annotation.equal(values[key], self._valuation.values[key])]
        heads: set[Key] = set()
        if rules:
            labels = set(rules)
            heads = {d.head for d in self._graph if self._wording.label(d.rule) in labels}
        self._valuation.rule = self._given.rule
        old = self._valuation.revalue({key: values[key] for key in changed}, heads)
        found = self._wording.facts(key for key in old if key[0] == self.view)
        return {fact.row: (old[key], self._valuation.values[key]) for key, fact in found.items()}

    def _mentioned(self, base: Given) -> list[Key]:
        """The base rows that something new may be said of."""
        if base is None:
            return []
        if not isinstance(base, Mapping) or not all(isinstance(rows, Mapping) for rows in base.values()):
            return list(self._graph.base)
        found = [
            (self._program.facades.get(name, name), key[1])
            for name, rows in base.items()
            for row in rows
            if (key := key_of(self._evidence(), name, row)) is not None
        ]
        return [key for key in found if key in self._graph.base]

    def follow(self, changes: Mapping[str, RowChange]) -> None:
        """A version was applied: take note of what it did, to be worked in when somebody asks."""
        self._pending.append(changes)

    # ------------------------------------------------------------------ from scratch

    def _build(self) -> None:
        now = self._evidence()
        self._program = now.program
        self._improving = now.engine.improving()
        self._instances = now.engine.instances_on_the_way()
        self._wording = Wording(now.engine, now.program)
        self._variables: Variables[Key] = Variables()
        stored = now.engine.workspace.relations[self.view]
        roots = [(self.view, row) for row in map(tuple, stored.matrix().tolist())]
        self._graph = explore(self._instances, roots, limit=self._limit)
        self._check_size()
        facts = self._wording.facts(self._graph.base)
        base = {key: self._base_value(key, facts[key]) for key in self._graph.base}
        self._refuse_cycles()
        self._valuation = Valuation(self.annotation, self._graph, base, self._label, self._given.rule)

    def _check_size(self) -> None:
        if not self._graph.complete:
            raise EvaluationError(
                "too-many-derivations",
                f"{self.view} has more than {self._limit:,} derivations to evaluate",
                hint="allow more with limit=..., or evaluate single rows: why(...).evaluate(...)",
            )

    def _refuse_cycles(self) -> None:
        if self.annotation.diverges is not None and (cycles := self._graph.cycles()):
            refuse_cycles(self.annotation, str(self._wording.fact(cycles[0][0])))

    def _label(self, derivation: Derivation) -> str:
        return self._wording.label(derivation.rule)

    def _base_value(self, key: Key, fact: Fact) -> Any:
        return self._given.base(fact, self._variables.insert(key))

    # ------------------------------------------------------------------ following the database

    def _sync(self) -> None:
        now = self._evidence()
        improving = self._improving or now.engine.improving()
        if self._program is not now.program or (self._pending and improving):
            self._pending.clear()
            self._build()
        if not self._pending:
            return
        lost, gained = self._news()
        self._instances = self._evidence().engine.instances()
        dirty = {head for key in lost for head in self._valuation.users.get(key, ())}
        dirty |= {head for key in gained for head in self._valuation.absent_users.get(key, ())}
        dirty |= {key for key in gained if key[0] == self.view}
        for relation, rows in by_relation(gained).items():
            dirty |= self._instances.heads(relation, rows)
        for relation, rows in by_relation(lost).items():
            dirty |= self._instances.heads(relation, rows, absent=True)
        changed, again = self._rebuild(lost, gained, dirty)
        self._refuse_cycles()
        self._valuation.revalue(changed, again)
        self._variables.reclaim(self._variables.tombstones)

    def _news(self) -> tuple[set[Key], set[Key]]:
        """The rows that went and came since the last time, all versions together."""
        lost: set[Key] = set()
        gained: set[Key] = set()
        for changes in self._pending:
            for name, change in changes.items():
                if name not in self._instances.readers and not self._instances.derived(name):
                    continue
                for row in map(tuple, change.lost.tolist()):
                    (gained.discard if (name, row) in gained else lost.add)((name, row))
                for row in map(tuple, change.gained.tolist()):
                    (lost.discard if (name, row) in lost else gained.add)((name, row))
        self._pending.clear()
        return lost, gained

    def _rebuild(self, lost: set[Key], gained: set[Key], dirty: set[Key]) -> tuple[dict[Key, Any], set[Key]]:
        """Find the derivations of dirty rows anew; return new values of base rows, and the rows to evaluate."""
        graph = self._graph
        for key in lost:
            graph.derivations.pop(key, None)
            graph.base.pop(key, None)
            self._variables.delete(key)
        wanted = {key for key in dirty if key in graph.derivations or (key in gained and key[0] == self.view)}
        if not self._instances.derived(self.view):
            wanted = set()
            for key in gained:
                if key[0] == self.view:
                    graph.base[key] = None
        todo = {key for key in wanted if key not in lost}
        again: set[Key] = set()
        while todo:
            again |= todo
            following: set[Key] = set()
            for relation, rows in by_relation(todo).items():
                for row in rows:
                    graph.count -= len(graph.derivations.get((relation, row), ()))
                following |= set(look_into(self._instances, graph, relation, rows, None))
                for row in rows:
                    for derivation in graph.derivations[(relation, row)]:
                        self._valuation.enter(derivation)
            todo = following - again
        if self._limit is not None and graph.count > self._limit:
            graph.cut += 1
            self._check_size()
        values = self._valuation.values
        used = {key for head in again for each in graph.derivations.get(head, ()) for key in each.premises}
        new = [key for key in used | gained if key in graph.base and key not in values]
        facts = self._wording.facts(new)
        changed = {key: self._base_value(key, facts[key]) for key in new}
        changed.update({key: self.annotation.zero for key in lost if key in self._valuation.values})
        return changed, again
