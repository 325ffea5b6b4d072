"""Linear recursion that hands its result through (Naughton, Ramakrishnan, Sagiv and Ullman 1989).

In `reach(X, Y) :- link(X, Z), reach(Z, Y).`, called with a value of X, what the recursive call finds is what the rule
gives: Y goes through as it is. So there is no need to keep what each Z along the way reaches. It is enough to know
which Z each value asked for leads to, and what the other rules give for those:

    from(S, S) :- ask(S).    from(S, Z) :- from(S, X), link(X, Z).    reach^bf(S, Y) :- from(S, X), link(X, Y).

The rows are then as many as the answers, and not those of all calls on the way. Rules such as
`reach(X, Y) :- reach(X, Z), link(Z, Y).`, whose call is for the very value asked for, go on from what was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from headwater.language.program import Constant, Variable
from headwater.plan.goals.adorned import Adorned
from headwater.plan.goals.sideways import Fanout, Sideways, names
from headwater.plan.order import needs
from headwater.rules.checked import CheckedRule, Item, Premise


@dataclass(frozen=True)
class Linear:
    """A rule of such a relation: its one recursive call, if there is one, and whether its result goes through."""

    rule: CheckedRule
    call: Premise | None = None
    through: bool = False

    @property
    def rest(self) -> tuple[Item, ...]:
        """The body without the call."""
        return tuple(item for item in self.rule.body if item is not self.call)


def linear(
    call: Adorned, rules: Sequence[CheckedRule], virtual: Collection[str], fanout: Fanout
) -> list[Linear] | None:
    """The rules of a relation that is recursive through itself alone, if all are linear in the ways above for this
    call and the result of some goes through."""
    found: list[Linear] = []
    for rule in rules:
        calls = [item for item in rule.body if isinstance(item, Premise) and item.relation == call.relation]
        if not calls:
            found.append(Linear(rule))
        elif len(calls) > 1:
            return None
        elif _goes_through(call, rule, calls[0], virtual, fanout):
            found.append(Linear(rule, calls[0], through=True))
        elif _goes_on(call, rule, calls[0]):
            found.append(Linear(rule, calls[0]))
        else:
            return None
    return found if any(each.through for each in found) else None


def _goes_through(
    call: Adorned, rule: CheckedRule, premise: Premise, virtual: Collection[str], fanout: Fanout
) -> bool:
    """Whether the free columns of the call are those of the head, and all else is known without the call."""
    free = [column for column in range(call.arity) if column not in call.bound]
    through = [rule.head[column] for column in free]
    if through != [premise.args[column] for column in free] or not _once(rule, premise, through):
        return False
    bound = names(rule.head[column] for column in call.bound)
    rest = replace(rule, body=tuple(item for item in rule.body if item is not premise))
    sideways = Sideways(rest, virtual, fanout)
    known = sideways.passing(sideways.ordered(bound), bound, computed=False).known - names(through)
    asked = [premise.args[column] for column in call.bound]
    return all(isinstance(arg, Constant) or bool(names((arg,)) & known) for arg in asked)


def _goes_on(call: Adorned, rule: CheckedRule, premise: Premise) -> bool:
    """Whether the call is for the value asked for, which occurs nowhere else in the body."""
    asked = [rule.head[column] for column in call.bound]
    return asked == [premise.args[column] for column in call.bound] and _once(rule, premise, asked)


def _once(rule: CheckedRule, premise: Premise, terms: Sequence[object]) -> bool:
    """Whether the terms are variables that stand once in the head and once in the premise each, and nowhere else."""
    wanted = names(terms)
    if len(wanted) != len(terms):
        return False
    heads = Counter(term.name for term in rule.head if isinstance(term, Variable))
    args = Counter(term.name for term in premise.args if isinstance(term, Variable))
    others: set[str] = set().union(*(needs(item) for item in rule.body if item is not premise))
    return all(heads[name] == args[name] == 1 and name not in others for name in wanted)
