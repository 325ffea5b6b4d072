"""What bringing a view up to date cost beyond the change, as events: so that nothing is silently slow."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.events import Event, Indexed, Recomputed, Scanned, SearchedGroup, SortedValues
from headwater.maintain.view import View
from headwater.maintain.workspace import Workspace
from headwater.rules.checked import UNIT

LARGE_GROUP = 10_000
"""Looking for a new best among more rows than this is worth saying."""


def choices(view: View, events: list[Event] | None) -> int:
    """How many rows were looked at for the best ones; what is worth saying of that goes to `events`, if there are any
    to be told."""
    touched = 0
    for chooser in view.choosers.values():
        touched += chooser.touched
        if events is not None and chooser.largest > LARGE_GROUP:
            events.append(SearchedGroup(chooser.name, chooser.largest))
        if events is not None and chooser.ordered_values > LARGE_GROUP:
            events.append(SortedValues(chooser.name, chooser.ordered_values))
        chooser.touched = chooser.largest = chooser.ordered_values = 0
    return touched


def looks(view: View, workspace: Workspace, scans: Mapping[str, int]) -> list[Event]:
    """The relations that were scanned for a view since `scans`, and those that were indexed."""
    executor = workspace.executor
    scanned = [
        Scanned(name, view.stratum.relations)
        for name, count in executor.scans.items()
        if count > scans.get(name, 0) and name != UNIT
    ]
    indexed = [Indexed(name, workspace.infos[name].layout.names(key)) for name, key in executor.built]
    return [*scanned, *indexed]


def derived_again(view: View, workspace: Workspace) -> list[Event]:
    """That a view is derived again, if it has rows already and nobody else says so."""
    names = sorted(name for name in view.rules.own if not workspace.infos[name].internal)
    stored = any(workspace.relations[name].stored for name in view.rules.own)
    if names and stored and (view.strategy.ranked or not view.stratum.recursive):
        return [Recomputed(tuple(names), "rules-changed")]
    return []
