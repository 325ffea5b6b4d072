"""What one definition says more, less, or otherwise than another: rules by their ids, and relations.

A text that is to be all that is defined (`matched`) keeps the ids of rules that it has in common with what was
defined: a rule that is written alike is the same; one with the label of another is that one, changed; and of those
without a label, the first that a view has more is taken for the first that it has less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwater.catalog.rule_ids import identified, ids_of, numbered, recalled
from headwater.errors import RuleError
from headwater.language.program import ActiveRule, Program, Rule

AnyRule = Rule | ActiveRule


@dataclass(frozen=True)
class ChangedRule:
    """A rule as it was and as it is to be, under one id."""

    before: AnyRule
    after: AnyRule


@dataclass(frozen=True)
class RuleDifference:
    """Rules by what becomes of them."""

    added: tuple[AnyRule, ...] = ()
    dropped: tuple[AnyRule, ...] = ()
    changed: tuple[ChangedRule, ...] = ()


def rule_difference(before: Sequence[AnyRule], after: Sequence[AnyRule]) -> RuleDifference:
    """What becomes of rules, which have ids."""
    old, new = ({rule.id: rule for rule in rules} for rules in (before, after))
    return RuleDifference(
        tuple(rule for id, rule in new.items() if id not in old),
        tuple(rule for id, rule in old.items() if id not in new),
        tuple(ChangedRule(old[id], rule) for id, rule in new.items() if id in old and old[id] != rule),
    )


def matched(
    program: Program, rules: Sequence[AnyRule], numbers: Mapping[str, int]
) -> tuple[Program, dict[str, int]]:
    """A program in place of all that is defined, its rules with the ids of those that they take the place of.

    >>> from headwater.language.datalog import parse
    >>> before, numbers = identified(parse("p(X) :- q(X). p(X) :- r(X). r1 p(X) :- s(X)."), {})
    >>> text = "p(X) :- r(X). r1 p(X) :- t(X). p(X) :- u(X). p(X) :- v(X)."
    >>> after, numbers = matched(parse(text), before.rules, numbers)
    >>> [rule.id for rule in after.rules], numbers
    (['p#2', 'r1', 'p#1', 'p#3'], {'p': 3})
    """
    refuse_edits(program)
    own: list[AnyRule] = [*(rule for rule in program.rules if rule.body), *program.active]
    known = _known_ids(own, rules)
    numbers = numbered(numbers, [id for id in known if id is not None])
    ids = []
    for rule, id in zip(own, known, strict=True):
        if id is None:
            (id,), numbers = _new_id(rule, numbers)
        ids.append(id)
    return recalled(program, ids), dict(numbers)


def _known_ids(own: Sequence[AnyRule], rules: Sequence[AnyRule]) -> list[str | None]:
    """For each rule the id of one that it takes the place of, each of them once; or its label; or `None`."""
    left = list(rules)
    ids: list[str | None] = [None] * len(own)

    def take(alike: Callable[[AnyRule, AnyRule], bool]) -> None:
        for number, rule in enumerate(own):
            found = next((each for each in left if alike(each, rule)), None) if ids[number] is None else None
            if found is not None:
                left.remove(found)
                ids[number] = found.id

    take(lambda before, after: before == after)
    take(lambda before, after: after.label is not None and before.id == after.label)
    ids = [rule.label if id is None else id for id, rule in zip(ids, own, strict=True)]
    take(lambda before, after: before.label is None and _about(before) == _about(after))
    return ids


def _new_id(rule: AnyRule, numbers: Mapping[str, int]) -> tuple[list[str], dict[str, int]]:
    alone = Program(rules=(rule,)) if isinstance(rule, Rule) else Program(active=(rule,))
    program, numbers = identified(alone, numbers)
    return ids_of(program), numbers


def _about(rule: AnyRule) -> tuple[bool, str]:
    """What a rule derives rows of, or waits for."""
    if isinstance(rule, Rule):
        return False, rule.heads[0].relation
    return True, rule.event.relation


def refuse_edits(program: Program) -> None:
    """A text that is all that is defined has nothing to take back."""
    for directive in program.directives:
        if directive.kind in ("drop", "drop_rule", "rename"):
            raise RuleError(
                "unsupported",
                f".{directive.kind.replace('_', ' ')} has no meaning in a text that is all that is defined",
                place=directive.place,
                hint="leave out what is to go",
            )
