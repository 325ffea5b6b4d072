"""A program as its changes are followed: which strata, in which order, and which of them without their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater.maintain.strategies.propagation.sides import by_propagation
from headwater.maintain.view import View, same_rule
from headwater.rules.checked import Checked, CheckedRule, Kind, Stratum


@dataclass(frozen=True)
class FollowedStratum:
    """A stratum, and the view that has its stored relations; none if nothing of it is stored."""

    stratum: Stratum
    view: View | None
    propagated: bool = False


@dataclass
class FollowedProgram:
    """A program, and as its changes are followed."""

    checked: Checked
    followed: Checked
    _steps: tuple[FollowedStratum, ...] | None = None

    def steps(self, views: Iterable[View]) -> tuple[FollowedStratum, ...]:
        """All strata whose changes are followed, in order."""
        if self._steps is None:
            self._steps = steps(self.followed, views)
        return self._steps

    def partly(self, whole: Checked) -> dict[str, str]:
        """The watched views of which less is known than by following them whole, and what is heard of them."""
        if self.followed is whole:
            return {}
        infos, all_told = self.followed.unstored.relations, whole.unstored.relations
        parts: dict[str, list[str]] = {}
        for stratum in self.followed.followed:
            for name in stratum.relations:
                if name in infos and infos[name].kind is Kind.WATCHED:
                    parts.setdefault(infos[name].owner or name, []).append(f"{infos[name].told}{name}")
        return {
            name: ", ".join(shown)
            for name, shown in parts.items()
            if shown not in ([f"{all_told[name].told}{name}"], [f"±{name}"])
        }


def steps(checked: Checked, views: Iterable[View]) -> tuple[FollowedStratum, ...]:
    """All strata whose changes are followed, in order."""
    views = tuple(views)
    by_relation = {name: view for view in views for name in view.stratum.relations}
    propagated = {stratum.relations for stratum in by_propagation(checked)}
    found = []
    for stratum in checked.followed:
        view = next((by_relation[name] for name in stratum.relations if name in by_relation), None)
        found.append(FollowedStratum(stratum, view, stratum.relations in propagated))
    return tuple(found)


def redefined(before: Checked, after: Checked) -> set[str]:
    """The relations whose rules are others."""
    if before is after:
        return set()
    old, new = _rules(before), _rules(after)
    found = set()
    for name in old.keys() | new.keys():
        one, other = old.get(name, {}), new.get(name, {})
        if one.keys() != other.keys() or not all(
            same_rule(rule, other[label]) for label, rule in one.items()
        ):
            found.add(name)
    return found


def _rules(checked: Checked) -> dict[str, dict[str, CheckedRule]]:
    found: dict[str, dict[str, CheckedRule]] = {}
    for stratum in (*checked.strata, *checked.unstored.strata):
        for rule in stratum.rules:
            found.setdefault(rule.relation, {})[rule.label] = rule
    return found
