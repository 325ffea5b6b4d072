"""A stratum as it is maintained: its rules with their plans, its strategy, and what is left to do for it.

A view's rows are those of its rules. Where rules come and go, rows follow them as they follow rows that come and
go below: a view that has `redefined` rules takes off what the lost ones derived and adds what the gained ones derive.
See `fixpoint` for how.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from headwater.errors import RuleError
from headwater.events import Reason
from headwater.maintain.grouping import Grouping
from headwater.maintain.selection import Chooser
from headwater.maintain.strategies import STRATEGIES
from headwater.maintain.strategies.propagation.strategy import ByPropagation
from headwater.maintain.strategies.strategy import Strategy
from headwater.maintain.workspace import Redefined, RuleSet, Workspace
from headwater.rules.checked import UNIT, CheckedRule, Premise, RelationInfo, Stratum


@dataclass
class View:
    """A stratum as it is maintained."""

    stratum: Stratum
    rules: RuleSet
    choosers: dict[str, Chooser]
    grouping: Grouping | None
    strategy: Strategy
    derived: bool = False
    """Its rows have been derived; a view that the open version has defined waits for its turn."""
    anew: Reason | None = None
    """Why it must be derived anew in the next version that concerns it: its counts are not those of its rows."""
    redefined: Redefined | None = None
    """The rules that it has gained and lost in the open version, until its rows have followed."""

    propagated: bool = False
    """Whether its changes are computed without its rows, and written: it reads views that are not stored."""

    @staticmethod
    def of(workspace: Workspace, stratum: Stratum, strategy_name: str, *, propagated: bool = False) -> View:
        """The view of a stratum whose relations the workspace knows; refused if the strategy cannot maintain it."""
        rules = RuleSet(workspace, stratum)
        if propagated:
            return View(stratum, rules, {}, None, ByPropagation(), propagated=True)
        infos = [workspace.infos[name] for name in stratum.relations]
        choosers = {info.name: Chooser(workspace, info) for info in infos if info.selections}
        grouping = None
        if infos[0].aggregate is not None and not stratum.recursive:
            grouping = Grouping(workspace, infos[0], rules)
        strategy = STRATEGIES[strategy_name]()
        reason = strategy.refuses(stratum)
        if reason is not None:
            raise RuleError(
                "strategy-refused",
                f"strategy {strategy.name} cannot maintain {', '.join(stratum.relations)}: {reason}",
                place=stratum.rules[0].place,
                hint="use strategy='support' or 'auto'",
            )
        return View(stratum, rules, choosers, grouping, strategy)

    @property
    def improves_itself(self) -> bool:
        """Whether its best rows improve themselves."""
        return bool(self.choosers) and self.anew is not None

    def forget(self) -> None:
        """Know nothing of rows any more, since they are about to be dropped."""
        self.derived, self.anew, self.redefined = False, None, None
        if self.grouping is not None and self.grouping.groups.stored:
            self.grouping = Grouping(self.rules.workspace, self.grouping.info, self.rules)

    def follow_rules(self, earlier: Sequence[View], before: Callable[[], Workspace]) -> None:
        """Take over the rows of earlier views, whose relations are all here, and of which `before` has the rules'
        inputs.

        Where only some rules are others, the rows will follow these; else they are derived again, in their places.
        """
        rules = [rule for view in earlier for rule in view.stratum.rules]
        gained = _without(self.stratum.rules, rules)
        lost = _without(rules, self.stratum.rules)
        if not earlier or len(lost) == len(rules) or not all(map(self._goes_on_from, earlier)):
            return
        if self.grouping is not None:
            self.grouping = earlier[0].grouping
        elif any(rule.aggregate is not None for rule in (*gained, *lost)):
            return
        else:
            strategy = self._strategy_after(earlier, lost=bool(lost))
            if strategy is None:
                return
            self.strategy = strategy
        self.derived = True
        taken_back = RuleSet(before(), replace(self.stratum, rules=lost)) if lost else None
        for view in earlier:
            self.rules.take_plans(view.rules)
            if taken_back is not None:
                taken_back.take_plans(view.rules)
        self.redefined = Redefined(
            frozenset(rule.label for rule in gained),
            taken_back,
            tuple(view.stratum.relations for view in earlier) if len(earlier) > 1 else (),
        )

    def _strategy_after(self, earlier: Sequence[View], *, lost: bool) -> Strategy | None:
        """Who goes on from what the strategies of earlier views keep; `None` if nobody can."""
        found = [
            view.strategy.following(
                self.strategy, view.stratum, self.stratum, lost=lost, choosing=bool(self.choosers)
            )
            for view in earlier
        ]
        alike = len(found) == 1 or all(strategy is not None and strategy.ranked for strategy in found)
        return found[0] if alike else None

    def _goes_on_from(self, earlier: View) -> bool:
        """Whether the rows of an earlier view are those of its rules, and its groups would be groups here."""
        if self.grouping is not None:
            found = earlier.grouping
            return (
                earlier.derived
                and found is not None
                and not earlier.propagated
                and self.grouping.takes_over(found)
            )
        settled = earlier.derived and earlier.anew is None and earlier.redefined is None
        return settled and earlier.grouping is None and not earlier.propagated


def same_rule(one: CheckedRule, other: CheckedRule) -> bool:
    """Whether two rules say the same of the same types, as far as these are known."""
    return one is other or (
        _identity(one) == _identity(other)
        and all(
            None in (type, other.types.get(name)) or type == other.types.get(name)
            for name, type in one.types.items()
        )
    )


def alike(old: RelationInfo | None, new: RelationInfo) -> bool:
    """Whether rows of the one are rows of the other. A type may have become known since. One that is known no more
    leaves no rows, and rules cannot take back what they derived from values of it: the view is derived anew."""
    return old is new or (
        old is not None
        and old.arity == new.arity
        and old.selections == new.selections
        and all(before is None or before == now for before, now in zip(old.types, new.types, strict=True))
    )


def with_unit(stratum: Stratum) -> Stratum:
    """Give rules without a premise the one premise that always holds."""

    def fixed(rule: CheckedRule) -> CheckedRule:
        if any(isinstance(item, Premise) for item in rule.body):
            return rule
        return replace(rule, body=(Premise(UNIT, ()), *rule.body))

    if all(rule.body and isinstance(rule.body[0], Premise) for rule in stratum.rules):
        return stratum
    if all(any(isinstance(item, Premise) for item in rule.body) for rule in stratum.rules):
        return stratum
    return Stratum(stratum.relations, tuple(fixed(rule) for rule in stratum.rules), stratum.recursive)


def _without(rules: Collection[CheckedRule], others: Collection[CheckedRule]) -> tuple[CheckedRule, ...]:
    by_label = {rule.label: rule for rule in others}
    return tuple(
        rule for rule in rules if rule.label not in by_label or not same_rule(rule, by_label[rule.label])
    )


def _identity(rule: CheckedRule) -> tuple[object, ...]:
    return rule.label, rule.relation, rule.head, rule.body, rule.aggregate
