"""How views are maintained, in words: rules, join orders, strategy, sizes, costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.maintain.engine import UNIT, View
from headwater.maintain.statistics import StratumStatistics
from headwater.rules.checked import Premise

if TYPE_CHECKING:
    from headwater.database import Database


@dataclass(frozen=True)
class Explanation:
    """Lines of text; `str` and a terminal show them as they are."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)


def explain(database: Database, name: str | None) -> Explanation:
    """Explain the stratum of a view, or all strata and base relations."""
    lines: list[str] = []
    workspace = database.engine.workspace
    infos = workspace.infos
    if name is None or infos[name].base:
        for relation in [name] if name is not None else database.relations:
            info = infos[relation]
            if info.base:
                stored = workspace.relations[relation]
                lines.append(
                    f"base {relation}({', '.join(info.columns)}): {stored.visible:,} rows, {stored.nbytes:,} bytes"
                )
                if info.key is not None:
                    lines.append(f"  key: {', '.join(info.columns[c] for c in info.key)}")
                if info.lifetime is not None:
                    lines.append(f"  lifetime: {info.lifetime:g} s")
                if info.size is not None:
                    lines.append(f"  size: at most {info.size:,} rows")
    for view in database.engine.views:
        if name is None or name in view.stratum.relations:
            lines += _view(database, view)
    if name is None:
        lines += [f"rewrite: {note}" for note in database.program.notes]
    for fallback in database.statistics.fallbacks:
        lines.append(f"last version: {fallback}")
    return Explanation(tuple(lines))


def _view(database: Database, view: View) -> list[str]:
    workspace = database.engine.workspace
    names = [name for name in view.stratum.relations if not workspace.infos[name].internal]
    shown = ", ".join(names) or f"(internal) {', '.join(view.stratum.relations)}"
    strategy = "grouping" if view.grouping is not None else view.strategy.describe(view.stratum)
    lines = [f"view {shown}: {'recursive, ' if view.stratum.recursive else ''}strategy {strategy}"]
    for name in view.stratum.relations:
        relation = workspace.relations[name]
        info = workspace.infos[name]
        extra = f" of {relation.stored:,} candidates" if info.selections else ""
        lines.append(
            f"  {name}({', '.join(info.columns)}): {relation.visible:,} rows{extra}, {relation.nbytes:,} bytes"
        )
        for key, index in relation.indexes.items():
            lines.append(f"    index({', '.join(info.columns[c] for c in key)}): {index.keys:,} keys")
        for selection in info.selections:
            group = ", ".join(info.columns[c] for c in selection.group)
            lines.append(
                f"    only the {selection.best} of {info.columns[selection.value]} per ({group}) counts"
            )
    for rule in view.rules.rules:
        lines.append(f"  rule {rule.label}: {rule.text}" if rule.text else f"  rule {rule.label}")
        for position, item in enumerate(rule.body):
            if isinstance(item, Premise) and item.relation != UNIT:
                steps = view.rules.plan(rule, position).description
                lines.append(f"    on a change of {item.relation}: {'; '.join(steps)}")
    cost = _last(database, view)
    if cost is not None:
        lines.append(
            f"  last version: {cost.seconds * 1e3:.3f} ms, {cost.rounds} rounds, {cost.touched:,} rows looked at,"
            f" {sum(cost.derivations.values()):,} derivations, {cost.died:,} died, {cost.revived:,} came back"
        )
        for label, number in cost.derivations.items():
            lines.append(f"    {label}: {number:,} derivations")
    return lines


def _last(database: Database, view: View) -> StratumStatistics | None:
    for cost in database.statistics.strata:
        if cost.relations == view.stratum.relations:
            return cost
    return None
