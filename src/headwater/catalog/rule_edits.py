"""Texts that take back single rules of earlier texts, by their ids: `.drop rule reach#2`.

A view whose last rule goes is no view any more. If a text still mentions it, or rows were given to it, it is a base
relation from then on; else it is gone. Where other rules read it, and nothing else says what it is, the drop is
refused, unless the catalog takes relations that nothing fills.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from headwater.catalog.text_index import TextIndex, losing, rules_for, rules_with
from headwater.errors import Place, RuleError
from headwater.language.program import ActiveRule, Program, Rule
from headwater.rules.shapes import active_atoms
from headwater.rules.terms import atoms
from headwater.spelling import did_you_mean

DROP_RULE = "drop_rule"
MOST_RULES_NAMED = 12
"""Ids that a hint lists, where none is near."""


def dropped_ids(program: Program) -> tuple[str, ...]:
    """The ids of the rules that a text drops."""
    return tuple(d.options["rule"] for d in program.directives if d.kind == DROP_RULE)


def rules_of(programs: Iterable[Program]) -> list[Rule]:
    """All rules, in order; facts are none."""
    return [rule for program in programs for rule in program.rules if rule.body]


def active_of(programs: Iterable[Program]) -> list[ActiveRule]:
    """All active rules, in order; the same rule twice is one."""
    found: dict[ActiveRule, ActiveRule] = {}
    for rule in [rule for program in programs if program.active for rule in program.active]:
        found.setdefault(rule, rule)
    return list(found.values())


def check_labels(program: Program, earlier: Sequence[Program]) -> None:
    """Refuse a label that an active rule shares with another rule that says something else."""
    known: dict[str | None, Rule | ActiveRule] = {rule.label: rule for rule in active_of(earlier)}
    known |= {rule.label: rule for rule in rules_of([*earlier, program])}
    for rule in (*program.active, *active_of(earlier)):
        other = known.setdefault(rule.label, rule)
        if rule.label is not None and other != rule:
            raise RuleError(
                "duplicate-label",
                f"there is another rule {rule.label}",
                place=rule.place,
                hint=f"give it another label, or drop the other: .drop rule {rule.label}",
            )


def without_rules(found: Sequence[Program], program: Program) -> list[Program]:
    """Earlier texts without the rules that a text drops, and without what they say of views that go with them."""
    ids = dropped_ids(program)
    if not ids:
        return list(found)
    dropped = rules_with(found, ids)
    silent = [rule for each in found for rule in each.active if rule.id in ids]  # the same rule twice is one
    left = [losing(each, ids) for each in found]
    if silent:
        left = [
            replace(each, active=tuple(rule for rule in each.active if rule not in silent))
            if any(rule in silent for rule in each.active)
            else each
            for each in left
        ]
    for name in bereft(dropped, [*left, program]):
        told = {"kind"} if _mentioned(name, [*left, program]) else {"kind", "output", "printsize", "watch"}
        left = [
            replace(
                each,
                directives=tuple(d for d in each.directives if d.relation != name or d.kind not in told),
            )
            for each in left
        ]
    return left


def _heads(rules: Iterable[Rule]) -> set[str]:
    return {head.relation for rule in rules for head in rule.heads}


def bereft(dropped: Iterable[Rule], left: Iterable[Program]) -> list[str]:
    """The relations that rules were dropped of and that none of the rules left derives."""
    left = tuple(left)
    names = dict.fromkeys(head.relation for rule in dropped for head in rule.heads)
    return [
        name
        for name in names
        if not any(rule.body for text in left for _, rule in TextIndex.of(text).heads.get(name, ()))
    ]


def _mentioned(name: str, programs: Sequence[Program]) -> bool:
    return (
        _declared(name, programs)
        or any(
            atom.relation == name
            for program in programs
            for body in (*(rule.body for rule in program.rules), *(query.body for query in program.queries))
            for atom, _ in atoms(body)
        )
        or any(atom.relation == name for rule in active_of(programs) for atom in active_atoms(rule))
    )


def _declared(name: str, programs: Sequence[Program]) -> bool:
    """Whether a text says what the relation is, rules apart."""
    said = {each.relation for program in programs for each in program.declarations}
    said |= {each.relation for program in programs for each in program.tables}
    said |= {each.relation for program in programs for each in program.directives if each.kind == "input"}
    facts = (rule for program in programs for rule in program.rules if not rule.body)
    return name in said or any(head.relation == name for rule in facts for head in rule.heads)


def check_dropped_rules(
    program: Program, earlier: Sequence[Program], given: Collection[str], *, lenient: bool
) -> None:
    """Refuse to drop rules that are not there, and those without which others read what nothing fills.

    `earlier` are the texts as they are before, `given` the relations that rows were given to. Who is `lenient` takes
    relations that nothing fills.
    """
    if all(directive.kind != DROP_RULE for directive in program.directives):
        return
    ids = dropped_ids(program)
    dropped, active = rules_with(earlier, ids), active_of(earlier)
    there = {rule.id for rule in dropped} | {rule.id for rule in active}
    for directive in (each for each in program.directives if each.kind == DROP_RULE):
        if directive.options["rule"] not in there:
            raise unknown_rule(directive.options["rule"], [*rules_of(earlier), *active], directive.place)
        there.discard(directive.options["rule"])
    others = [rule for rule in rules_for([*earlier, program], _heads(dropped)) if rule.id not in ids]
    if lenient or _heads(dropped) <= _heads(rule for rule in others if rule.body):
        return
    left = [*without_rules(earlier, program), program]
    for name in bereft(dropped, left):
        if name in given or _declared(name, left):
            continue
        readers: list[Rule | ActiveRule] = [
            *(rule for rule in rules_of(left) if any(atom.relation == name for atom, _ in atoms(rule.body))),
            *(rule for rule in active_of(left) if any(atom.relation == name for atom in active_atoms(rule))),
        ]
        if readers:
            _refuse_bereft(program, name, readers)


def unknown_rule(said: str, rules: Iterable[Rule | ActiveRule], place: Place | None = None) -> RuleError:
    """The error about a rule that is not there, with the ids that are near."""
    known = [rule.id for rule in rules if rule.id is not None]
    hint = did_you_mean(said, known) or _listed(known)
    return RuleError("unknown-rule", f"there is no rule {said}", place=place, hint=hint)


def _listed(ids: Sequence[str]) -> str:
    if not ids:
        return "no rule is defined"
    more = len(ids) - MOST_RULES_NAMED
    return f"there are: {', '.join(ids[:MOST_RULES_NAMED])}{f' and {more} more' if more > 0 else ''}"


def _refuse_bereft(program: Program, name: str, readers: Sequence[Rule | ActiveRule]) -> None:
    ids = ", ".join(str(rule.id) for rule in readers)
    place = next(d.place for d in program.directives if d.kind == DROP_RULE)
    raise RuleError(
        "still-read",
        f"{name} would have no rule left, and {ids} {'reads' if len(readers) == 1 else 'read'} it",
        place=place,
        hint=f"drop {'that rule' if len(readers) == 1 else 'those rules'} too, or declare {name}: .decl {name}(...)",
    )
