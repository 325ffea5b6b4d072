"""Rules that come and go in a program that is checked already: only what they may change is checked again.

A text that adds and drops rules, and says nothing else, leaves most of a program as it is. What is checked are the
strata of the relations whose rules are others, with all that they read as declared relations of known types. If they
come out with the same columns, types and nulls as before, and without helping relations, nobody else can tell the
difference: their rules take their places in the program, and all else of it is the very same. Otherwise, and wherever
it is not plain that this is so, the answer is `None`: the whole is to be checked, which also says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from headwater.catalog.lone_rules import lone_rules, plainly_typed
from headwater.catalog.rule_edits import DROP_RULE, dropped_ids
from headwater.catalog.text_index import TextIndex, mentioned, rules_for, rules_with
from headwater.errors import HeadwaterError
from headwater.language.program import Declaration, Program, Rule, Variable
from headwater.rules.check import check
from headwater.rules.checked import Absent, Checked, CheckedRule, Kind, Premise, RelationInfo, Stratum
from headwater.rules.terms import atoms
from headwater.values.functions import Functions
from headwater.values.names import made_up


@dataclass(frozen=True)
class KnownStrata:
    """What edits have found out about a program, for as long as only rules change: `relations` are those of the
    program that it is about."""

    relations: Mapping[str, RelationInfo]
    lone: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """By the relations of a stratum, whether its rules can come and go one by one: see `lone_rules`."""
    named: set[str] = field(default_factory=set)
    """Relations whose columns have names for good, whatever rules come."""


@dataclass(frozen=True)
class RuleEdit:
    """A text that adds and drops rules, over a program in which the types of base relations are known without rules:
    `earlier` are the texts before, `current` those after it, as they are left."""

    before: Checked
    earlier: Sequence[Program]
    text: Program
    current: Sequence[Program]

    def checked(self, functions: Functions, known: KnownStrata) -> tuple[Checked, KnownStrata] | None:
        """The program with the edit, and what is known of it; `None` if all of it has to be checked."""
        changed = self._changed()
        if changed is None:
            return None
        places = self.before.places
        heads = {_head(rule) for rule in changed}
        if not heads <= places.keys() or not self._in_order(self.text.rules, places):
            return None
        strata = [self.before.strata[place] for place in sorted({places[head] for head in heads})]
        group = {name for stratum in strata for name in stratum.relations}
        if self._chosen(group, changed) or not self._named_alike(changed, known.named):
            return None
        if all(self._lone(stratum, known.lone) for stratum in strata):
            alone = lone_rules(self.before, strata, self._dropped, self.text.rules, functions)
            if alone is not None:
                return self.before.with_rules(alone), known
        rules = rules_for(self.current, group)
        read = {atom.relation for rule in (*rules, *changed) for atom, _ in atoms(rule.body)}
        if not self._plain(group, rules, read, self.current):
            return None
        part = self._check(group, rules, read - group, functions)
        merged = None if part is None else self._merged(group, part, places)
        return None if merged is None else (merged, KnownStrata(merged.relations))

    @cached_property
    def _dropped(self) -> frozenset[str]:
        return frozenset(dropped_ids(self.text))

    def _lone(self, stratum: Stratum, known: dict[tuple[str, ...], bool]) -> bool:
        """Whether nothing but its own rules says what the stratum is, each written rule is one of it, and no column
        takes nulls; found out once."""
        found = known.get(stratum.relations)
        if found is None:
            infos, group = self.before.relations, set(stratum.relations)
            rules = rules_for(self.earlier, group)
            read = {atom.relation for rule in rules for atom, _ in atoms(rule.body)}
            found = known[stratum.relations] = (
                self._plain(group, rules, read, self.earlier)
                and sorted(str(rule.id) for rule in rules) == sorted(rule.written for rule in stratum.rules)
                and not any(any(infos[name].nullable) for name in group)
                and all(infos[name].location is None for name in group)
            )
        return found

    def _named_alike(self, changed: Sequence[Rule], known: set[str]) -> bool:
        """Whether columns keep the names that they have from the variables of the rule that first mentions them."""
        asked = {name for rule in changed for name in mentioned(rule)} - known
        if not asked:
            return True
        texts, infos = [TextIndex.of(text) for text in self.current], self.before.relations
        known.update(name for name in asked if any(name in text.declared for text in texts))
        for name in asked - known:
            if name not in infos:
                return False
            if not self._dropped:  # what is new comes last
                if any(made_up((column,)) for column in infos[name].columns):
                    return False
                continue
            first = next((atom for text in texts if (atom := text.first(name)) is not None), None)
            if first is None:
                return False
            names = tuple(arg.name for arg in first.args if isinstance(arg, Variable))
            if names != infos[name].columns:
                return False
        return True

    def _changed(self) -> list[Rule] | None:
        """The rules that come and go; `None` if there is more to the text."""
        text = self.text
        if text.declarations or text.tables or text.queries or text.active or self.before.virtual:
            return None
        if any(directive.kind != DROP_RULE for directive in text.directives):
            return None
        dropped = self._dropped
        gone = rules_with(self.earlier, dropped) if dropped else []
        labels = {name for rule in text.rules for name in (rule.id, rule.label) if name is not None}
        taken = any(TextIndex.of(each).names(name) for name in labels for each in self.current[:-1])
        found = [*gone, *text.rules]
        plain = all(rule.body and len(rule.heads) == 1 and not rule.delete for rule in found)
        return found if plain and len(gone) == len(dropped) and not taken else None

    def _plain(
        self, group: set[str], rules: Sequence[Rule], read: set[str], texts: Sequence[Program]
    ) -> bool:
        """Whether the relations are such that nothing but their own rules, of these texts, says what they are."""
        infos, facades = self.before.relations, self.before.facades
        left = {_head(rule) for rule in rules}
        if left != group or any(len(rule.heads) != 1 for rule in rules) or not read <= infos.keys():
            return False
        for name in group | read:
            if not plainly_typed(infos[name]):
                return False
        tables = {table.relation for text in texts for table in text.tables}
        if not group.isdisjoint(facades) or not group.isdisjoint(tables):
            return False
        if any(infos[name].aggregate is not None or infos[name].kind is not Kind.STORED for name in group):
            return False
        return not any(name in note for note in self.before.notes for name in group)

    def _chosen(self, group: set[str], changed: Sequence[Rule]) -> bool:
        """Whether best rows are chosen of one of these views, or of one that a changed rule reads: how early that is
        done depends on who else reads it."""
        selected, infos = self.before.selecting, self.before.relations
        if not selected:
            return False
        read = {atom.relation for rule in changed for atom, _ in atoms(rule.body)}
        names = {name for name in group | read if name in infos and not infos[name].base}
        return any(
            item.relation in names
            for stratum in self.before.strata
            if not selected.isdisjoint(stratum.relations)
            for rule in stratum.rules
            for item in _reading(rule)
        )

    @staticmethod
    def _in_order(new: Iterable[Rule], places: Mapping[str, int]) -> bool:
        """Whether what the rules read comes before them, or belongs to the same stratum: then no strata become one,
        and they stay in order."""
        return all(places.get(name, -1) <= places[_head(rule)] for rule in new for name in mentioned(rule))

    def _check(
        self, group: set[str], rules: Sequence[Rule], read: set[str], functions: Functions
    ) -> Checked | None:
        infos, places = self.before.relations, {self.before.places[name] for name in group}
        if any(
            infos[item.relation].internal
            for place in places
            for rule in self.before.strata[place].rules
            for item in _reading(rule)
        ):
            return None
        said = [each for text in self.current for each in text.declarations if each.relation in group]
        program = Program(
            rules=tuple(rules),
            declarations=(*said, *(Declaration(name, infos[name].declared) for name in sorted(read))),
            directives=tuple(
                each
                for text in self.current
                for each in text.directives
                if each.kind == "kind" and each.relation in group
            ),
        )
        try:
            return check(program, functions, known={name: infos[name].types for name in read})
        except HeadwaterError:
            return None  # the whole is checked, and says what is wrong in its own words

    def _merged(self, group: set[str], part: Checked, places: Mapping[str, int]) -> Checked | None:
        """The program with the strata of the group as they are now."""
        before = self.before
        if part.notes or part.facades or part.virtual or any(i.internal for i in part.relations.values()):
            return None
        if any(part.relations[name] != before.relations[name] for name in group):
            return None
        strata: list[Stratum] = []
        for stratum in part.strata:
            was = before.strata[places[stratum.relations[0]]]
            if set(stratum.relations) != set(was.relations):
                return None
            strata.append(_ordered(stratum, was))
        return before.with_rules(strata)


def _head(rule: Rule) -> str:
    return rule.heads[0].relation


def _reading(rule: CheckedRule) -> list[Premise | Absent]:
    return [item for item in rule.body if isinstance(item, Premise | Absent)]


def _ordered(stratum: Stratum, before: Stratum) -> Stratum:
    """The stratum with its relations in the order they had."""
    if stratum.relations == before.relations:
        return stratum
    rules = tuple(rule for name in before.relations for rule in stratum.rules if rule.relation == name)
    return Stratum(before.relations, rules, stratum.recursive)
