"""All texts that a database was given, and what its rows have told about types.

Rules are checked all together each time something is added. Facts of earlier texts are rows by now (and may
have been deleted since), so they are left out of the check; the types they gave are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from headwater.catalog.column_edits import carried_columns
from headwater.catalog.difference import matched
from headwater.catalog.edits import Value, carried, edited, mentioned, moves_relations
from headwater.catalog.rule_edits import active_of, rules_of
from headwater.catalog.rule_ids import identified, ids_of, numbered, recalled
from headwater.errors import HeadwaterError
from headwater.language.datalog import parse
from headwater.language.program import ActiveRule, Column, Declaration, Directive, Program
from headwater.rules.check import check
from headwater.rules.checked import Checked, RelationInfo
from headwater.rules.nullability import Nullable
from headwater.values.codec import infer_types
from headwater.values.functions import Functions
from headwater.values.sources import SourceColumns, columns_of, in_order, names_of
from headwater.values.types import Type, types_from_json, types_to_json

Types = tuple[Type | None, ...]
EARLIER_TWIN = "~given"
"""What ends names in states that told types by the hidden relation in which a view's given rows are kept."""


@dataclass(frozen=True)
class Definitions:
    """Texts, types learned from rows by base relation, and the columns of relations that no text mentions."""

    programs: tuple[Program, ...] = ()
    """Their rules have ids: see `rule_ids`."""
    known: Mapping[str, Types] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nullable: Mapping[str, Nullable] = field(default_factory=dict)
    """Of base relations, whether their columns take nulls, where the first rows have told."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The highest number that a rule of each relation was ever given."""

    chosen: Mapping[str, str] = field(default_factory=dict)
    """For views of kind `auto`, whether they are stored or watched at present."""

    @cached_property
    def current(self) -> tuple[Program, ...]:
        """What the texts say, each as later ones left it."""
        return tuple(edited(self.programs))

    @cached_property
    def active(self) -> tuple[ActiveRule, ...]:
        """All active rules, with their ids, in the order in which they were defined."""
        return tuple(active_of(self.current))

    def _leaving(self, current: Sequence[Program]) -> Definitions:
        """Itself, once it is known what the texts say: that is not worked out again from the first on."""
        self.__dict__["current"] = tuple(current)
        return self

    def check(self, functions: Functions, stored: Mapping[str, Types]) -> Checked:
        """Check everything; `stored` has the types of base relations that have rows."""
        *earlier, last = self.current or (Program(),)
        programs = [replace(p, rules=tuple(rule for rule in p.rules if rule.body)) for p in earlier] + [last]
        declared = {d.relation for program in programs for d in program.declarations}
        inferred = tuple(
            Declaration(name, tuple(Column(column, None) for column in columns))
            for name, columns in self.columns.items()
            if name not in declared
        )
        whole = Program(
            rules=tuple(rule for program in programs for rule in program.rules),
            declarations=(*(d for program in programs for d in program.declarations), *inferred),
            tables=tuple(table for program in programs for table in program.tables),
            directives=tuple(self._decided(d) for program in programs for d in program.directives),
            queries=tuple(query for program in programs for query in program.queries),
            active=tuple(active for program in programs for active in program.active),
        )
        return check(whole, functions, known={**stored, **self.known}, nullable=self.nullable)

    def _decided(self, directive: Directive) -> Directive:
        """A directive, with what was chosen where it leaves that open."""
        if directive.options.get("kind") != "auto" or directive.relation not in self.chosen:
            return directive
        return replace(directive, options={**directive.options, "chosen": self.chosen[directive.relation]})

    def with_program(self, program: Program, ids: Sequence[str] | None = None) -> Definitions:
        """With one more text, whose facts are rows still to come; `ids` are those its rules were given before."""
        if ids is None:
            program, numbers = identified(program, self.numbers)
        else:
            program, numbers = recalled(program, ids), numbered(self.numbers, ids)
        texts, programs = self.current, (*self.programs, program)
        if not moves_relations(program):
            found = Definitions(programs, self.known, self.columns, self.nullable, numbers, self.chosen)
            return found._leaving(edited([program], texts))
        known, columns = carried(program, self.known), carried(program, self.columns)
        nullable = carried(program, self.nullable)
        return replace(
            self,
            programs=programs,
            numbers=numbers,
            known=carried_columns(program, texts, known, lambda new: new.type),
            columns=carried_columns(program, texts, columns, lambda new: new.name),
            nullable=carried_columns(program, texts, nullable, lambda new: new.nullable),
        )._leaving(edited([program], texts))

    def redefined(
        self, program: Program, stored: Collection[str], ids: Sequence[str] | None = None
    ) -> Definitions:
        """With one text in place of all others; `stored` are the base relations that have rows, of which the types
        stay known. `ids` are as for `with_program`."""
        texts = self.current
        if ids is None:
            program, numbers = matched(program, [*rules_of(texts), *active_of(texts)], self.numbers)
        else:
            program, numbers = recalled(program, ids), numbered(self.numbers, ids)
        said = {name for text in texts for name in mentioned(text)} - mentioned(program)

        def still(known: Mapping[str, Value]) -> dict[str, Value]:
            return {name: value for name, value in known.items() if name not in said and name in stored}

        return Definitions((program,), still(self.known), still(self.columns), still(self.nullable), numbers)

    def stated(self) -> Program:
        """All facts of all texts, as they are written."""
        texts = edited([recalled(parse(p.text, p.source), ids_of(p)) for p in self.programs])
        return Program(tuple(rule for text in texts for rule in text.rules if not rule.body))

    def settled(self, facts: Mapping[str, Types], nullable: Mapping[str, Nullable]) -> Definitions:
        """As it is once the facts of the last text are rows of relations with these types."""
        *earlier, last = self.programs
        last = replace(last, rules=tuple(rule for rule in last.rules if rule.body))
        return replace(
            self,
            programs=(*earlier, last),
            known={**self.known, **facts},
            nullable={**self.nullable, **nullable},
        )._leaving([*self.current[:-1], replace(self.current[-1], rules=last.rules)])

    def with_rows(self, name: str, rows: Any, info: RelationInfo | None) -> Definitions:
        """With what these rows tell where nothing else does: types, and names of columns; a new relation if there
        is none."""
        if info is None:
            source = columns_of(rows, name)
            types, names = infer_types(source, name)
            columns = {**self.columns, name: names or tuple(f"c{i}" for i in range(len(types)))}
            found = replace(self, known={**self.known, name: types}, columns=columns)
            return found._with_nullable(name, source, (None,) * len(types))
        ordered = in_order(rows, name, info.columns, declared=info.named)
        found = self._with_names(name, rows, info)
        keep = isinstance(rows, SourceColumns) and rows.keep_nulls
        if not len(rows) or not keep and None not in info.types and None not in info.nullable:
            return found
        source = columns_of(ordered, name)
        if keep or None in info.nullable:
            found = found._with_nullable(name, source, info.nullable)
        types, _ = infer_types(source, name)
        if len(types) != info.arity:
            return found
        merged = tuple(old or new for old, new in zip(info.types, types, strict=True))
        return found if merged == info.types else replace(found, known={**self.known, name: merged})

    def _with_nullable(self, name: str, source: SourceColumns, said: Nullable) -> Definitions:
        """The first rows tell of columns that nothing was said of whether they take nulls."""
        shown = source.nullable()
        if len(shown) != len(said) or not source.count:
            return self
        merged = tuple(
            new if old is None else old or (new and source.keep_nulls)
            for old, new in zip(said, shown, strict=True)
        )
        return self if merged == said else replace(self, nullable={**self.nullable, name: merged})

    def _with_names(self, name: str, rows: Any, info: RelationInfo) -> Definitions:
        """The first rows with names give them to columns that have none but made-up ones."""
        names = names_of(rows)
        if info.named or names is None or len(names) != info.arity or set(names) == set(info.columns):
            return self
        if self.columns.get(name) == names:
            return self
        return replace(self, columns={**self.columns, name: names})

    def to_json(self) -> dict[str, Any]:
        """What is learned, for a record."""
        return {
            "numbers": dict(self.numbers),
            "known": {name: types_to_json(types) for name, types in self.known.items()},
            "names": dict(self.columns),
            "nullable": {name: list(said) for name, said in self.nullable.items()},
        }

    def learned(self, meta: Mapping[str, Any]) -> Definitions:
        """With what a record says was learned."""
        return replace(
            self,
            numbers=meta.get("numbers", self.numbers),
            known={
                name.removesuffix(EARLIER_TWIN): types_from_json(types)
                for name, types in meta["known"].items()
            },
            columns={name: tuple(columns) for name, columns in meta["names"].items()},
            nullable={name: tuple(said) for name, said in meta.get("nullable", {}).items()},
        )

    def rules(self) -> list[list[str]]:
        """The ids of the rules of each text, for a record."""
        return [ids_of(program) for program in self.programs]

    @staticmethod
    def of(texts: Iterable[tuple[str, str]], rules: Sequence[Sequence[str]] | None = None) -> Definitions:
        """Texts whose facts are rows already, and the ids of their rules, if these were written down."""
        read = [Definitions.parsed(text, source) for text, source in texts]
        if rules is None:
            definitions = Definitions()
            for program in read:
                definitions = definitions.with_program(program)
            return definitions
        return Definitions(tuple(recalled(program, ids) for program, ids in zip(read, rules, strict=True)))

    @staticmethod
    def parsed(text: str, source: str) -> Program:
        """A text whose facts are rows already."""
        program = parse(text, source)
        return replace(program, rules=tuple(rule for rule in program.rules if rule.body))


def declaration_for(name: str, rows: Any) -> str:
    """A declaration that rows would fit, for a hint.

    >>> declaration_for("cost", [("a", 1.5)])
    'cost(c0: string, c1: float)'
    """
    try:
        types, names = infer_types(rows, name)
    except HeadwaterError:
        return f"{name}(...)"
    columns = names or tuple(f"c{i}" for i in range(len(types)))
    return f"{name}({', '.join(f'{column}: {type}' for column, type in zip(columns, types, strict=True))})"
