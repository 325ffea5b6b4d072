"""Rules that come and go in a program that is checked already: only what they may change is checked again.

A text that adds and drops rules, and says nothing else, leaves most of a program as it is. What is checked are the
strata of the relations whose rules are others, with all that they read as declared relations of known types. If they
come out with the same columns, types and nulls as before, and without helping relations, nobody else can tell the
difference: their rules take their places in the program, and all else of it is the very same. Otherwise, and wherever
it is not plain that this is so, the answer is `None`: the whole is to be checked, which also says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.catalog.lone_rules import lone_rules
from headwater.catalog.rule_edits import DROP_RULE, dropped_ids
from headwater.catalog.text_index import TextIndex, mentioned_atoms, rules_for, rules_with
from headwater.errors import HeadwaterError
from headwater.language.program import Declaration, Program, Rule, Variable
from headwater.rules.check import check
from headwater.rules.checked import Absent, Checked, CheckedRule, Kind, Premise, Stratum
from headwater.rules.terms import atoms
from headwater.values.functions import Functions
from headwater.values.names import made_up


@dataclass(frozen=True)
class RuleEdit:
    """A text that adds and drops rules, over a program in which the types of base relations are known without rules:
    `earlier` are the texts before, `current` those after it, as they are left."""

    before: Checked
    earlier: Sequence[Program]
    text: Program
    current: Sequence[Program]

    def checked(self, functions: Functions) -> Checked | None:
        """The program with the edit; `None` if all of it has to be checked."""
        changed = self._changed()
        if changed is None:
            return None
        places = self.before.places
        heads = {head.relation for rule in changed for head in rule.heads}
        if not heads <= places.keys():
            return None
        group = {name for head in heads for name in self.before.strata[places[head]].relations}
        rules = rules_for(self.current, group)
        read = {atom.relation for rule in (*rules, *changed) for atom, _ in atoms(rule.body)}
        if not self._plain(group, rules, read) or not self._in_order(changed, places):
            return None
        if self._chosen(group | {atom.relation for rule in changed for atom, _ in atoms(rule.body)}):
            return None
        if not self._named_alike(changed):
            return None
        alone = lone_rules(self.before, group, rules, self.text.rules, functions)
        if alone is not None:
            return self.before.with_rules(alone)
        part = self._check(group, rules, read - group, functions)
        return None if part is None else self._merged(group, part, places)

    def _named_alike(self, changed: Sequence[Rule]) -> bool:
        """Whether columns keep the names that they have from the variables of the rule that first mentions them."""
        texts = [TextIndex.of(text) for text in self.current]
        asked = {
            atom.relation
            for rule in changed
            for atom in mentioned_atoms(rule)
            if not any(atom.relation in text.declared for text in texts)
        }
        infos = self.before.relations
        if not dropped_ids(self.text):  # what is new comes last
            return not any(made_up((name,)) for each in asked for name in infos[each].columns)
        for name in asked:
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
        dropped = set(dropped_ids(text))
        gone = rules_with(self.earlier, dropped)
        labels = {name for rule in text.rules for name in (rule.id, rule.label) if name is not None}
        taken = any(TextIndex.of(each).names(name) for name in labels for each in self.current[:-1])
        found = [*gone, *text.rules]
        plain = all(rule.body and len(rule.heads) == 1 and not rule.delete for rule in found)
        return found if plain and len(gone) == len(dropped) and not taken else None

    def _plain(self, group: set[str], rules: Sequence[Rule], read: set[str]) -> bool:
        """Whether the relations are such that nothing but their own rules says what they are."""
        infos, facades = self.before.relations, self.before.facades
        left = {_head(rule) for rule in rules}
        if left != group or any(len(rule.heads) != 1 for rule in rules) or not read <= infos.keys():
            return False
        for name in group | read:
            info = infos[name]
            if info.internal or info.selections or any(info.labelled) or None in info.types:
                return False
        tables = {table.relation for text in self.current for table in text.tables}
        if not group.isdisjoint(facades) or not group.isdisjoint(tables):
            return False
        if any(infos[name].aggregate is not None or infos[name].kind is not Kind.STORED for name in group):
            return False
        return not any(name in note for note in self.before.notes for name in group)

    def _chosen(self, names: set[str]) -> bool:
        """Whether best rows are chosen of one of these views: how early that is done depends on who else reads it."""
        names = {name for name in names if not self.before.relations[name].base}
        selected = self.before.selecting
        return bool(selected) and any(
            item.relation in names
            for stratum in self.before.strata
            if not selected.isdisjoint(stratum.relations)
            for rule in stratum.rules
            for item in _reading(rule)
        )

    @staticmethod
    def _in_order(changed: Iterable[Rule], places: Mapping[str, int]) -> bool:
        """Whether what the rules read comes before them, or belongs to the same stratum: then no strata become one,
        and they stay in order."""
        return all(
            places.get(atom.relation, -1) <= places[_head(rule)]
            for rule in changed
            for atom, _ in atoms(rule.body)
        )

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
