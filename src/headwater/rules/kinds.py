"""Which views are kept, and which are evaluated when somebody asks.

`.kind reach virtual` says that a view is not kept; the last such line about a relation counts. What a view that is
kept reads has to be kept, too: its rows follow those of what it reads. So a virtual view that such a view reads is
stored all the same, and a note says so. A helping relation is kept if something that is kept reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.errors import RuleError
from headwater.language.program import Directive, Program
from headwater.rules.checked import Absent, Kind, Premise, RelationInfo, Stratum

CHOICES = {kind.value: kind for kind in (Kind.STORED, Kind.VIRTUAL)}


@dataclass(frozen=True)
class Kept:
    """The relations with their kinds, the strata that are kept and those that are not, and notes."""

    relations: Mapping[str, RelationInfo]
    strata: tuple[Stratum, ...]
    virtual: tuple[Stratum, ...]
    notes: tuple[str, ...] = ()


def kept(program: Program, relations: Mapping[str, RelationInfo], strata: Sequence[Stratum]) -> Kept:
    """What of a program is kept."""
    wanted = _wanted(program, relations)
    if not wanted:
        return Kept(relations, tuple(strata), ())
    readers = _readers(strata, wanted, relations)
    notes = [
        f"{name} is kept, although it is virtual: {readers[name]}, which is stored, reads it"
        for name in sorted(wanted & readers.keys())
    ]
    infos = {
        name: replace(info, kind=Kind.VIRTUAL) if name in wanted and name not in readers else info
        for name, info in relations.items()
    }
    stored = [stratum for stratum in strata if readers.keys() & set(stratum.relations)]
    virtual = [stratum for stratum in strata if not readers.keys() & set(stratum.relations)]
    return Kept(infos, tuple(stored), tuple(virtual), tuple(notes))


def _wanted(program: Program, relations: Mapping[str, RelationInfo]) -> set[str]:
    """The views that are to be virtual."""
    last = {d.relation: d for d in program.directives if d.kind == "kind"}
    for directive in last.values():
        if _kind(directive) is Kind.VIRTUAL and relations[directive.relation].base:
            raise RuleError(
                "not-a-view",
                f"{directive.relation} has no rules: its rows come from outside, and are kept",
                place=directive.place,
                hint="only views can be virtual",
            )
    return {name for name, directive in last.items() if _kind(directive) is Kind.VIRTUAL}


def _kind(directive: Directive) -> Kind:
    found = CHOICES.get(directive.options["kind"])
    if found is None:
        raise RuleError(
            "unknown-kind",
            f"there is no kind {directive.options['kind']}",
            place=directive.place,
            hint=f"there are: {', '.join(CHOICES)}",
        )
    return found


def _readers(
    strata: Sequence[Stratum], wanted: set[str], relations: Mapping[str, RelationInfo]
) -> dict[str, str]:
    """The relations that are kept, each with the view for which it is: itself, or one that reads it."""
    reads: dict[str, set[str]] = {}
    for rule in (rule for stratum in strata for rule in stratum.rules):
        read = reads.setdefault(rule.relation, set())
        read |= {item.relation for item in rule.body if isinstance(item, Premise | Absent)}
    found = {name: name for name in reads if name not in wanted and not relations[name].internal}
    todo = list(found)
    for name in todo:
        for below in sorted(reads[name] & reads.keys() - found.keys()):
            found[below] = found[name]
            todo.append(below)
    return found
