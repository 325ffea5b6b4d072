"""Where a text speaks of what: its rules by their ids, by the relations that they derive, and by all they mention.

An index is made when it is first asked for, and stays with the text, which never changes. A text that has lost some
rules has the index of before without them. So an edit looks at the rules that it is about, and not at all others.
Texts of rules alone are `gathered`: each rule that is added is a text, and of a thousand of them ten are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.language.program import Atom, Program, Rule
from headwater.rules.shapes import rule_atoms

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
    only_rules: bool
    """Whether there is nothing else in the text, facts included."""
    after: int
    """A number that is higher than those of all rules."""

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
            _only_rules(text),
            len(placed),
        )

    def names(self, name: str) -> bool:
        """Whether a rule has this id or label."""
        return name in self.ids or name in self.labels

    def first(self, relation: str) -> Atom | None:
        """The atom that first mentions a relation."""
        for _, rule in self.mentions.get(relation, ()):
            return next(atom for atom, _ in rule_atoms(rule) if atom.relation == relation)
        return None

    def _and(self, more: TextIndex) -> TextIndex:
        """The index of a text with the rules of another one behind its own; both have nothing else."""
        return replace(
            self,
            ids=_joined(self.ids, more.ids, self.after),
            labels=self.labels | more.labels,
            heads=_joined(self.heads, more.heads, self.after),
            mentions=_joined(self.mentions, more.mentions, self.after),
            after=self.after + more.after,
        )

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
    if len(ids) == 1:
        (id,) = ids
        return [rule for text in texts for _, rule in TextIndex.of(text).ids.get(id, ())]
    return _found((TextIndex.of(text).ids for text in texts), frozenset(ids))


def rules_for(texts: Sequence[Program], relations: Collection[str]) -> list[Rule]:
    """The rules, and facts, that derive rows of some relations, in order."""
    if len(relations) == 1:
        (name,) = relations
        return [rule for text in texts for _, rule in TextIndex.of(text).heads.get(name, ())]
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


def gathered(texts: list[Program]) -> list[Program]:
    """The texts, of which the last are one with those before them that are not larger, if all are rules alone."""
    while len(texts) > 1:
        one, other = texts[-2:]
        first, second = TextIndex.of(one), TextIndex.of(other)
        if not (first.only_rules and second.only_rules and len(one.rules) <= len(other.rules)):
            break
        both = replace(one, rules=(*one.rules, *other.rules))
        both.__dict__["_index"] = first._and(second)
        texts = [*texts[:-2], both]
    return texts


def mentioned(rule: Rule) -> frozenset[str]:
    """The relations that a rule mentions; looked for once."""
    known: frozenset[str] | None = rule.__dict__.get("_mentioned")
    if known is None:
        known = rule.__dict__["_mentioned"] = frozenset(atom.relation for atom, _ in rule_atoms(rule))
    return known


def _heads(rule: Rule) -> set[str]:
    return {head.relation for head in rule.heads}


def _by_name(found: Iterable[tuple[str, PlacedRule]]) -> Placed:
    named: dict[str, list[PlacedRule]] = {}
    for name, placed in found:
        named.setdefault(name, []).append(placed)
    return {name: tuple(rules) for name, rules in named.items()}


def _joined(first: Placed, second: Placed, shift: int) -> Placed:
    found = dict(first)
    for name, rules in second.items():
        found[name] = (*found.get(name, ()), *((place + shift, rule) for place, rule in rules))
    return found


def _only_rules(text: Program) -> bool:
    others = (text.declarations, text.tables, text.directives, text.queries, text.active)
    return not any(others) and all(rule.body for rule in text.rules)


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
