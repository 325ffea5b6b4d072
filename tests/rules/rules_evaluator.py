"""The plainest evaluator of checked rules: nested loops, from scratch, round by round.

It runs each body from left to right and asserts that every variable is bound when it is used, so it also
checks the order that `schedule` promises.
"""

from __future__ import annotations

import operator
from collections import defaultdict

from headwater.language.program import Call, Constant, Variable, Wildcard
from headwater.rules.checked import Absent, Compute, Premise, Test

_OPS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FUNCTIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
    "min": min,
    "max": max,
    "list": lambda *items: items,
    "f_concat": lambda a, b: a + b,
    "concat_path": lambda s, d, p: (s, *p) if p else (s, d),
    "cat": lambda a, b: a + b,
    "contains": lambda a, b: a in b,
    "f_member": lambda items, item: int(item in items),
}


def evaluate(checked, base, rounds=1000):
    """All rows of all relations; `base` has the rows from outside, by the names a user would use."""
    rows = defaultdict(set)
    for relation, given in base.items():
        rows[checked.facades.get(relation, relation)] |= set(given)
    for relation, facts in checked.facts.items():
        rows[relation] |= set(facts)
    for stratum in checked.strata:
        for _ in range(rounds):
            new = {r: _derive(checked, r, stratum.rules, rows) for r in stratum.relations}
            if all(rows[relation] == found for relation, found in new.items()):
                break
            rows.update(new)
        else:
            raise AssertionError(f"no fixpoint in {stratum.relations}")
    return rows


def _derive(checked, relation, rules, rows):
    info = checked.relations[relation]
    found = set()
    groups = defaultdict(list)
    for rule in rules:
        if rule.relation != relation:
            continue
        for binding in _bindings(rule.body, rows, {}):
            if rule.aggregate is None:
                found.add(tuple(_value(term, binding) for term in rule.head))
            else:
                binding = {**binding, rule.head[rule.aggregate.position].name: None}
                head = [_value(term, binding) for term in rule.head]
                argument = rule.aggregate.argument
                groups[tuple(head)].append(1 if argument is None else binding[argument.name])
                assert all(not isinstance(arg, Wildcard) for i in rule.body for arg in getattr(i, "args", ()))
    for head, values in groups.items():
        row = list(head)
        total = sum(values)
        row[info.aggregate.position] = total / len(values) if info.aggregate.function == "avg" else total
        found.add(tuple(row))
    return _select(info.selections, found)


def _select(selections, found):
    if not selections:
        return found
    kept = set()
    for selection in selections:
        groups = defaultdict(list)
        for row in found:
            groups[tuple(row[i] for i in selection.group)].append(row)
        best = min if selection.best == "min" else max
        for group in groups.values():
            value = best(row[selection.value] for row in group)
            kept |= {row for row in group if row[selection.value] == value}
    return kept


def _bindings(body, rows, binding):
    if not body:
        yield binding
        return
    item, rest = body[0], body[1:]
    if isinstance(item, Premise):
        for row in rows[item.relation]:
            extended = _match(item.args, row, binding)
            if extended is not None:
                yield from _bindings(rest, rows, extended)
    elif isinstance(item, Absent):
        if tuple(_value(arg, binding) for arg in item.args) not in rows[item.relation]:
            yield from _bindings(rest, rows, binding)
    elif isinstance(item, Test):
        if _OPS[item.op](_value(item.left, binding), _value(item.right, binding)):
            yield from _bindings(rest, rows, binding)
    else:
        assert isinstance(item, Compute)
        if isinstance(item.value, Call) and item.value.function == "range":
            values = range(*(_value(arg, binding) for arg in item.value.args))
        else:
            values = [_value(item.value, binding)]
        for value in values:
            if binding.get(item.variable.name, value) == value:
                yield from _bindings(rest, rows, {**binding, item.variable.name: value})


def _match(args, row, binding):
    assert len(args) == len(row)
    extended = dict(binding)
    for arg, value in zip(args, row, strict=True):
        if isinstance(arg, Constant):
            if arg.value != value:
                return None
        elif isinstance(arg, Variable) and extended.setdefault(arg.name, value) != value:
            return None
    return extended


def _value(term, binding):
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        return binding[term.name]
    return _FUNCTIONS[term.function](*(_value(arg, binding) for arg in term.args))
