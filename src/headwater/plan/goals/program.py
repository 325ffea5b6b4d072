"""What a goal comes to: rules in strata over stored relations, as data; and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.plan.goals.adorned import Adorned
from headwater.rules.checked import UNIT, Checked, CheckedRule, Premise
from headwater.rules.render import render_rule

MOST_RULES_SHOWN = 200


@dataclass(frozen=True)
class GoalProgram:
    """The rewritten rules, checked and in strata; what is stored are base relations of it.

    `answer` names the relation that has the answers. `calls` are the relations that are evaluated by demand, `linear`
    those of them whose recursion hands results through; `whole` are derived whole, for the reason given.
    """

    checked: Checked
    answer: str
    calls: tuple[Adorned, ...]
    linear: tuple[str, ...]
    whole: Mapping[str, str]
    brought: tuple[Adorned, ...] = ()
    """Stored relations that are elsewhere, as they are asked for rows (see `brought`)."""

    @property
    def stored(self) -> tuple[str, ...]:
        """The stored relations that are read."""
        read = {
            item.relation
            for stratum in self.checked.strata
            for rule in stratum.rules
            for item in rule.body
            if hasattr(item, "relation")
        }
        return tuple(
            name
            for name, info in self.checked.relations.items()
            if name in read and info.base and name != UNIT
        )

    def lines(self) -> list[str]:
        """Which relations are asked for what, and the rules, for people."""
        away = {call.name for call in self.brought}
        lines = [f"reads {name}" for name in self.stored if name not in away]
        lines += [f"brings {call.name}: {self._how(call)}" for call in self.brought]
        for call in self.calls:
            through = ", results handed through" if call.name in self.linear else ""
            lines.append(f"evaluates {call.name}: {self._how(call)}{through}")
        lines += [f"derives {name} whole: {reason}" for name, reason in self.whole.items()]
        rules = [rule for stratum in self.checked.strata for rule in stratum.rules]
        lines += [f"rule {shown_rule(rule)}" for rule in rules[:MOST_RULES_SHOWN]]
        if len(rules) > MOST_RULES_SHOWN:
            lines.append(f"and {len(rules) - MOST_RULES_SHOWN:,} more rules")
        return lines

    def _how(self, call: Adorned) -> str:
        info = self.checked.relations[call.name]
        bound = ", ".join(info.columns[column] for column in call.bound)
        return f"for values of {bound}" if bound else "all of its rows"


def shown_rule(rule: CheckedRule) -> str:
    """A rule without the premise that always holds."""
    body = tuple(item for item in rule.body if not (isinstance(item, Premise) and item.relation == UNIT))
    return render_rule(replace(rule, body=body)).partition(": ")[2]
