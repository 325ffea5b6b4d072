"""Which views are kept, which are evaluated when somebody asks, and whose changes are computed all the same.

`.kind reach virtual` says that a view is not kept; the last such line about a relation counts. What a view that is
kept reads has to be kept, too: its rows follow those of what it reads. So a virtual view that such a view reads is
stored all the same, and a note says so. A helping relation is kept if something that is kept reads it.

`.kind reach auto` leaves open whether it is stored or watched; who checks the program says what was chosen.

`.kind reach watched` says that it is not kept and that what each version does to it is told (`.kind reach additions`:
only the rows that come, `removals`: only those that go). That is computed without
its rows (`maintain/strategies/propagation`), for it and for what is not kept below it. So a view that is kept may
read a watched one, and neither the watched view nor what that reads is kept for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.errors import RuleError
from headwater.language.program import Directive, Program
from headwater.rules.checked import Absent, Checked, Kind, Premise, RelationInfo, Stratum

CHOICES = {
    "stored": Kind.STORED,
    "watched": Kind.WATCHED,
    "additions": Kind.WATCHED,
    "removals": Kind.WATCHED,
    "virtual": Kind.VIRTUAL,
    "auto": Kind.STORED,
}
"""What `.kind` may say."""
TOLD = {"additions": "+", "removals": "-"}
"""Watched views of which only some rows are told."""


@dataclass(frozen=True)
class Kept:
    """The relations with their kinds, the strata that are kept and those that are not, and notes.

    `followed`: as of `Checked`.
    """

    relations: Mapping[str, RelationInfo]
    strata: tuple[Stratum, ...]
    virtual: tuple[Stratum, ...]
    notes: tuple[str, ...] = ()
    followed: tuple[Stratum, ...] = ()


def kept(program: Program, relations: Mapping[str, RelationInfo], strata: Sequence[Stratum]) -> Kept:
    """What of a program is kept."""
    last = {d.relation: d.options["kind"] for d in program.directives if d.kind == "kind"}
    relations = {
        name: replace(info, auto=True) if last.get(name) == "auto" else info
        for name, info in relations.items()
    }
    kinds = _wanted(program, relations)
    if not kinds:
        return Kept(relations, tuple(strata), ())
    virtual = {name for name, kind in kinds.items() if kind is Kind.VIRTUAL}
    watched = kinds.keys() - virtual
    reads = _reads(strata)
    readers = _readers(reads, virtual, watched, relations)
    notes = [
        f"{name} is kept, although it is virtual: {readers[name]}, which is stored, reads it"
        for name in sorted(virtual & readers.keys())
    ]
    told = {d.relation: TOLD.get(d.options["kind"], "±") for d in program.directives if d.kind == "kind"}
    infos = {
        name: replace(info, kind=kinds[name], told=told[name])
        if name in kinds and name not in readers
        else info
        for name, info in relations.items()
    }
    stored = [part for stratum in strata if (part := _part(stratum, readers)).relations]
    unstored = [part for stratum in strata if (part := _part(stratum, reads.keys() - readers)).relations]
    known = _told(reads, set(readers), watched) if watched else set()
    followed = [s for s in strata if known and not (known | readers.keys()).isdisjoint(s.relations)]
    return Kept(infos, tuple(stored), tuple(unstored), tuple(notes), tuple(followed))


def refuse_watched(program: Checked) -> None:
    """Where relations are split over nodes, changes of views that are not stored cannot be computed."""
    infos = {**program.relations, **program.unstored.relations}
    watched = [name for name, info in infos.items() if info.kind is Kind.WATCHED]
    if watched:
        raise RuleError(
            "watched-on-nodes",
            f"{', '.join(watched)}: changes of watched views are computed in one process only",
            hint=f"store it: .kind {watched[0]} stored, or db.keep({watched[0]!r}, 'stored'); or leave out run=...",
        )


def _part(stratum: Stratum, names: Mapping[str, str] | set[str]) -> Stratum:
    """What of a stratum defines some relations: most often all of it, or nothing."""
    own = tuple(name for name in stratum.relations if name in names)
    if len(own) == len(stratum.relations):
        return stratum
    return Stratum(own, tuple(rule for rule in stratum.rules if rule.relation in names), stratum.recursive)


def _wanted(program: Program, relations: Mapping[str, RelationInfo]) -> dict[str, Kind]:
    """The views that are not to be stored, with their kinds."""
    last = {d.relation: d for d in program.directives if d.kind == "kind"}
    kinds = {name: _kind(directive) for name, directive in last.items()}
    for name, directive in last.items():
        if directive.options["kind"] != "stored" and relations[name].base:
            raise RuleError(
                "not-a-view",
                f"{name} has no rules: its rows come from outside, and are kept",
                place=directive.place,
                hint=f"only views can be {directive.options['kind']}",
            )
    return {name: kind for name, kind in kinds.items() if kind is not Kind.STORED}


def _kind(directive: Directive) -> Kind:
    found = CHOICES.get(directive.options.get("chosen", directive.options["kind"]))
    if found is None:
        raise RuleError(
            "unknown-kind",
            f"there is no kind {directive.options['kind']}",
            place=directive.place,
            hint=f"there are: {', '.join(CHOICES)}",
        )
    return found


def _reads(strata: Sequence[Stratum]) -> dict[str, set[str]]:
    """What each view reads."""
    reads: dict[str, set[str]] = {}
    for rule in (rule for stratum in strata for rule in stratum.rules):
        read = reads.setdefault(rule.relation, set())
        read |= {item.relation for item in rule.body if isinstance(item, Premise | Absent)}
    return reads


def _readers(
    reads: Mapping[str, set[str]],
    virtual: set[str],
    watched: set[str],
    relations: Mapping[str, RelationInfo],
) -> dict[str, str]:
    """The relations that are kept, each with the view for which it is: itself, or one that reads it."""
    unwanted = virtual | watched
    found = {name: name for name in reads if name not in unwanted and not relations[name].internal}
    todo = list(found)
    for name in todo:
        for below in sorted(reads[name] & reads.keys() - found.keys() - watched):
            found[below] = found[name]
            todo.append(below)
    return found


def _told(reads: Mapping[str, set[str]], stored: set[str], watched: set[str]) -> set[str]:
    """The relations that are not stored and whose changes have to be known: for watched views, and for stored ones
    that read them."""
    todo = [*watched, *(below for name in stored for below in reads[name])]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in reads and name not in found and name not in stored:
            found.add(name)
            todo += reads[name]
    return found
