"""Goals over relations that are somewhere else: their rows are brought as they are asked for.

Each stored relation that a rewritten rule reads is replaced by one that is empty at first, and what is asked of it:
`reach^bf(X, Y) :- ask reach^bf(X), link(X, Y).` becomes

    reach^bf(X, Y) :- ask reach^bf(X), link^bf(X, Y).        ask link^bf(X) :- ask reach^bf(X).

Whoever evaluates the rules brings the rows of `link` for the values asked for, until nothing new is asked. No rule
reads what is asked here, so nothing becomes circular.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.language.program import Constant, Variable, Wildcard
from headwater.plan.goals.adorned import Adorned, asked_info
from headwater.plan.goals.program import GoalProgram
from headwater.plan.goals.sideways import Sideways, as_written, connected, names
from headwater.rules.checked import (
    UNIT,
    Absent,
    Checked,
    CheckedRule,
    Item,
    Premise,
    RelationInfo,
    Stratum,
)


def _here(premise: Premise, bound: set[str]) -> float:
    """What is here comes before what must be brought."""
    return 0.0


def brought(program: GoalProgram, away: Iterable[str]) -> GoalProgram:
    """The program with demands for the stored relations that are `away`."""
    bringing = _Bringing(program, frozenset(away) & set(program.stored))
    whole = {call.relation for call in bringing.run() if not call.bound}
    if any(call.bound and call.relation in whole for call in bringing.calls.values()):
        bringing = _Bringing(program, bringing.away, frozenset(whole))
        bringing.run()
    strata = [
        Stratum(
            stratum.relations, tuple(bringing.rules[rule.label] for rule in stratum.rules), stratum.recursive
        )
        for stratum in program.checked.strata
    ]
    strata += [
        Stratum((call.asked,), tuple(bringing.asking[call.asked]), False)
        for call in bringing.calls.values()
        if call.bound
    ]
    checked = Checked({**program.checked.relations, **bringing.infos}, tuple(strata))
    return replace(program, checked=checked, brought=tuple(bringing.calls.values()))


class _Bringing:
    """One pass over all rules; relations in `whole` are brought whole, whatever is bound."""

    def __init__(self, program: GoalProgram, away: frozenset[str], whole: frozenset[str] = frozenset()):
        self.program = program
        self.away = away
        self.whole = whole
        self.calls: dict[str, Adorned] = {}
        self.infos: dict[str, RelationInfo] = {}
        self.rules: dict[str, CheckedRule] = {}
        self.asking: dict[str, list[CheckedRule]] = {}

    def run(self) -> Iterable[Adorned]:
        for stratum in self.program.checked.strata:
            for rule in stratum.rules:
                self.rules[rule.label] = self._rule(rule)
        return self.calls.values()

    def _rule(self, rule: CheckedRule) -> CheckedRule:
        done: list[Item] = []
        order = Sideways(rule, self.away, _here).ordered(())
        for place, item in enumerate(order):
            if isinstance(item, Premise | Absent) and item.relation in self.away:
                item = self._called(rule, item, order[:place], done)
            done.append(item)
        return replace(rule, body=tuple(as_written(rule, order, done)))

    def _called(
        self, rule: CheckedRule, item: Premise | Absent, before: list[Item], done: list[Item]
    ) -> Item:
        passed = Sideways(rule, (), _here).passing(before, ())
        info = self.program.checked.relations[item.relation]
        bound = tuple(
            column
            for column, arg in enumerate(item.args)
            if isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in passed.known)
        )
        call = Adorned(item.relation, info.arity, () if item.relation in self.whole else bound, 0)
        self.calls[call.name] = call
        self.infos[call.name] = replace(info, name=call.name)
        if call.bound:
            places = passed.places
            known = as_written(rule, [before[place] for place in places], [done[place] for place in places])
            self._ask(rule, call, item, known)
        return replace(item, relation=call.name)

    def _ask(self, rule: CheckedRule, call: Adorned, item: Premise | Absent, known: list[Item]) -> None:
        head = tuple(arg for c in call.bound if not isinstance(arg := item.args[c], Wildcard))
        info = self.program.checked.relations[item.relation]
        self.infos[call.asked] = asked_info(call.asked, info, call.bound)
        body = (Premise(UNIT, ()), *connected(known, names(head)))
        asking = self.asking.setdefault(call.asked, [])
        label = f"{call.asked}#{len(asking)}"
        asking.append(
            replace(rule, label=label, relation=call.asked, head=head, body=body, aggregate=None, text="")
        )
