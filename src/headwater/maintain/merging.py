"""Strata that have become one: their ranks are brought in line."""

from __future__ import annotations

from headwater.maintain.workspace import Redefined, Workspace


def lift_merged(redefined: Redefined, workspace: Workspace) -> None:
    """Where strata have become one, lift the ranks of each above those of all before it: then each count is that of
    the derivations from lower ranks, as it was that of those from lower strata."""
    if not redefined.merged:
        return
    exchange = workspace.exchange
    highest = exchange.swap(workspace.clock).clock
    for above, names in enumerate(redefined.merged):
        exchange.forget(names)
        for name in names:
            workspace.relations[name].lift(above * highest)
    workspace.clock = len(redefined.merged) * highest
