"""How views are maintained, in words: where, rules, join orders, strategy, sizes, costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater import notebook
from headwater.catalog import Catalog
from headwater.language.datalog.render import render
from headwater.local.at_rest import active_line
from headwater.maintain.engine import Engine
from headwater.maintain.view import View
from headwater.memory.budget import MemoryUse
from headwater.rules.checked import UNIT, Kind, Premise, RelationInfo, Stratum
from headwater.rules.shapes import active_atoms
from headwater.version.statistics import StratumStatistics, VersionStatistics


@dataclass(frozen=True)
class Explanation:
    """Lines of text; `str` and a terminal show them as they are."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return notebook.lines([(line, "")] for line in self.lines)


@dataclass
class RelationFacts:
    """The size of a relation, and the distinct keys of its indexes."""

    rows: int = 0
    stored: int = 0
    nbytes: int = 0
    indexes: dict[tuple[int, ...], int] = field(default_factory=dict)


@dataclass
class ViewFacts:
    """A stratum: its relations and strategy, and for each rule its text and join orders."""

    relations: tuple[str, ...]
    recursive: bool
    strategy: str
    rules: list[tuple[str, str, list[str]]]


@dataclass
class Facts:
    """What there is to explain; of several nodes, together. `place` says where it is, in lines."""

    infos: Mapping[str, RelationInfo]
    relations: dict[str, RelationFacts]
    views: list[ViewFacts]
    place: list[str] = field(default_factory=list)
    propagated: Mapping[str, list[str]] = field(default_factory=dict)
    """How changes are computed of relations that are not stored, and of those that read them, in lines."""

    def add(self, relations: Mapping[str, RelationFacts], once: Iterable[str] = ()) -> None:
        """Add the sizes of another node's part; relations of `once` are there in full and add only bytes."""
        for name, part in relations.items():
            mine = self.relations[name]
            mine.nbytes += part.nbytes
            if name not in once:
                mine.rows += part.rows
                mine.stored += part.stored
                for key, number in part.indexes.items():
                    mine.indexes[key] = mine.indexes.get(key, 0) + number


def facts_of(engine: Engine) -> Facts:
    """What an engine has to say."""
    workspace = engine.workspace
    relations = {}
    for name, relation in workspace.relations.items():
        keys = {key: index.keys for key, index in relation.indexes.items()}
        relations[name] = RelationFacts(relation.visible, relation.stored, relation.nbytes, keys)
    views = [_view_facts(view) for view in engine.views]
    return Facts(workspace.infos, relations, views, propagated=engine.unstored.explained())


def _view_facts(view: View) -> ViewFacts:
    rules = []
    for rule in view.rules.rules:
        orders = []
        for position, item in enumerate(() if view.propagated else rule.body):
            if isinstance(item, Premise) and item.relation != UNIT:
                steps = view.rules.plan(rule, position).description
                orders.append(f"on a change of {item.relation}: {'; '.join(steps)}")
        rules.append((rule.label, rule.text, orders))
    strategy = "grouping" if view.grouping is not None else view.strategy.describe(view.stratum)
    return ViewFacts(view.stratum.relations, view.stratum.recursive, strategy, rules)


def explain(
    facts: Facts,
    catalog: Catalog,
    statistics: VersionStatistics,
    memory: MemoryUse,
    name: str | None,
) -> Explanation:
    """Explain the stratum of a view, or all strata and base relations."""
    lines = list(facts.place)
    if name is None or catalog.info(name).base:
        for relation in [name] if name is not None else catalog.relations:
            info = catalog.info(relation)
            if info.base:
                size = facts.relations[relation]
                lines.append(
                    f"base {relation}({', '.join(info.columns)}): {size.rows:,} rows, {size.nbytes:,} bytes"
                )
                if info.key is not None:
                    lines.append(f"  key: {', '.join(info.columns[c] for c in info.key)}")
                if info.lifetime is not None:
                    lines.append(f"  lifetime: {info.lifetime:g} s")
                if info.size is not None:
                    lines.append(f"  size: at most {info.size:,} rows")
    for view in facts.views:
        if name is None or name in view.relations:
            lines += _view(facts, view, statistics.strata)
    for stratum in catalog.program.virtual:
        if name is None or name in stratum.relations:
            lines += _unstored(facts, stratum, catalog, statistics.strata)
    lines += _active(catalog, name)
    if name is None:
        lines.append(f"memory: {memory}")
        lines += [f"rewrite: {note}" for note in catalog.program.notes]
    for fallback in statistics.fallbacks:
        lines.append(f"last version: {fallback}")
    return Explanation(tuple(lines))


def _active(catalog: Catalog, name: str | None) -> list[str]:
    """The active rules that have to do with a relation, or all."""
    return [
        active_line(str(rule.id), rule.text or render(rule))
        for rule in catalog.active
        if name is None or any(atom.relation == name for atom in active_atoms(rule))
    ]


def _unstored(
    facts: Facts, stratum: Stratum, catalog: Catalog, costs: Iterable[StratumStatistics]
) -> list[str]:
    """A stratum of which nothing is kept; helping relations only with those that they help."""
    infos = catalog.program.relations
    names = [name for name in stratum.relations if not infos[name].internal]
    if not names:
        return []
    watched = any(infos[name].kind is Kind.WATCHED for name in names)
    how = "watched, changes computed by propagation" if watched else "virtual, evaluated when somebody asks"
    lines = [f"view {', '.join(names)}: {how}"]
    lines += [f"  rule {rule.label}: {rule.text}" for rule in stratum.rules if rule.text]
    told = [line for name in names if watched for line in facts.propagated.get(name, ())]
    lines += [f"  {line}" for line in dict.fromkeys(told)]
    return lines + _propagation(stratum.relations, costs)


def _propagation(relations: tuple[str, ...], costs: Iterable[StratumStatistics]) -> list[str]:
    """What it cost to compute the last changes of a stratum without its rows."""
    cost = next((cost for cost in costs if not set(cost.relations).isdisjoint(relations)), None)
    if cost is None or cost.propagation is None:
        return []
    found = cost.propagation
    return [
        f"  last version: {cost.seconds * 1e3:.3f} ms, {found.calls:,} calls in {found.rounds:,} rounds,"
        f" {found.potential:,} potential updates, {found.filtered:,} filtered, {found.disqualified:,} disqualified,"
        f" {found.added:,} added, {found.removed:,} removed; {found.queries:,} queries,"
        f" {found.memo_rows:,} rows of memo tables, {cost.touched:,} rows looked at"
    ]


def _view(facts: Facts, view: ViewFacts, costs: Iterable[StratumStatistics]) -> list[str]:
    names = [name for name in view.relations if not facts.infos[name].internal]
    shown = ", ".join(names) or f"(internal) {', '.join(view.relations)}"
    lines = [f"view {shown}: {'recursive, ' if view.recursive else ''}strategy {view.strategy}"]
    for name in view.relations:
        size, info = facts.relations[name], facts.infos[name]
        extra = f" of {size.stored:,} candidates" if info.selections else ""
        lines.append(f"  {name}({', '.join(info.columns)}): {size.rows:,} rows{extra}, {size.nbytes:,} bytes")
        for key, keys in size.indexes.items():
            lines.append(f"    index({', '.join(info.layout.names(key))}): {keys:,} keys")
        for selection in info.selections:
            group = ", ".join(info.columns[c] for c in selection.group)
            lines.append(
                f"    only the {selection.best} of {info.columns[selection.value]} per ({group}) counts"
            )
    for label, text, orders in view.rules:
        lines.append(f"  rule {label}: {text}" if text else f"  rule {label}")
        lines += [f"    {order}" for order in orders]
    costs = tuple(costs)
    lines += _propagation(view.relations, costs)
    cost = next((cost for cost in costs if cost.relations == view.relations and not cost.propagation), None)
    if cost is not None:
        lines.append(
            f"  last version: {cost.seconds * 1e3:.3f} ms, {cost.rounds} rounds, {cost.touched:,} rows looked at,"
            f" {sum(cost.derivations.values()):,} derivations, {cost.died:,} died, {cost.revived:,} came back"
        )
        for label, number in cost.derivations.items():
            lines.append(f"    {label}: {number:,} derivations")
    return lines
