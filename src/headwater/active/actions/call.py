"""`do call f(X, Y)`: a Python function, called once for each row.

The functions of rules are not asked: those give the same result for the same arguments for ever and may be called any
number of times. What is called here is meant to do something, and is registered as an action.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headwater.active.event import WatchEvent
from headwater.active.watch import Unperformable
from headwater.spelling import did_you_mean

ActionFunction = Callable[..., object]


def call(event: WatchEvent, name: str, functions: Mapping[str, ActionFunction]) -> None:
    """Call the function of that name for each row of the event. If it takes `version` or `change` by name, it is told
    the version, and whether the event is a row that came (`insert`) or went (`delete`)."""
    function = functions.get(name)
    if function is None:
        meant = did_you_mean(name, functions)
        raise Unperformable(
            "unknown-action",
            f"no action {name} is registered",
            hint=f"{meant or ''} db.register_action({name!r}, function), or connect(actions=...)".strip(),
        )
    takes = _named(function)
    for change, rows in (("delete", event.deleted), ("insert", event.inserted)):
        told: dict[str, Any] = {"version": event.version, "change": change}
        more = {key: told[key] for key in takes}
        for row in rows:
            function(*row, **more)


def _named(function: ActionFunction) -> list[str]:
    """Which of the things that can be told a function takes by name only."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not say
        return []
    names = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    return [name for name in ("version", "change") if name in names]
