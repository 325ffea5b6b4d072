"""All that is defined at one time: a catalog never changes, a version that defines something makes another.

So taking a version back means to go on with the catalog from before it, and whoever holds one can read it whatever
happens meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.catalog.column_edits import carried_columns, check_column_edits, has_column_edits
from headwater.catalog.definitions import Definitions, Types, declaration_for
from headwater.catalog.edited_rules import KnownStrata, RuleEdit
from headwater.catalog.edits import carried, check_edits, mentioned
from headwater.catalog.rule_edits import (
    check_dropped_rules,
    check_labels,
    rules_of,
    unknown_rule,
    without_rules,
)
from headwater.catalog.text_index import mentioned as mentioned_by
from headwater.catalog.text_index import rules_with
from headwater.errors import DataError, HeadwaterWarning, RuleError, UnknownRelation
from headwater.language.datalog.render import render
from headwater.language.program import ActiveRule, Program, Rule
from headwater.rules.check import check
from headwater.rules.checked import Absent, Checked, Premise, RelationInfo
from headwater.rules.strata import reachable
from headwater.rules.unfilled import Strictness, doubts, read
from headwater.spelling import did_you_mean, near
from headwater.values.functions import Functions
from headwater.values.misfit import show
from headwater.values.types import Type

Stored = Callable[[str], bool]
"""Whether a base relation has rows: their types cannot change any more."""


def nothing_stored(name: str) -> bool:
    """For a catalog without a database."""
    return False


@dataclass(frozen=True)
class Catalog:
    """Definitions, and the program that they come to with these functions."""

    functions: Functions
    strict: Strictness = False
    definitions: Definitions = field(default_factory=Definitions)
    program: Checked = field(default_factory=lambda: Checked({}, ()))
    known: KnownStrata | None = field(default=None, compare=False, repr=False)
    """What edits know of the program, if it is about its relations: then it is known that `_base_is_told`."""

    # ------------------------------------------------------------------ what there is

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of all base relations and views."""
        return tuple(name for name, info in self.program.relations.items() if not info.internal)

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """All texts in order, and where they came from."""
        return tuple((program.text, program.source) for program in self.definitions.programs)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules as they are written, with their ids, in the order in which they were defined."""
        return tuple(rules_of(self.definitions.current))

    def rule(self, id: str) -> Rule | ActiveRule | None:
        """The rule, or active rule, of an id."""
        found = rules_with(self.definitions.current, (id,))
        named: Iterable[Rule | ActiveRule] = found or (rule for rule in self.active if rule.id == id)
        return next(iter(named), None)

    @property
    def statements(self) -> tuple[str, ...]:
        """What is defined beside rules and facts, as text: declarations, tables and directives."""
        said: list[str] = []
        for text in self.definitions.current:
            said += map(render, text.declarations)
            said += map(render, text.tables)
            said += map(render, text.directives)
        return tuple(dict.fromkeys(said))

    @property
    def active(self) -> tuple[ActiveRule, ...]:
        """All active rules, with their ids, in the order in which they were defined."""
        return self.definitions.active

    def info(self, name: str) -> RelationInfo:
        """A relation's columns, types and kind."""
        found = self.program.relations.get(name) if isinstance(name, str) else None
        if found is None or found.internal:
            raise self.unknown(name)
        return found

    def stored(self, name: str) -> RelationInfo:
        """The same of a relation whose rows are kept; refused for others."""
        info = self.info(name)
        if not info.kept:
            raise _not_kept(info)
        return info

    def unkept(self, name: str) -> list[str]:
        """The view and all that it reads, directly or not, as far as their rows are not kept."""
        graph: dict[str, list[str]] = {}
        for stratum in (*self.program.strata, *self.program.virtual):
            for rule in stratum.rules:
                read = [item.relation for item in rule.body if isinstance(item, (Premise, Absent))]
                graph.setdefault(rule.relation, []).extend(read)
        below = sorted({name, *reachable(graph, name)})
        infos = (self.program.relations[each] for each in below)
        return [info.name for info in infos if not info.kept and not info.internal]

    def explained(self, name: str) -> RelationInfo:
        """A relation whose rows can be explained: all that they come from is kept; refused for others."""
        info = self.info(name)
        for unkept in self.unkept(info.name):
            raise _not_kept(self.info(unkept))
        return info

    def base(self, name: str) -> RelationInfo | None:
        """The base relation that takes the rows given for `name`, or `None` if there is no such relation."""
        info = self.program.relations.get(self.program.facades.get(name, name))
        if info is None or (info.internal and name not in self.program.facades):
            return None
        if not info.base:
            raise DataError(
                "derived-relation",
                f"{name} is derived by rules; its rows cannot be inserted or deleted",
                hint=f"change the relations it is derived from, or declare `.input {name}` to give it rows as well",
            )
        return info

    def base_if_known(self, name: str, rows: Any = None) -> RelationInfo | None:
        """As `base`; rows for an unknown relation are refused, unless anything goes.

        Before the first text, rows of any relation are taken: there is nothing that its name could be a slip for.
        """
        info = self.base(name)
        if info is None and not self._expects(name):
            raise self._nowhere(name, rows)
        return info

    def _expects(self, name: str) -> bool:
        """Whether rows may come for a relation that is not there yet."""
        if self.strict is False or any(
            name == table.relation for program in self.definitions.programs for table in program.tables
        ):
            return True
        return self.strict == "near" and not self.definitions.programs

    def unknown(self, name: object) -> UnknownRelation:
        """The error about a relation that is not there."""
        there = f"there are: {', '.join(self.relations)}" if self.relations else "nothing is defined yet"
        said = name if isinstance(name, str) else show(name)
        hint = did_you_mean(said, self.relations) or there
        return UnknownRelation("unknown-relation", f"there is no relation {said}", hint=hint)

    def unknown_rule(self, id: object) -> RuleError:
        """The error about a rule that is not there."""
        return unknown_rule(id if isinstance(id, str) else show(id), (*self.rules, *self.active))

    def _nowhere(self, name: str, rows: Any) -> UnknownRelation:
        """The error about rows for a relation that no text mentions."""
        error = self.unknown(name)
        declared = f"{name}(...)" if rows is None else declaration_for(name, rows)
        link = " If not, " if near(name, self.relations) else "; if it is new, "
        error.hint = f"{error.hint}{link}declare it: define('{declared}.')"
        return error

    def doubts(self, program: Program, given: Collection[str] = ()) -> tuple[HeadwaterWarning, ...]:
        """What is doubtful about a text to come, and the rows given with it; refuses what is `strict`ly wrong."""
        infos = self.program.relations
        if program.queries or program.active:
            names: Iterable[str] = read(program)
        else:
            names = {name for rule in program.rules for name in mentioned_by(rule)}
        if not any(name not in infos or infos[name].internal for name in names):
            return ()  # nothing in it is new
        known = {name: infos[name].arity for name in self.relations}
        return doubts(program, self.functions, known=known, given=given, strict=self.strict)

    def types_if(self, known: Mapping[str, Types], stored: Stored = nothing_stored) -> dict[str, Types]:
        """What the types of all relations would be if those of some base relations were these."""
        definitions = replace(self.definitions, known={**self.definitions.known, **known})
        checked = self.following(definitions, stored).program
        return {name: info.types for name, info in checked.relations.items()}

    # ------------------------------------------------------------------ the next one

    def following(
        self, definitions: Definitions, stored: Stored = nothing_stored, new: Program | None = None
    ) -> Catalog:
        """With other definitions, all checked together; `new` is the text that they have more."""
        edited = None if new is None else self._edited(definitions)
        if edited is not None:
            return Catalog(self.functions, self.strict, definitions, *edited)
        fixed = self._fixed(stored)
        if new is not None:
            fixed = carried(new, fixed)
        if new is not None and has_column_edits(new):
            texts = self.definitions.current
            fixed = carried_columns(new, texts, fixed, lambda column: column.type)
        return replace(
            self,
            definitions=definitions,
            program=definitions.check(self.functions, fixed),
        )

    def _edited(self, definitions: Definitions) -> tuple[Checked, KnownStrata] | None:
        """The program with one more text that only adds and drops rules; `None` if all of it has to be checked."""
        known = self.known
        if known is None or known.relations is not self.program.relations:
            known = KnownStrata(self.program.relations) if self._base_is_told() else None
        edit = RuleEdit(self.program, self.definitions.current, definitions.programs[-1], definitions.current)
        return None if known is None else edit.checked(self.functions, known)

    def _base_is_told(self) -> bool:
        """Whether the types of all base relations are known without rules, for as long as only rules change."""
        declared = {each.relation: each for text in self.definitions.current for each in text.declarations}
        for name, info in self.program.relations.items():
            if info.base:
                types: Iterable[Type | None] = self.definitions.known.get(info.owner or name, (None,))
                if None in types and (said := declared.get(info.owner or name)) is not None:
                    types = [column.type for column in said.columns]
                if None in types or None in info.types or None in info.nullable:
                    return False
        return True

    def _fixed(self, stored: Stored) -> dict[str, Types]:
        """The types of relations that rows were given to."""
        return {
            info.owner or name: info.types
            for name, info in self.program.relations.items()
            if info.base and stored(name)
        }

    def with_program(
        self, program: Program, stored: Stored = nothing_stored, ids: Sequence[str] | None = None
    ) -> Catalog:
        """With what one more text says; its facts are in the program until they are `settled`."""
        if has_column_edits(program):
            rows = [name for name in self.relations if self.program.relations[name].base and stored(name)]
            check_column_edits(program, self.definitions.current, rows)
        check_edits(program, self.definitions.current, lambda: self.relations)
        if program.active or self.active:
            check_labels(program, without_rules(self.definitions.current, program))
        check_dropped_rules(
            program, self.definitions.current, self.definitions.known, lenient=self.strict is False
        )
        return self.following(self.definitions.with_program(program, ids), stored, program)

    def redefined(
        self, program: Program, stored: Stored = nothing_stored, ids: Sequence[str] | None = None
    ) -> Catalog:
        """With one text in place of all others; its facts are in the program until they are `settled`."""
        relations = self.program.relations
        kept = {info.owner or name for name, info in relations.items() if info.base and stored(name)}
        definitions = self.definitions.redefined(program, kept, ids)
        fixed = {
            name: types
            for name, types in self._fixed(stored).items()
            if name in definitions.known or name in mentioned(program)
        }
        return replace(self, definitions=definitions, program=definitions.check(self.functions, fixed))

    def untold(self) -> Catalog:
        """What is left without any text: relations that rows alone have told of."""
        definitions = replace(self.definitions, programs=())
        said = {name for text in self.definitions.current for name in mentioned(text)}
        relations = {
            name: info for name, info in self.program.relations.items() if name not in said and info.base
        }
        return replace(self, definitions=definitions, program=Checked(relations, ()))

    def stated(self) -> Mapping[str, tuple[tuple[object, ...], ...]]:
        """The rows that the texts state, by base relation: those that stand in them, whether they are still there or
        not."""
        program = self.definitions.stated()
        named = {head.relation for rule in program.rules for head in rule.heads}
        known = {name: self.program.relations[name].types for name in named if name in self.program.relations}
        return check(program, self.functions, known=known).facts if named else {}

    def with_rows(self, insert: Mapping[str, Any], stored: Stored = nothing_stored) -> Catalog:
        """With the types that rows tell where nothing else does, and relations never heard of; itself if all is
        known."""
        definitions = self.definitions
        for name, rows in insert.items():
            if not name.isidentifier():
                raise DataError(
                    "unknown-relation", f"{name!r} cannot name a relation", hint="letters, digits and _ only"
                )
            info = self.base_if_known(name, rows)
            definitions = definitions.with_rows(name, rows, info)
        return self if definitions is self.definitions else self.following(definitions, stored)

    def settled(self) -> Catalog:
        """Once the facts of the last text are rows, whose types are known for good."""
        if not self.program.facts and all(rule.body for rule in self.definitions.programs[-1].rules):
            return self
        infos = [self.program.relations[name] for name in self.program.facts]
        types = {info.owner or info.name: info.types for info in infos}
        nullable = {info.owner or info.name: info.nullable for info in infos if any(info.nullable)}
        return replace(self, definitions=self.definitions.settled(types, nullable))


def _not_kept(info: RelationInfo) -> DataError:
    return DataError(
        "virtual-relation",
        f"{info.name} is {info.kind.value}: its rows are derived when somebody asks, and nothing is kept of them",
        hint=f"keep it: .kind {info.name} stored, or db.keep({info.name!r}, 'stored')",
    )
