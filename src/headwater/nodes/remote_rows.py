"""Rows that are on nodes, brought to the driver: all of a relation, those with some values, as files, or for a goal.

Whoever drives nodes says how they are asked (`Ask`): again, if some are lost meanwhile.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from headwater.errors import DataError, SparkError, StoreError
from headwater.maintain.goals import GoalStatistics, Means, evaluate_goal
from headwater.nodes.messages.message import Answer, Command
from headwater.nodes.messages.reading import Count, Export, FetchRows
from headwater.nodes.nodes import Nodes
from headwater.nodes.row_tables import pack, unpack
from headwater.plan.goals import GoalProgram, brought
from headwater.plan.goals.adorned import Adorned
from headwater.plan.steps import Ints
from headwater.store import Store
from headwater.values.codec import Codec
from headwater.values.layout import Layout


class Ask(Protocol):
    """Puts one command to all nodes, and gives the answer of each."""

    def __call__(self, command: Command[Answer], /) -> list[Answer]: ...


FetchMatching = Callable[[str, Codec, tuple[int, ...], Ints | None], Ints]
"""Rows of a relation, in codes of a codec: all, or those with one of some combinations of values in some columns."""


def refuse_closed(nodes: Nodes, user: object) -> None:
    """Refuse what is asked of nodes that are gone, or hold another database."""
    if nodes.user is not user:
        raise StoreError("closed", "this database is closed", hint="connect again")


def not_on_nodes() -> DataError:
    """What is said of that which only an engine in this process can do."""
    return DataError(
        "on-nodes",
        "the rows of this database are on nodes, where this is not available",
        hint="close it, and open its state in one process: connect(path)",
    )


def counted(ask: Ask, name: str) -> int:
    """How many rows all nodes have together."""
    return sum(part.rows for part in ask(Count(name)))


def fetched(
    ask: Ask,
    layout: Layout,
    name: str,
    codec: Codec,
    columns: tuple[int, ...] = (),
    values: Ints | None = None,
) -> Ints:
    """All rows, or those that have one of the given combinations of values in some columns."""
    types, command = layout.code_types, FetchRows(name)
    if values is not None:
        codes = layout.codes(columns)
        command = FetchRows(name, columns, pack(codec, values, [types[code] for code in codes]))
    parts = [unpack(codec, part.rows, types) for part in ask(command) if part.rows is not None]
    return np.concatenate([np.empty((0, len(types)), np.int64), *parts])


def exported(ask: Ask, nodes: Nodes, store: Store, name: str, labels: bool) -> list[str]:
    """Files of a relation's rows as they are now, a Parquet file from each node, for Spark to read.

    They are removed when the database is closed. Refused where Spark has no core left to read them with: it would
    wait for ever.
    """
    if nodes.hosting.spare(nodes.size) <= 0:
        raise SparkError(
            "no-free-core",
            f"all cores of the session run nodes, so that Spark cannot read {name}",
            hint="use fewer nodes, or a session with a core more than there are nodes",
        )
    folder = store.path / "exports" / f"{name}-{uuid.uuid4().hex[:12]}"
    folder.mkdir(parents=True)
    return [part.file for part in ask(Export(name, str(folder), labels)) if part.file is not None]


def evaluate_remotely(
    fetch: FetchMatching, program: GoalProgram, facts: Mapping[str, Ints], means: Means
) -> tuple[Ints, GoalStatistics]:
    """The answers to a goal: rows are brought here as they are asked for."""
    away = brought(program, (name for name in program.stored if name not in facts))

    def bring(call: Adorned, values: Ints | None) -> Ints:
        return fetch(call.relation, means.codec, call.bound, values)

    return evaluate_goal(away, {}, facts, means, bring)
