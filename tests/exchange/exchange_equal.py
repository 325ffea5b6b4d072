"""A chase with equalities in plain Python: rows hold one value of each class, and values are merged as they turn out
equal. Certain rows and answers are those without nulls at the end; two constants that should be equal are a clash."""

from __future__ import annotations

from exchange_chase import ChaseMapping, Name, Row, _unified

from headwater import LabelledNull


class Clash(Exception):
    """Two constants would have to be equal."""


class EqualChase:
    def __init__(self, mappings: list[ChaseMapping], keys: list[tuple[Name, tuple[int, ...], int]], base):
        self.mappings, self.keys = mappings, keys
        self.above: dict = {}
        self.rows: dict[Name, set[Row]] = {name: set(rows) for name, rows in base.items()}

    def top(self, value):
        while value in self.above:
            value = self.above[value]
        return value

    def run(self) -> dict[Name, set[Row]]:
        while True:
            before = {name: frozenset(rows) for name, rows in self.rows.items()}
            for mapping in self.mappings:
                self.apply(mapping)
            while self.merge():
                pass
            if before == {name: frozenset(rows) for name, rows in self.rows.items()}:
                return self.rows

    def apply(self, mapping: ChaseMapping) -> None:
        found: list[dict] = [{}]
        for atom in mapping.body:
            found = [
                more
                for binding in found
                for row in self.rows.get(atom.name, ())
                if (more := _unified(atom.terms, row, binding)) is not None
            ]
        for binding in found:
            arguments = tuple(binding[name] for name in mapping.frontier)
            for existential in mapping.existentials:
                made = LabelledNull(f"{mapping.label}_{existential}", arguments)
                binding[existential] = self.top(made)
            for head in mapping.heads:
                row = tuple(binding.get(term, term) for term in head.terms)
                self.rows.setdefault(head.name, set()).add(row)

    def merge(self) -> bool:
        for name, key, column in self.keys:
            known: dict = {}
            for row in sorted(self.rows.get(name, ()), key=str):
                other = known.setdefault(tuple(row[i] for i in key), row[column])
                if other != row[column]:
                    self.equate(other, row[column])
                    return True
        return False

    def equate(self, first, second) -> None:
        if isinstance(second, LabelledNull):
            first, second = second, first
        if not isinstance(first, LabelledNull):
            raise Clash
        self.above[first] = second
        for name, rows in self.rows.items():
            self.rows[name] = {tuple(second if value == first else value for value in row) for row in rows}

    def certain(self, name: Name) -> set[Row]:
        return {row for row in self.rows.get(name, ()) if not any(isinstance(v, LabelledNull) for v in row)}
