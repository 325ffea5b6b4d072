"""A proof as users read it: a tree of rows, each with the rule that derives it from those below."""

from __future__ import annotations

from typing import Any, NamedTuple

from headwater import notebook
from headwater.plan.instances import Derivation, Instances
from headwater.plan.stored_rows import CANDIDATES, Key
from headwater.provenance.graph.proof import Settled, contracted, leaves
from headwater.provenance.show.lines import Line, plain, tree
from headwater.provenance.show.wording import Fact, Wording
from headwater.wording import counted

MOST_PREMISES_SHOWN = 12
"""Of more premises than this (those of an aggregate), a tree shows the first ones."""


class ProofStep(NamedTuple):
    """One derivation of a proof: `rule` is its label; `absent` says in words which rows must not be there."""

    fact: Fact
    text: str
    rule: str
    premises: tuple[Fact, ...]
    absent: tuple[str, ...]


class _Place(NamedTuple):
    """A place in the tree: a row, a remark on one, or a row shown before."""

    key: Key | None
    remark: str = ""


class Proof:
    """The chosen derivations of a row and of all it rests on. `size` counts them, repeated ones each time."""

    def __init__(self, key: Key, settled: Settled, wording: Wording, instances: Instances, *, shortest: bool):
        self._key = key
        self._settled = contracted(settled, key, wording.passes_on)
        self._wording = wording
        self._instances = instances
        self._order = self._ordered()
        self._facts = wording.facts(
            {key, *self._order, *(p for d in self._order.values() for p in (*d.premises, *d.absent))}
        )
        self.size = settled.sizes.get(key, 0)
        self.shortest = shortest

    def _ordered(self) -> dict[Key, Derivation]:
        """The derivations, each after those of its premises."""
        order: dict[Key, Derivation] = {}
        todo: list[tuple[Key, bool]] = [(self._key, False)]
        seen: set[Key] = set()
        while todo:
            key, done = todo.pop()
            derivation = self._settled.chosen.get(key)
            if derivation is None:
                continue
            if done:
                order[key] = derivation
            elif key not in seen:
                seen.add(key)
                todo.append((key, True))
                todo += [(premise, False) for premise in reversed(derivation.premises)]
        return order

    @property
    def steps(self) -> tuple[ProofStep, ...]:
        """The derivations in an order in which each comes after those of its premises."""
        return tuple(
            ProofStep(
                self._facts[key],
                self._words(key),
                self._wording.label(derivation.rule),
                tuple(self._facts[premise] for premise in derivation.premises),
                tuple(self._wording.no(none, self._facts[none]) for none in derivation.absent),
            )
            for key, derivation in self._order.items()
        )

    @property
    def base(self) -> frozenset[Fact]:
        """The base rows that the proof rests on."""
        return frozenset(self._facts[key] for key in leaves(self._settled, self._key))

    def _words(self, key: Key) -> str:
        return self._wording.words(key, self._facts[key])

    def lines(self) -> list[Line]:
        """The tree. A row that has a proof further up is not proved again."""
        shown: set[Key] = set()
        rules: set[str] = set()

        def line(place: _Place) -> Line:
            key = place.key
            if key is None:
                return [(place.remark, "italic")]
            derivation = self._settled.chosen.get(key)
            if derivation is None:
                given = "  given" if key[0] in self._wording.given else ""
                return [(self._words(key), "green"), (given, "dim")]
            words: Line = [(self._words(key), "bold")]
            if key in shown:
                return [*words, ("  as above", "dim")]
            label, text = self._wording.label(derivation.rule), self._wording.text(derivation.rule)
            how = f"  by {label}" + (f": {text}" if text and label not in rules else "")
            if text:
                rules.add(label)
            if label == "given" and not text:
                how = "  given"
            return [*words, (how, "dim"), *self._remarks(derivation)]

        def below(place: _Place) -> list[_Place]:
            derivation = None if place.key is None else self._settled.chosen.get(place.key)
            if derivation is None or place.key in shown:
                return []
            shown.add(derivation.head)
            if (
                derivation.head[0] in self._wording.given.values()
                and derivation.rule.label in self._wording.given
            ):
                return []
            rows = [_Place(premise) for premise in derivation.premises[:MOST_PREMISES_SHOWN]]
            more = len(derivation.premises) - MOST_PREMISES_SHOWN
            if more > 0:
                rows.append(_Place(None, f"and {counted(more, 'more row')}"))
            return rows + [
                _Place(None, self._wording.no(none, self._facts[none]))
                for none in derivation.absent[:MOST_PREMISES_SHOWN]
            ]

        return tree(_Place(self._key), line, below)

    def _remarks(self, derivation: Derivation) -> Line:
        info = self._wording.infos[derivation.head[0]]
        if info.aggregate is not None:
            return [(f"  ({info.aggregate.function} of {counted(derivation.bindings, 'binding')})", "cyan")]
        if info.selections:
            best = " or ".join(dict.fromkeys(selection.best for selection in info.selections))
            others = (
                len(self._instances.rows.group(derivation.head, info.selections[0].group, CANDIDATES)) - 1
            )
            return [(f"  ({best}; {counted(others, 'other candidate')})", "cyan")]
        return []

    def _repr_html_(self) -> str:
        return notebook.lines(self.lines())

    def __str__(self) -> str:
        return plain(self.lines())

    def __rich__(self) -> Any:
        from headwater.provenance.show.lines import rich_text

        return rich_text(self.lines())

    def to_json(self) -> dict[str, Any]:
        """The steps as plain data."""
        return {
            "shortest": self.shortest,
            "size": self.size,
            "steps": [
                {
                    "row": step.text,
                    "rule": step.rule,
                    "premises": [self._words(premise) for premise in derivation.premises],
                    "absent": list(step.absent),
                }
                for step, derivation in zip(self.steps, self._order.values(), strict=True)
            ],
        }
