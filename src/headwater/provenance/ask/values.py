"""What users say of base rows and rules, as elements of an annotation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.annotations.protocol import AnyAnnotation
from headwater.catalog import Catalog
from headwater.errors import DataError
from headwater.provenance.ask.asked import row_hint
from headwater.provenance.show.wording import Fact
from headwater.spelling import did_you_mean
from headwater.values import arguments
from headwater.values.arguments import relation_name
from headwater.values.scalars import class_name, show

MOST_RULES_TOLD = 12
"""Rules that an error names."""
Given = Mapping[str, Any] | Callable[[str, tuple[Any, ...]], Any] | None
"""Values by relation (by row, as a function of the row, or one for all rows), or a function of relation and row."""


@dataclass
class GivenValues:
    """A row that nothing is said of carries what the annotation gives to a base row; a rule `one`."""

    annotation: AnyAnnotation
    given: Given = None
    rules: Mapping[str, object] | None = None
    _rules: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.given is not None and not isinstance(self.given, Mapping) and not callable(self.given):
            raise DataError(
                "wrong-type",
                f"base takes values by relation, not {class_name(self.given)}",
                hint='base={"link": {("a", "b"): 3}} or base={"link": lambda row: row[2]}',
            )
        rules = arguments.mapping("rules", self.rules, '{"reach#1": 2}')
        self._rules = {label: self.annotation.value(value) for label, value in rules.items()}

    def checked(self, catalog: Catalog) -> GivenValues:
        """These values, if all that they are said of can be there: base relations, rows of theirs, rules."""
        if isinstance(self.given, Mapping):
            for name, rows in self.given.items():
                _check_rows(catalog, relation_name(name), rows)
        ids = [str(rule.id) for rule in catalog.rules]
        for label in self._rules:
            if label not in ids:
                raise DataError("unknown-rule", f"there is no rule {label}", hint=_rules_there(label, ids))
        return self

    def rule(self, label: str) -> Any:
        """What using a rule multiplies by."""
        return self._rules.get(label, self.annotation.one)

    def base(self, fact: Fact, number: int) -> Any:
        """What a base row carries."""
        said, value = self._said(fact)
        return self.annotation.value(value) if said else self.annotation.variable(number)

    def _said(self, fact: Fact) -> tuple[bool, Any]:
        if self.given is None:
            return False, None
        if not isinstance(self.given, Mapping):
            value = arguments.answer(
                f"base({fact.relation!r}, {fact.row!r})", self.given, fact.relation, fact.row
            )
            return value is not None, value
        if fact.relation not in self.given:
            return False, None
        rows = self.given[fact.relation]
        if isinstance(rows, Mapping):
            return fact.row in rows, rows.get(fact.row)
        if not callable(rows):
            return True, rows
        return True, arguments.answer(f"base[{fact.relation!r}]({fact.row!r})", rows, fact.row)

    def updated(self, given: Given, rules: Mapping[str, object] | None) -> GivenValues:
        """With something else said of some rows or rules."""
        merged: Given = self.given
        if given is not None:
            later = GivenValues(self.annotation, given)
            earlier = self

            def merged(relation: str, row: tuple[Any, ...]) -> Any:
                fact = Fact(relation, row)
                said, value = later._said(fact)
                return value if said else earlier._said(fact)[1]

        more = arguments.mapping("rules", rules, '{"reach#1": 2}')
        return GivenValues(self.annotation, merged, {**(self.rules or {}), **more})


def _check_rows(catalog: Catalog, name: str, rows: object) -> None:
    """Refuse values for rows that a base relation cannot have. Those that it has not may still come."""
    info = catalog.info(name)
    if not info.base and name not in catalog.program.facades:
        raise DataError(
            "derived-relation",
            f"{name} is derived by rules; what its rows carry follows from base rows",
            hint=f"give values to base rows, or to rules: rules={{'{name}#1': ...}}",
        )
    for row in rows if isinstance(rows, Mapping) else ():
        if not isinstance(row, tuple):
            raise DataError("wrong-type", f"{show(row)} is not a row of {name}", hint=row_hint(info))
        if len(row) != info.arity:
            message = f"{name} has {info.arity} columns, not {len(row)}"
            raise DataError("wrong-arity", message, hint=row_hint(info))


def _rules_there(label: str, ids: Sequence[str]) -> str:
    if len(ids) > MOST_RULES_TOLD:
        return did_you_mean(label, ids) or f"there are {len(ids)} rules; explain() shows them"
    return f"the rules are {', '.join(ids)}" if ids else "there are no rules"
