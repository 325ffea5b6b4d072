"""What a definition would change: rules, relations, rows, and what would have to be derived again.

The rows are worked out in a version that is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from headwater.calls import public_class
from headwater.catalog import Catalog
from headwater.catalog.difference import AnyRule, RuleDifference, rule_difference
from headwater.events import Recomputed
from headwater.language.datalog.render import render
from headwater.notebook import lines as shown_lines
from headwater.version.changes import Changes


@public_class
@dataclass(frozen=True)
class DefinitionDifference:
    """What a definition would change. It is false if that is nothing.

    `rules` are rules by what would become of them; `said` and `unsaid` other statements that would be new, and that
    would go; `added` and `dropped` relations; `changes` are the rows that would come and go; `rebuilt` says which
    views would be derived again, and why.
    """

    rules: RuleDifference
    said: tuple[str, ...]
    unsaid: tuple[str, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    lost: Mapping[str, int]
    """How many rows the base relations among those dropped have."""
    changes: Changes
    rebuilt: tuple[Recomputed, ...]

    @staticmethod
    def of(
        before: Catalog, count: Callable[[str], int], after: Catalog, changes: Changes
    ) -> DefinitionDifference:
        """Between two catalogs, of which the second would change these rows; `count` tells how many rows a relation
        has now."""
        old, new = before.statements, after.statements
        dropped = tuple(name for name in before.relations if name not in after.relations)
        return DefinitionDifference(
            rule_difference([*before.rules, *before.active], [*after.rules, *after.active]),
            tuple(text for text in new if text not in old),
            tuple(text for text in old if text not in new),
            tuple(name for name in after.relations if name not in before.relations),
            dropped,
            {name: count(name) for name in dropped if before.info(name).base},
            changes,
            tuple(event for event in changes.statistics.events if isinstance(event, Recomputed)),
        )

    def __bool__(self) -> bool:
        rules = (self.rules.added, self.rules.dropped, self.rules.changed)
        return any((*rules, self.said, self.unsaid, self.added, self.dropped, self.changes))

    @property
    def takes_away(self) -> bool:
        """Whether anything that is there now would not be there, or be something else."""
        lost = any(self.changes[name].counts[1] for name in self.changes)
        return bool(self.rules.dropped or self.rules.changed or self.unsaid or self.dropped or lost)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Signs (`+`, `-`, `~` for a rule that changes, `!` for a view that is derived again) and words."""
        for rule in self.rules.added:
            yield "+", _rule(rule)
        for rule in self.rules.dropped:
            yield "-", _rule(rule)
        for changed in self.rules.changed:
            yield "~", f"{_rule(changed.before)}  becomes  {_text(changed.after)}"
        yield from (("+", text) for text in self.said)
        yield from (("-", text) for text in self.unsaid)
        for name in self.added:
            yield "+", f"relation {name}"
        for name in self.dropped:
            yield "-", f"relation {name}" + (f", with {self.lost[name]:,} rows" if name in self.lost else "")
        for name in self.changes:
            inserted, deleted = self.changes[name].counts
            yield "", f"{name}: {inserted:,} rows would come, {deleted:,} would go"
        for event in self.rebuilt:
            yield "!", str(event)

    def __str__(self) -> str:
        return "\n".join(f"{sign or ' '} {words}" for sign, words in self.lines()) or "no difference"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return shown_lines([(line, "")] for line in str(self).splitlines())


def _rule(rule: AnyRule) -> str:
    return f"rule {rule.id}: {_text(rule)}"


def _text(rule: AnyRule) -> str:
    return rule.text or render(rule)
