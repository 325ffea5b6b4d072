"""Where a text speaks of what: its rules by their ids, by the relations that they derive, and by all they mention.

An index is made when it is first asked for, and stays with the text, which never changes. A text that has lost some
rules has the index of before without them. So an edit looks at the rules that it is about, and not at all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.language.program import Atom, Program, Rule
from headwater.rules.terms import atoms

PlacedRule = tuple[int, Rule]
"""A rule, and a number that is higher than those of the rules before it in the text."""
Placed = Mapping[str, tuple[PlacedRule, ...]]


@dataclass(frozen=True)
class TextIndex:
    """The rules of a text, facts included, by several names."""

    ids: Placed
    labels: frozenset[str]
    heads: Placed
    mentions: Placed
    """By each relation in a head or a body."""
    declared: frozenset[str]

    @staticmethod
    def of(text: Program) -> TextIndex:
        """The index of a text."""
        known: TextIndex | None = text.__dict__.get("_index")
        if known is None:
            known = text.__dict__["_index"] = TextIndex._made(text)
        return known

    @staticmethod
    def _made(text: Program) -> TextIndex:
        placed = list(enumerate(text.rules))
        return TextIndex(
            _by_name((str(rule.id), (place, rule)) for place, rule in placed if rule.id is not None),
            frozenset(rule.label for rule in text.rules if rule.label is not None),
            _by_name((name, (place, rule)) for place, rule in placed for name in _heads(rule)),
            _by_name((name, (place, rule)) for place, rule in placed for name in mentioned(rule)),
            frozenset(each.relation for each in text.declarations),
        )

    def names(self, name: str) -> bool:
        """Whether a rule has this id or label."""
        return name in self.ids or name in self.labels

    def first(self, relation: str) -> Atom | None:
        """The atom that first mentions a relation."""
        for _, rule in self.mentions.get(relation, ()):
            return next(atom for atom in _atoms(rule) if atom.relation == relation)
        return None

    def _without(self, gone: Iterable[PlacedRule]) -> TextIndex:
        ids, heads, mentions = dict(self.ids), dict(self.heads), dict(self.mentions)
        gone = tuple(gone)
        for place, rule in gone:
            _take(ids, str(rule.id), place)
            for name in _heads(rule):
                _take(heads, name, place)
            for name in mentioned(rule):
                _take(mentions, name, place)
        labels = self.labels.difference(rule.label for _, rule in gone if rule.label is not None)
        return replace(self, ids=ids, labels=labels, heads=heads, mentions=mentions)


def rules_with(texts: Sequence[Program], ids: Collection[str]) -> list[Rule]:
    """The rules of some ids, in order."""
    return _found((TextIndex.of(text).ids for text in texts), frozenset(ids))


def rules_for(texts: Sequence[Program], relations: Collection[str]) -> list[Rule]:
    """The rules, and facts, that derive rows of some relations, in order."""
    return _found((TextIndex.of(text).heads for text in texts), frozenset(relations))


def losing(text: Program, ids: Collection[str]) -> Program:
    """A text without the rules of some ids; itself if it has none of them."""
    index = TextIndex.of(text)
    gone = [placed for id in ids for placed in index.ids.get(id, ())]
    if not gone:
        return text
    left = replace(text, rules=tuple(rule for rule in text.rules if rule.id not in ids))
    if left.rules:
        left.__dict__["_index"] = index._without(gone)
    return left


def mentioned(rule: Rule) -> frozenset[str]:
    """The relations of a rule's heads and body; looked for once."""
    known: frozenset[str] | None = rule.__dict__.get("_mentioned")
    if known is None:
        known = rule.__dict__["_mentioned"] = frozenset(atom.relation for atom in _atoms(rule))
    return known


def _atoms(rule: Rule) -> Iterator[Atom]:
    """The atoms of the heads, then those of the body."""
    yield from rule.heads
    for atom, _ in atoms(rule.body):
        yield atom


def _heads(rule: Rule) -> set[str]:
    return {head.relation for head in rule.heads}


def _by_name(found: Iterable[tuple[str, PlacedRule]]) -> Placed:
    named: dict[str, list[PlacedRule]] = {}
    for name, placed in found:
        named.setdefault(name, []).append(placed)
    return {name: tuple(rules) for name, rules in named.items()}


def _take(known: dict[str, tuple[PlacedRule, ...]], name: str, place: int) -> None:
    left = tuple(placed for placed in known[name] if placed[0] != place)
    if left:
        known[name] = left
    else:
        del known[name]


def _found(texts: Iterable[Placed], names: frozenset[str]) -> list[Rule]:
    """The rules of some names, text by text, each in its order."""
    found: list[Rule] = []
    for known in texts:
        if known and not known.keys().isdisjoint(names):
            every = {place: rule for name in names & known.keys() for place, rule in known[name]}
            found += [every[place] for place in sorted(every)] if len(every) > 1 else every.values()
    return found
