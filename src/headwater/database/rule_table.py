"""The rules of a database: their ids, and what there is to say about each as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from headwater.calls import public_class
from headwater.errors import Place
from headwater.language.datalog.render import render
from headwater.language.program import ActiveRule, Rule
from headwater.notebook import table
from headwater.wording import aligned

if TYPE_CHECKING:
    import pyarrow as pa

HEADINGS = ("id", "text", "view", "place")


@public_class
class RuleTable(tuple[str, ...]):
    """The ids of all rules, in the order in which they were defined.

    It prints as a table; `rows()` and `arrow()` give that as data.
    """

    _rules: Sequence[Rule | ActiveRule]

    @classmethod
    def of(cls, rules: Iterable[Rule | ActiveRule]) -> RuleTable:
        """Of these rules, which have ids."""
        rules = tuple(rules)
        found = cls(str(rule.id) for rule in rules)
        found._rules = rules
        return found

    def rows(self) -> list[tuple[str, str, str, str]]:
        """For each rule its id, its text, the view that it derives rows of (or all of them; of an
        active rule, the relation of its event), and where it is written."""
        return [
            (
                str(rule.id),
                rule.text or render(rule),
                ", ".join(_views(rule)),
                _shown(rule.place),
            )
            for rule in self._rules
        ]

    def arrow(self) -> pa.Table:
        """The same as an Arrow table."""
        import pyarrow as pa

        rows = self.rows()
        return pa.table(
            {heading: pa.array([row[i] for row in rows], pa.string()) for i, heading in enumerate(HEADINGS)}
        )

    def __repr__(self) -> str:
        return aligned(HEADINGS, self.rows())

    def _repr_html_(self) -> str:
        return table(HEADINGS, [[escape(text) for text in row] for row in self.rows()])


def _views(rule: Rule | ActiveRule) -> tuple[str, ...]:
    if isinstance(rule, ActiveRule):
        return (rule.event.relation,)
    return tuple(dict.fromkeys(head.relation for head in rule.heads))


def _shown(place: Place | None) -> str:
    return "" if place is None else f"{place.source}:{place.line}:{place.column}"
