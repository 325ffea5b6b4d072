"""The derivation graph as users hold it: rows and derivations in their words, as data and as a picture."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from headwater.notebook import visible
from headwater.plan.stored_rows import Key
from headwater.provenance.graph.graph import Graph
from headwater.provenance.show.lines import Line, plain
from headwater.provenance.show.wording import Fact, Wording, json_fact
from headwater.wording import counted


class PictureRow(NamedTuple):
    """A row of the graph. `kind` is base, given (a view's row from outside), view, or part (of a rule: an aggregate
    in its body, say); `looked_into` is false where limits ended the search."""

    text: str
    fact: Fact
    kind: str
    looked_into: bool


class Arrow(NamedTuple):
    """A derivation: the rule's label and text, and rows by their place in the list of rows."""

    rule: str
    text: str
    head: int
    premises: tuple[int, ...]
    absent: tuple[str, ...]
    remark: str


class DerivationGraph:
    """All derivations that were found, cycles included. `more` says what was left out: rows not looked into, and
    derivations of those that were."""

    def __init__(self, graph: Graph, wording: Wording):
        self._graph = graph
        self._wording = wording
        self._keys = graph.keys()
        self._places = {key: place for place, key in enumerate(self._keys)}
        self.more = {"rows": len(graph.waiting), "derivations": graph.cut}

    @cached_property
    def rows(self) -> tuple[PictureRow, ...]:
        """The row that was asked about, those it is derived from, and so on."""
        facts = self._wording.facts(self._keys)
        return tuple(
            PictureRow(
                self._wording.words(key, facts[key]),
                facts[key],
                self._kind(key),
                key not in self._graph.waiting,
            )
            for key in self._keys
        )

    def _kind(self, key: Key) -> str:
        if key[0] in self._wording.given:
            return "given"
        if key in self._graph.base:
            return "base"
        return "view" if self._wording.shown(key[0]) else "part"

    @cached_property
    def derivations(self) -> tuple[Arrow, ...]:
        """Every rule with rows for its premises that derives one of the rows."""
        absent = self._wording.facts({none for derivation in self._graph for none in derivation.absent})
        found = []
        for derivation in self._graph:
            info = self._wording.infos[derivation.head[0]]
            remark = ""
            if info.aggregate is not None:
                remark = f"{info.aggregate.function} of {counted(derivation.bindings, 'binding')}"
            elif info.selections:
                remark = " or ".join(dict.fromkeys(selection.best for selection in info.selections))
            found.append(
                Arrow(
                    self._wording.label(derivation.rule),
                    self._wording.text(derivation.rule),
                    self._places[derivation.head],
                    tuple(self._places[key] for key in derivation.premises),
                    tuple(self._wording.no(none, absent[none]) for none in derivation.absent),
                    remark,
                )
            )
        return tuple(found)

    @cached_property
    def cycles(self) -> tuple[tuple[Fact, ...], ...]:
        """The sets of rows that derive each other, directly or through others."""
        facts = self._wording.facts(self._keys)
        return tuple(tuple(facts[key] for key in cycle) for cycle in self._graph.cycles())

    def summary(self) -> str:
        """How large it is, and what was left out."""
        graph = self._graph
        words = [f"{counted(graph.count, 'derivation')} of {counted(len(graph.derivations), 'row')}"]
        words.append(f"from {counted(len(graph.base), 'base row')}")
        cycles = len(graph.cycles())
        if cycles:
            words.append(f"with {counted(cycles, 'cycle')}")
        if graph.waiting or graph.cut:
            left = [counted(len(graph.waiting), "row") + " not looked into"] if graph.waiting else []
            left += [f"{graph.cut:,} more derivations"] if graph.cut else []
            words.append(f"(and {', '.join(left)})")
        return " ".join(words)

    def lines(self) -> list[Line]:
        """Each row with its derivations."""
        lines: list[Line] = []
        by_head: dict[int, list[Arrow]] = {}
        for arrow in self.derivations:
            by_head.setdefault(arrow.head, []).append(arrow)
        for head, arrows in by_head.items():
            lines.append([(self.rows[head].text, "bold")])
            for arrow in arrows:
                body = [*(self.rows[place].text for place in arrow.premises), *arrow.absent]
                remark = f"  ({arrow.remark})" if arrow.remark else ""
                lines.append([(f"  by {arrow.rule}{remark}: ", "dim"), (", ".join(body) or "nothing", "")])
        lines.append([(self.summary(), "dim")])
        return lines

    def __str__(self) -> str:
        return plain(self.lines())

    def __rich__(self) -> Any:
        from headwater.provenance.show.lines import rich_text

        return rich_text(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Rows and derivations as plain data; the first row is the one that was asked about.

        A part of a rule (of kind `part`) is a row of no relation that the user knows: it has a text only.
        """
        texts = {row.fact: row.text for row in self.rows}
        return {
            "rows": [
                {
                    "text": row.text,
                    **(json_fact(row.fact) if row.kind != "part" else {"relation": None, "values": None}),
                    "kind": row.kind,
                    "looked_into": row.looked_into,
                }
                for row in self.rows
            ],
            "derivations": [
                {
                    "rule": arrow.rule,
                    "text": arrow.text,
                    "head": arrow.head,
                    "premises": list(arrow.premises),
                    "absent": list(arrow.absent),
                    "remark": arrow.remark,
                }
                for arrow in self.derivations
            ],
            "cycles": [[texts.get(fact, str(fact)) for fact in cycle] for cycle in self.cycles],
            "more": dict(self.more),
        }

    def dot(self) -> str:
        """The graph for Graphviz: rows are boxes, derivations ellipses (as in green-2007, example 5)."""
        lines = ["digraph why {", "  rankdir=BT;", '  node [fontname="sans-serif", fontsize=11];']
        styles = {"base": ", style=filled, fillcolor=honeydew", "given": ", style=filled, fillcolor=honeydew"}
        for place, row in enumerate(self.rows):
            style = styles.get(row.kind, "") if row.looked_into else ", style=dashed"
            lines.append(f"  r{place} [shape=box, label={_quoted(row.text)}{style}];")
        for number, arrow in enumerate(self.derivations):
            lines.append(f"  d{number} [shape=ellipse, label={_quoted(arrow.rule)}];")
            lines.append(f"  d{number} -> r{arrow.head};")
            lines += [f"  r{place} -> d{number};" for place in dict.fromkeys(arrow.premises)]
            for which, absent in enumerate(arrow.absent):
                name = f"n{number}_{which}"
                lines.append(f"  {name} [shape=plaintext, label={_quoted(absent)}];")
                lines.append(f"  {name} -> d{number} [style=dashed];")
        return "\n".join([*lines, "}"]) + "\n"

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """A picture, without any other program: the row on top, what it is derived from below."""
        from headwater.provenance.show.svg import draw

        return draw(self)


def _quoted(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
