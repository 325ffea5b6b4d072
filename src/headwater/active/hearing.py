"""Which rows of watched views somebody hears of: triggers as listeners.

What a listener says is what propagation may rely on: a row that has not the constants of the event, or fails a test
of the condition on its values alone, is never told. All else of a condition is asked when the row is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.active.rules import ArmedAction
from headwater.active.trigger import EVENT, Armed
from headwater.language.program import Constant, Term, Variable
from headwater.maintain.strategies.propagation.listening import Audience, Listening, column_variable
from headwater.rules.checked import Absent, CheckedRule, Premise, Test


def listening(armed: Armed) -> Listening:
    """Which rows a trigger is about."""
    trigger = armed.trigger
    plainly = Listening(trigger.relation, trigger.sign)
    if armed.question is None:
        return plainly
    readers = [(rule, item) for rule in armed.question.rules for item in _reading(rule)]
    if len(readers) != 1:  # alternatives: a row may do for one of them
        return plainly
    rule, event = readers[0]
    if not isinstance(event, Premise):
        return plainly
    constants: list[tuple[int, Constant]] = []
    columns: dict[str, Variable] = {}
    for column, arg in enumerate(event.args):
        if isinstance(arg, Constant) and _definite(arg.value):
            constants.append((column, Constant(arg.value)))
        elif isinstance(arg, Variable):
            columns.setdefault(arg.name, column_variable(column))
    tests = [
        Test(item.op, _term(item.left, columns), _term(item.right, columns))
        for item in rule.body
        if isinstance(item, Test) and _about(item, columns)
    ]
    return Listening(trigger.relation, trigger.sign, tuple(constants), tuple(tests))


def audience(armed: Iterable[Armed], actions: Iterable[ArmedAction], followed: Iterable[str]) -> Audience:
    """All who listen: watches and what active rules do later, what they do in the same version, and those who follow
    whole views."""
    actions = tuple(actions)
    found = {listening(one) for one in (*armed, *(action.armed for action in actions))}
    found |= {Listening(view) for view in followed}
    acted = frozenset(action.target.name for action in actions if action.target is not None)
    return Audience(frozenset(found), acted)


def _reading(rule: CheckedRule) -> list[Premise | Absent]:
    return [item for item in rule.body if isinstance(item, Premise | Absent) and item.relation == EVENT]


def _definite(value: object) -> bool:
    """Whether a value is equal to itself: not null, and not NaN."""
    return value is not None and value == value


def _about(test: Test, columns: dict[str, Variable]) -> bool:
    """Whether a test is about values of the row, and constants, as they are."""
    return all(
        isinstance(term, Variable) and term.name in columns
        if not isinstance(term, Constant)
        else _definite(term.value)
        for term in (test.left, test.right)
    )


def _term(term: Term, columns: dict[str, Variable]) -> Term:
    return columns[term.name] if isinstance(term, Variable) else term
