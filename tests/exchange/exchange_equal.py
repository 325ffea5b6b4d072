"""A chase with equalities in plain Python: rows hold one value of each class, and values are merged as they turn out
equal. Certain rows and answers are those without nulls at the end; two constants that should be equal are a clash."""

from __future__ import annotations

from dataclasses import dataclass

from exchange_chase import ChaseAtom, ChaseMapping, Name, Row, _unified

from headwater import LabelledNull


class Clash(Exception):
    """Two constants would have to be equal."""


@dataclass(frozen=True)
class ChaseEquality:
    """Whatever makes the body hold makes two of its variables the same."""

    label: str
    body: tuple[ChaseAtom, ...]
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.label}: {', '.join(map(str, self.body))} -> {self.left} = {self.right}."

    @staticmethod
    def key(label: str, name: Name, arity: int, key: tuple[int, ...], column: int) -> ChaseEquality:
        """Rows of a relation that agree in `key` agree in `column`."""
        first = tuple(f"a{i}" for i in range(arity))
        second = tuple(first[i] if i in key else f"b{i}" for i in range(arity))
        return ChaseEquality(
            label, (ChaseAtom(name, first), ChaseAtom(name, second)), f"a{column}", f"b{column}"
        )


class EqualChase:
    def __init__(self, mappings: list[ChaseMapping], equalities: list[ChaseEquality], base):
        self.mappings, self.equalities = mappings, equalities
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

    def bindings(self, body: tuple[ChaseAtom, ...]) -> list[dict]:
        found: list[dict] = [{}]
        for atom in body:
            found = [
                more
                for binding in found
                for row in self.rows.get(atom.name, ())
                if (more := _unified(atom.terms, row, binding)) is not None
            ]
        return found

    def apply(self, mapping: ChaseMapping) -> None:
        for binding in self.bindings(mapping.body):
            arguments = tuple(binding[name] for name in mapping.frontier)
            for existential in mapping.existentials:
                made = LabelledNull(f"{mapping.label}_{existential}", arguments)
                binding[existential] = self.top(made)
            for head in mapping.heads:
                row = tuple(binding.get(term, term) for term in head.terms)
                self.rows.setdefault(head.name, set()).add(row)

    def merge(self) -> bool:
        for each in self.equalities:
            for binding in self.bindings(each.body):
                if binding[each.left] != binding[each.right]:
                    self.equate(binding[each.left], binding[each.right])
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
