"""Mappings and trust conditions become one Datalog program, which any peer can run on its own.

    m4:  m4_p(i, c, n) :- BioSQL_B_o(i, c), uBio_U_o(n, c).      the provenance relation of a mapping
         BioSQL_B_t(i, n) :- m4_p(i, c, n), !(n != 2).           trusted input; Skolem terms in place of existentials
         BioSQL_B_o(i, n) :- BioSQL_B_t(i, n), !BioSQL_B_r(i, n).
         BioSQL_B_o(i, n) :- BioSQL_B_l(i, n).

Stratified, since contributions, rejections and lists are base relations. Conditions about the origin of data read
copies of the relations that do without that data (see `internal`): entering a relation of a peer, for each of the
peer's conditions either its predicate does not hold or the body reads the copies without its origin as well. The
conditions of all peers on the way hold for a row (green-2007, section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from headwater.errors import RuleError
from headwater.language.datalog.render import render
from headwater.language.mappings.brought import BroughtRow, negated
from headwater.language.mappings.equalities import Equalities, is_known
from headwater.language.mappings.hubs import HubSide, memberships, rules_of_edges, rules_of_hubs, sides_of
from headwater.language.mappings.internal import (
    NOTHING,
    ExcludedOrigin,
    Exclusion,
    InternalNames,
    RowList,
    check_names,
)
from headwater.language.mappings.mapping import Egd, Mappings, PeerRelation, Schemas, Tgd, fresh
from headwater.language.mappings.null_flow import check_null_flow
from headwater.language.mappings.origins import ConditionOrigins
from headwater.language.mappings.policy import TrustCondition
from headwater.language.mappings.weak_acyclicity import check_weak_acyclicity
from headwater.language.program import (
    Atom,
    Column,
    Comparison,
    Declaration,
    Literal,
    Negated,
    Positive,
    Program,
    Rule,
    Term,
    Variable,
)

MOST_ORIGINS_OF_ONE = 6
"""Conditions about origins, with predicates, that may hold for one relation: each doubles its rules."""


@dataclass(frozen=True)
class CompiledMappings:
    """A program, and what of it is what: mappings by rule, and the lists of rows by relation."""

    program: Program
    schemas: Schemas
    mappings: Mappings
    names: InternalNames
    by_rule: Mapping[str, str]
    """The mapping of each rule that fills a provenance relation."""
    relations: Mapping[str, PeerRelation]
    """Outputs by name, those of all copies."""
    excluded: Mapping[str, Exclusion]
    """What copies of outputs do without, by their names."""
    contributions: Mapping[str, PeerRelation]
    lists: Mapping[str, Mapping[PeerRelation, tuple[Atom, ...]]]
    """What is on the lists of rows."""
    equalities: Equalities
    keyed: tuple[PeerRelation, ...]
    """Relations with keys, whose rows are reconciled."""
    choosing: tuple[PeerRelation, ...]
    """All relations of peers that have such, or that give rows the priority 0: rows fall with the transaction that
    they came with."""

    def rules_of(self, label: str) -> tuple[str, ...]:
        """The rules of a mapping."""
        return tuple(rule for rule, mapping in self.by_rule.items() if mapping == label)


def compiled(
    schemas: Schemas,
    mappings: Mappings,
    policies: Mapping[str, Sequence[TrustCondition]],
) -> CompiledMappings:
    """The program of a confederation, with the conditions of its peers. Relations with keys may withhold rows."""
    check_names(schemas.columns)
    check_weak_acyclicity(mappings, schemas)
    check_null_flow(mappings, schemas)
    found = _Compiler(schemas, mappings, policies, Equalities(schemas, mappings))
    found.run()
    program = Program(tuple(found.rules), tuple(found.declarations.values()), source="<exchange>")
    program = replace(program, text=render(program), souffle=True)
    return CompiledMappings(
        program,
        schemas,
        mappings,
        found.names,
        found.by_rule,
        found.outputs,
        {
            found.names.output(relation, exclusion): exclusion
            for exclusion in tuple(found.names.numbers)
            for relation in schemas.columns
        },
        {found.names.contributions(relation): relation for relation in schemas.columns},
        found.lists,
        found.equalities,
        tuple(sorted(found.keyed)),
        found.choosing,
    )


@dataclass
class _Compiler:
    """Makes the rules of all relations, and of the copies that turn out to be needed."""

    schemas: Schemas
    mappings: Mappings
    policies: Mapping[str, Sequence[TrustCondition]]
    equalities: Equalities
    names: InternalNames = field(default_factory=InternalNames)
    rules: list[Rule] = field(default_factory=list)
    declarations: dict[str, Declaration] = field(default_factory=dict)
    by_rule: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, PeerRelation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.keyed = {key.relation for key in self.equalities.key_dependencies()}
        choosing = {relation.peer for relation in self.keyed}
        choosing |= {peer for peer, each in self.policies.items() if any(one.rejects for one in each)}
        self.choosing = tuple(relation for relation in self.schemas.columns if relation.peer in choosing)
        self._same: set[tuple[int, Exclusion]] = set()
        self._todo: list[tuple[PeerRelation, Exclusion]] = []
        self._provenance: set[tuple[str, Exclusion]] = set()
        self._producers: dict[PeerRelation, list[tuple[Tgd, Atom]]] = {r: [] for r in self.schemas.columns}
        for tgd in self.mappings.tgds:
            for atom in tgd.premises:
                self.schemas.find(atom)
            for atom in tgd.heads:
                self._producers[self.schemas.find(atom)].append((tgd, atom))
        conditions = ConditionOrigins(self.schemas, self.mappings, self.policies)
        self._applied = {relation: list(conditions.of(relation)) for relation in self.schemas.columns}
        self.lists = conditions.lists
        for name, relations in self.lists.items():
            for relation in relations:
                self._declare(RowList(name, relation).name, self.schemas.columns[relation])

    def run(self) -> None:
        """Relations first, then whatever copies they read."""
        for relation, columns in self.schemas.columns.items():
            self._declare(self.names.contributions(relation), columns)
            self._declare(self.names.rejections(relation), columns)
            if relation in self.choosing:
                self._declare(self.names.withheld(relation), columns)
                self._candidates(relation)
            self._output(relation, NOTHING)
        for number in self.equalities.numbers:
            self._same_as(number, NOTHING)
        while self._todo:
            self._relation(*self._todo.pop(0))

    def _declare(self, name: str, columns: Sequence[Column]) -> None:
        """A base relation; labelled nulls may stand in any column."""
        made = tuple(Column(f"c{i}_{column.name}", column.type, True) for i, column in enumerate(columns))
        self.declarations[name] = Declaration(name, made)

    # ------------------------------------------------------------------ rules

    def _output(self, relation: PeerRelation, exclusion: Exclusion) -> str:
        """The name of a copy's output, whose rules are made in their turn."""
        name = self.names.output(relation, exclusion)
        if name not in self.outputs:
            self.outputs[name] = relation
            self._todo.append((relation, exclusion))
        return name

    def _relation(self, relation: PeerRelation, exclusion: Exclusion) -> None:
        """Rules for one relation of one copy."""
        row = tuple(Variable(f"x{i}") for i in range(len(self.schemas.columns[relation])))
        head = Atom(self.names.output(relation, exclusion), row)
        if ExcludedOrigin("peer", relation.peer) not in exclusion:
            own = Positive(Atom(self.names.contributions(relation), row))
            self._rule(None, head, [own, *self._unlisted(relation, row, exclusion)])
        trusted = Atom(self.names.trusted(relation, exclusion), row)
        brought = [
            rule
            for tgd, atom in self._producers[relation]
            for rule in self._entering(relation, tgd, atom, exclusion)
        ]
        if not brought:
            if not any(rule.heads[0].relation == head.relation for rule in self.rules):
                self._declare(head.relation, self.schemas.columns[relation])
            return
        self.rules += brought
        accepted: list[Literal] = [Positive(trusted), Negated(Atom(self.names.rejections(relation), row))]
        if relation in self.choosing:
            accepted.append(Negated(Atom(self.names.withheld(relation), row)))
        self._rule(None, head, accepted)

    def _unlisted(self, relation: PeerRelation, row: tuple[Term, ...], exclusion: Exclusion) -> list[Literal]:
        return [
            Negated(Atom(RowList(origin.name, relation).name, row))
            for origin in sorted(exclusion)
            if origin.kind == "rows" and relation in self.lists.get(origin.name, {})
        ]

    def _entering(self, relation: PeerRelation, tgd: Tgd, atom: Atom, exclusion: Exclusion) -> Iterator[Rule]:
        """What one mapping brings, through the conditions of the relation's peer."""
        applied = [each for each in self._applied[relation] if each.condition.by in (None, tgd.label)]
        filters: list[Literal] = []
        open_ones: list[tuple[Exclusion, Literal]] = []
        always: set[ExcludedOrigin] = set()
        bindings = BroughtRow(tgd, atom)
        for each in applied:
            if each.origins is not None and each.origins <= exclusion:
                continue  # the copy does without that data anyway
            predicate = bindings.predicate(each.condition)
            if each.origins is None:
                if not predicate:
                    return
                filters.append(negated(predicate))
            elif not predicate:
                always |= each.origins
            else:
                open_ones.append((each.origins, negated(predicate)))
        if len(open_ones) > MOST_ORIGINS_OF_ONE:
            raise RuleError(
                "too-many-copies",
                f"more than {MOST_ORIGINS_OF_ONE} conditions about origins hold for {relation}",
                hint="join them: conditions without 'if' cost nothing more",
            )
        for size in range(len(open_ones) + 1):
            for avoided in combinations(open_ones, size):
                without = exclusion.union(always, *(origins for origins, _ in avoided))
                if ExcludedOrigin("mapping", tgd.label) in without:
                    continue
                spared = [literal for each in open_ones if each not in avoided for literal in (each[1],)]
                source = Positive(Atom(self._provenance_of(tgd, without), self._columns_of(tgd)))
                head = Atom(self.names.trusted(relation, exclusion), bindings.row)
                yield _written(Rule(None, (head,), (source, *bindings.made, *filters, *spared)), tgd)

    def _provenance_of(self, tgd: Tgd, exclusion: Exclusion) -> str:
        """The provenance relation of a mapping in a copy; its rule is made with its first use."""
        name = self.names.provenance(tgd.label, exclusion)
        if (tgd.label, exclusion) not in self._provenance:
            self._provenance.add((tgd.label, exclusion))
            label = self.names.rule(tgd.label, exclusion)
            self._bodies(label, tgd, Atom(name, self._columns_of(tgd)), [], exclusion)
        return name

    def _columns_of(self, tgd: Tgd) -> tuple[Term, ...]:
        return tuple(map(Variable, (*tgd.body_variables, *self.equalities.further(tgd))))

    def _bodies(
        self, label: str, mapping: Tgd | Egd, head: Atom, more: Sequence[Literal], exclusion: Exclusion
    ) -> None:
        """The rules of a mapping: one, and more of them where joins hold by equality as well."""
        for number, (body, identical, equal) in enumerate(self.equalities.variants(mapping)):
            terms = tuple(
                identical.get(term.name, term) if isinstance(term, Variable) else term for term in head.args
            )
            premises = [self._premise(literal, exclusion) for literal in body]
            premises += [
                Positive(Atom(self._same_as(each, exclusion), (first, also))) for each, first, also in equal
            ]
            own = self._rule_label(mapping.label, f"{label}_{number}" if number else label)
            self._rule(own, replace(head, args=terms), [*premises, *more], mapping)

    def _rule_label(self, label: str, wanted: str) -> str:
        """The label of another rule of a mapping; no other mapping is called so."""
        taken = {*self.by_rule, *self.mappings.labels} - {label}
        own = fresh(wanted, taken)
        self.by_rule[own] = label
        return own

    # ------------------------------------------------------------------ equalities

    def _same_as(self, number: int, exclusion: Exclusion) -> str:
        """The name of a class's equalities in a copy; their rules are made with the first use."""
        name = self.names.same(number, exclusion)
        if (number, exclusion) in self._same:
            return name
        self._same.add((number, exclusion))
        sources = []
        hubs = False
        for egd in self.mappings.egds:
            if self.equalities.of(egd) != number:
                continue
            sides = sides_of(egd)
            if sides is None:
                sources.append(self._equated(egd, exclusion))
            else:
                hubs = True
                self._memberships(number, sides, exclusion)
        if hubs:
            for head, body in rules_of_hubs(self.names, number, exclusion):
                self._rule(None, head, body)
        if sources:
            clash, direct = self.names.clash(number, exclusion), self.names.direct(number, exclusion)
            for head, body in rules_of_edges(name, clash, direct, sources):
                self._rule(None, head, body)
        return name

    def _equated(self, egd: Egd, exclusion: Exclusion) -> str:
        """The relation of the pairs that a dependency equates."""
        head = Atom(self.names.equated(egd.label, exclusion), (Variable(egd.left), Variable(egd.right)))
        differ = Comparison("!=", head.args[0], head.args[1])
        self._bodies(self.names.rule(egd.label, exclusion), egd, head, [differ], exclusion)
        return head.relation

    def _memberships(self, number: int, sides: Sequence[HubSide], exclusion: Exclusion) -> None:
        """The rules by which a dependency puts values into hubs."""
        place = 0
        for side, name in zip(sides, (self.names.members, self.names.partners), strict=True):
            for each in memberships(self.equalities, side):
                body = [self._premise(literal, exclusion) for literal in each.body]
                body += [
                    Positive(Atom(self._same_as(of, exclusion), (first, also)))
                    for of, first, also in each.equal
                ]
                label = self.names.rule(side.egd.label, exclusion)
                own = self._rule_label(side.egd.label, f"{label}_{place}" if place else label)
                place += 1
                self._rule(own, Atom(name(number, exclusion), (each.value, each.hub)), body, side.egd)

    def _candidates(self, relation: PeerRelation) -> None:
        """Candidates of a relation with keys, and the pairs of them that agree in a key and differ beside it."""
        arity = len(self.schemas.columns[relation])
        row = tuple(Variable(f"x{i}") for i in range(arity))
        head = Atom(self.names.candidates(relation), row)
        self.outputs[head.relation] = relation
        self._rule(None, head, [Positive(Atom(self.names.contributions(relation), row))])
        if self._producers[relation]:
            brought = Positive(Atom(self.names.trusted(relation), row))
            self._rule(None, head, [brought, Negated(Atom(self.names.rejections(relation), row))])
        for key in self.equalities.key_dependencies():
            if key.relation == relation:
                other = tuple(row[i] if i in key.key else Variable(f"y{i}") for i in range(arity))
                mine, its = row[key.column], other[key.column]
                pair: list[Literal] = [
                    Positive(head),
                    Positive(replace(head, args=other)),
                    Comparison("!=", mine, its),
                ]
                rivals = Atom(self.names.rivals(relation), (*row, *other))
                self._rule(None, rivals, [*pair, is_known(mine), is_known(its)])

    def _premise(self, literal: Literal, exclusion: Exclusion) -> Literal:
        if not isinstance(literal, Positive):
            return literal
        read = self._output(self.schemas.find(literal.atom), exclusion)
        return Positive(replace(literal.atom, relation=read))

    def _rule(
        self, label: str | None, head: Atom, body: Sequence[Literal], origin: Tgd | Egd | None = None
    ) -> None:
        self.rules.append(_written(Rule(label, (head,), tuple(body)), origin))


def _written(rule: Rule, origin: Tgd | Egd | None) -> Rule:
    """A rule with its text, and the place of the mapping that it is about."""
    return replace(rule, text=render(rule), place=None if origin is None else origin.place)
