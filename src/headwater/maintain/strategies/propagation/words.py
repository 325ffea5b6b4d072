"""How the changes of views that are not stored are computed, in words."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.maintain.strategies.propagation.optimisations import Optimisations
from headwater.maintain.strategies.propagation.parity import wanted
from headwater.maintain.strategies.propagation.queries import Sign
from headwater.maintain.strategies.propagation.sides import Rules, by_propagation
from headwater.maintain.strategies.propagation.version import Compiled
from headwater.plan.goals.program import shown_rule
from headwater.rules.checked import Checked, Kind


def explained(checked: Checked, using: Optimisations, known: Iterable[Compiled]) -> dict[str, list[str]]:
    """For each relation whose changes are computed without its rows: which optimisations are in use, what of the
    relations below matters to it, and the queries that were made so far, with their subgoals in order."""
    rules, strata = Rules.of(checked), by_propagation(checked)
    found: dict[str, list[str]] = {}
    for stratum in strata:
        for name in stratum.relations:
            info = rules.infos[name]
            lines = [f"optimisation {line}" for line in using.lines()]
            if info.kind is Kind.WATCHED:
                lines.append(f"heard of: {info.told}{name}")
            below = sorted(rules.below(name) - {name})
            signs = wanted(rules, rules, [name])
            if using.parity:
                followed = [
                    f"{both}{each}"
                    for each in below
                    if (both := "".join(sign.value for sign in Sign if signs(each, sign)))
                ]
                lines.append(f"follows {', '.join(followed)}")
            lines += [f"restricted to constants: {each}" for each in below if "[" in each]
            for made in known:
                lines += _queries(made, name)
                lines += [f"derives {each} whole: {why}" for each, why in made.program.whole.items()]
            shown = info.owner or name if info.kind is Kind.WATCHED else name
            found[shown] = list(dict.fromkeys([*found.get(shown, ()), *lines]))
    return found


def _queries(made: Compiled, relation: str) -> list[str]:
    goals = {
        query.goal: f"on {query.premise_sign.value}{query.premise}, {query.sign.value}{relation}"
        for queries in made.strata.values()
        for query in queries.propagating
        if query.relation == relation and query.position is not None
    }
    return [
        f"{goals[rule.relation]}: {shown_rule(rule).partition(' :- ')[2]}"
        for stratum in made.program.checked.strata
        for rule in stratum.rules
        if rule.relation in goals
    ]
