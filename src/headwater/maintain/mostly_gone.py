"""Which views lose so much that new relations had better take the place of theirs.

Where a version takes most of what views rest on, deriving what is left into empty relations costs less than taking
rows away, and less than deriving them in their places: there is nothing to mark, to compare or to remove. But nobody
knows then which rows of such a relation were lost, unless all are compared. So those that read it must be derived
anew as well, and whether that is worth while is seen for all views together, before the first is brought up to date.

What will be left is estimated from the base rows that were lost: of a rule's derivations, the part that is left of
the premise that loses most; of a view's rows, that of its derivations from lower strata. An estimate that is wrong
costs time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.maintain.definition import Definition
from headwater.maintain.view import View
from headwater.maintain.workspace import Delta, Left, Workspace

MOST_LEFT, MOST_LEFT_OF_RECURSION = 0.72, 0.62
"""The part of a view that may be left where it is derived into new relations, and of one that is recursive (measured
on the confederations of green-2007, chains and rings: with more left, counting off what is lost costs less)."""
FEWEST_LOST = 256
"""Below this many lost base rows it is never worth asking."""


def mostly_gone(
    concerned: Sequence[View],
    definition: Definition,
    deltas: Mapping[str, Delta],
    workspace: Workspace,
) -> Mapping[str, Left]:
    """The relations of views that will lose most of their rows to changes of base relations, and are read only by
    views of which that is true too; with what will be left of them. `concerned` are the views of the definition that
    the changes may reach, in order: nothing else is looked at."""
    if sum(delta.lost.shape[0] for delta in deltas.values()) < FEWEST_LOST or not workspace.exchange.alone:
        return {}
    left = {
        name: 1 - delta.lost.shape[0] / workspace.sizes.size(name)
        for name, delta in deltas.items()
        if delta.lost.shape[0]
    }
    if min(left.values()) > MOST_LEFT:
        return {}
    for view in concerned:
        left.update(dict.fromkeys(view.rules.own, _left_of(view, left, workspace)))
    gone: dict[str, Left] = {}
    once = _derived_once(concerned, deltas, workspace)
    views, readers = definition.views, definition.readers
    for view in reversed(concerned):
        most_left = MOST_LEFT_OF_RECURSION if view.rules.recursive else MOST_LEFT
        if _can_start_over(view) and all(left[name] <= most_left for name in view.rules.own):
            read_by = (views[place] for name in view.rules.own for place in readers.get(name, ()))
            if all(reader.rules.own <= gone.keys() for reader in read_by):
                for name in view.rules.own:
                    gone[name] = Left(int(left[name] * workspace.sizes.size(name)), name in once)
    needed = sum(left[name] * workspace.relations[name].nbytes for name in gone)
    return gone if workspace.budget.has(int(needed)) else {}


def _derived_once(views: Sequence[View], deltas: Mapping[str, Delta], workspace: Workspace) -> frozenset[str]:
    """The relations whose rows will have one derivation each: it is among those that there were, and no row had two.

    That is so where nothing that a view reads has gained a row, and nothing that it denies has lost one. A view that
    is derived anew may gain rows whatever happens: it was left at what so many rounds gave, say.
    """
    gaining = {name for name, delta in deltas.items() if delta.gained.shape[0]}
    changing = set(deltas)
    once: set[str] = set()
    for view in views:
        if changing.isdisjoint(view.rules.inputs):
            continue
        changing |= view.rules.own
        plain = view.grouping is None and not view.choosers and not view.rules.demanded
        gains = any(not gaining.isdisjoint(read) for read in view.rules.read.values())
        if not plain or not _settled(view) or gains or not changing.isdisjoint(view.rules.denied):
            gaining |= view.rules.own
        elif not view.rules.recursive and all(workspace.relations[name].once for name in view.rules.own):
            once |= view.rules.own
    return frozenset(once)


def _can_start_over(view: View) -> bool:
    return _settled(view) and view.strategy.starts_over and view.grouping is None and not view.propagated


def _settled(view: View) -> bool:
    """Whether a view holds what follows from its rules, so that it need only follow changes."""
    return view.derived and view.redefined is None and view.anew is None


def _left_of(view: View, left: Mapping[str, float], workspace: Workspace) -> float:
    """The part of a view's derivations from lower strata that is left, about."""
    before = after = 0.0
    for rule in view.rules.rules:
        read = view.rules.read[rule.label]
        if view.rules.own.isdisjoint(read):
            derivations = min(map(workspace.sizes.size, read))
            before += derivations
            after += derivations * min(left.get(name, 1.0) for name in read)
    return after / before if before else 1.0
