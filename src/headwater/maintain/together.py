"""Strata that were one when their rows were derived stay one, as long as that is sound.

When a rule of a recursion goes, the rest may be no recursion any more, or several smaller ones. Counts are kept by
ranks, and ranks are those of the stratum as it was: a row that counts derivations from premises of lower rank has not
counted all those that a stratum of its own would have to count. So the relations stay one stratum until they are
derived again. Where they cannot (one has come to read that another has no row, an aggregate stands between them, or
another stratum does), they are derived again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from headwater.maintain.view import View
from headwater.rules.checked import Absent, Checked, Premise, RelationInfo, Stratum


def kept_together(views: Sequence[View], checked: Checked) -> list[Stratum]:
    """The strata of a program, those joined that come from one stratum which was derived.

    Where views that are not stored are followed, each stratum has its place among theirs, and none is joined.
    """
    strata, infos = checked.strata, checked.relations
    if checked.followed:
        return list(strata)
    groups = _groups(views, strata)
    joined = [_joined([strata[number] for number in group]) for group in groups]
    if len(joined) == len(strata) or not all(map(_sound, joined, [infos] * len(joined))):
        return list(strata)
    places = {name: number for number, stratum in enumerate(joined) for name in stratum.relations}
    reads = {
        number: {places[name] for name in _read(stratum) if name in places} - {number}
        for number, stratum in enumerate(joined)
    }
    try:
        return [joined[number] for number in TopologicalSorter(reads).static_order()]
    except CycleError:
        return list(strata)


def _groups(views: Sequence[View], strata: Sequence[Stratum]) -> list[list[int]]:
    """The numbers of strata that belong together, in order."""
    group = {number: [number] for number in range(len(strata))}
    for view in views:
        own = set(view.stratum.relations)
        if view.derived and len(own) > 1:
            met = [number for number, stratum in enumerate(strata) if not own.isdisjoint(stratum.relations)]
            together = sorted({each for number in met for each in group[number]})
            group.update(dict.fromkeys(together, together))
    return [members for number, members in group.items() if members[0] == number]


def _joined(strata: Sequence[Stratum]) -> Stratum:
    if len(strata) == 1:
        return strata[0]
    names = tuple(name for stratum in strata for name in stratum.relations)
    return Stratum(names, tuple(rule for stratum in strata for rule in stratum.rules), True)


def _sound(stratum: Stratum, infos: Mapping[str, RelationInfo]) -> bool:
    """Whether one fixpoint derives the stratum: nothing in it waits for another part to be complete."""
    own = set(stratum.relations)
    if len(own) == 1:
        return True
    waits = any(
        isinstance(item, Absent) and item.relation in own for rule in stratum.rules for item in rule.body
    )
    grouped = any((found := infos[name].aggregate) is not None and found.demand is None for name in own)
    return not waits and not grouped


def _read(stratum: Stratum) -> set[str]:
    return {
        item.relation for rule in stratum.rules for item in rule.body if isinstance(item, Premise | Absent)
    }
