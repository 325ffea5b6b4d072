"""Traces: all that was done to a simulated network and all that its nodes said, in a file that can be replayed.

A trace is text. The first line says what the network is made from; then each step (base rows that change, a run) and
after it the messages that were sent meanwhile; the last line has their number and a checksum of all before it. A
damaged or unfinished file is refused. Replaying does the steps again and compares message by message: the same trace,
or the first difference.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import DataError, HeadwaterError
from headwater.networks.node_settings import NodeSettings
from headwater.networks.recipe import NetworkRecipe
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.timeline import sent_message
from headwater.networks.topologies.topology import Link, Topology
from headwater.networks.transports.carrier import CarriedMessage
from headwater.networks.transports.simulator.simulated import SimulatedNodes
from headwater.values.label_text import literal, parse_literal

FORMAT = "headwater network trace 1"


@dataclass(frozen=True)
class ChangeStep:
    """Base rows changed: inserted (true) or deleted."""

    changes: tuple[tuple[bool, str, Row], ...]


@dataclass(frozen=True)
class RunStep:
    """The network ran, until all was quiet or up to a time; so many messages had been sent then."""

    until: float | None
    sent: int = 0


HistoryStep = ChangeStep | RunStep


@dataclass(frozen=True)
class ReplayedTrace:
    """What replaying a trace came to: how many messages it has, and the first that differs, if one does."""

    messages: int
    steps: int
    difference: str | None = None

    def __str__(self) -> str:
        if self.difference is not None:
            return f"differs: {self.difference}"
        return f"the same {self.messages:,} messages in {self.steps:,} steps"


def write_trace(
    path: Path, recipe: NetworkRecipe, history: Sequence[HistoryStep], messages: Sequence[CarriedMessage]
) -> None:
    """Write a trace, whole or not at all."""
    if path.exists() and not path.is_file():  # what takes its place would end a device
        raise DataError("cannot-write", f"cannot write {path}: it is no ordinary file")
    digest = hashlib.sha256()
    unfinished = path.parent / f"{path.name}.{os.getpid()}.part"
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            for line in _lines(recipe, history, messages):
                digest.update(line.encode() + b"\n")
                file.write(line + "\n")
            file.write(json.dumps({"messages": len(messages), "sha256": digest.hexdigest()}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        raise DataError("cannot-write", f"cannot write {path}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def replay_trace(path: Path) -> ReplayedTrace:
    """Do again what a trace says, and compare what nodes say."""
    lines = _checked_lines(path)
    try:
        recipe, steps, recorded = _read(lines)
    except (KeyError, ValueError, TypeError, IndexError, HeadwaterError) as error:
        raise _damaged(path, f"cannot be read: {error}") from None
    plan = recipe.plan()
    nodes = recipe.simulated(plan)
    for step in steps:
        take_step(nodes, step)
    said = [_message_line(message) for message in nodes.messages()]
    for number, (was, now) in enumerate(zip(recorded, said, strict=False)):
        if was != now:
            shown = _shown_line(plan, recipe, was), _shown_line(plan, recipe, now)
            return ReplayedTrace(len(recorded), len(steps), f"message {number}: {shown[0]}, now {shown[1]}")
    if len(recorded) != len(said):
        return ReplayedTrace(len(recorded), len(steps), f"{len(recorded):,} messages, now {len(said):,}")
    return ReplayedTrace(len(said), len(steps))


def take_step(nodes: SimulatedNodes, step: HistoryStep) -> None:
    """Do one step."""
    if isinstance(step, ChangeStep):
        nodes.change(step.changes)
    else:
        nodes.run(step.until)


# ------------------------------------------------------------------ lines


def _lines(
    recipe: NetworkRecipe, history: Sequence[HistoryStep], messages: Sequence[CarriedMessage]
) -> Iterator[str]:
    yield json.dumps(
        {
            "format": FORMAT,
            "settings": list(recipe.settings.fields()),
            "nodes": list(recipe.topology.nodes),
            "links": [list(link) for link in recipe.topology.links],
            "directed": recipe.topology.directed,
            "parts_of_ms": recipe.topology.parts_of_ms,
            "seed": recipe.seed,
        },
        ensure_ascii=False,
    )
    done = 0
    for step in history:
        if isinstance(step, ChangeStep):
            changes = [[comes, relation, literal(row)] for comes, relation, row in step.changes]
            yield json.dumps({"change": changes}, ensure_ascii=False)
        else:
            yield json.dumps({"run": step.until})
            yield from map(_message_line, messages[done : step.sent])
            done = step.sent
    yield from map(_message_line, messages[done:])


def _message_line(message: CarriedMessage) -> str:
    row = None if message.table < 0 else literal(message.row)
    fields = [message.time, message.sender, message.receiver, message.kind, message.bytes, message.table, row]
    return json.dumps(fields, ensure_ascii=False)


def _shown_line(plan: NodePlan, recipe: NetworkRecipe, line: str) -> str:
    time, sender, receiver, kind, size, table, row = json.loads(line)
    message = CarriedMessage(
        time, sender, receiver, kind, size, table, () if row is None else parse_literal(row)
    )
    return str(sent_message(plan, recipe.topology.nodes, message))


def _checked_lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError("missing-file", f"cannot read {path}: {error.strerror}") from None
    body, _, last = data.rstrip(b"\n").rpartition(b"\n")
    try:
        end = json.loads(last)
        digest = end["sha256"]
    except (ValueError, KeyError, TypeError):
        raise _damaged(path, "has no checksum at its end: it is unfinished, or no trace") from None
    if hashlib.sha256(body + b"\n").hexdigest() != digest:
        raise _damaged(path, "is damaged: its checksum is another")
    return body.decode(errors="replace").split("\n")


def _read(lines: Iterable[str]) -> tuple[NetworkRecipe, list[HistoryStep], list[str]]:
    first, *others = lines
    header = json.loads(first)
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}")
    topology = Topology(
        tuple(header["nodes"]),
        tuple(Link(*link) for link in header["links"]),
        header["directed"],
        header.get("parts_of_ms", 1),
    )
    settings = NodeSettings.of_fields(tuple(header["settings"])).checked()
    steps: list[HistoryStep] = []
    messages: list[str] = []
    for line in others:
        if line.startswith("["):
            messages.append(line)
        else:
            steps.append(_step(json.loads(line)))
    return NetworkRecipe(settings, topology, {}, (), header["seed"]), steps, messages


def _step(found: dict[str, Any]) -> HistoryStep:
    if "run" in found:
        return RunStep(found["run"])
    return ChangeStep(
        tuple((comes, relation, parse_literal(row)) for comes, relation, row in found["change"])
    )


def _damaged(path: Path, what: str) -> DataError:
    return DataError("damaged-trace", f"{path} {what}", hint="record it again with `headwater net trace`")
