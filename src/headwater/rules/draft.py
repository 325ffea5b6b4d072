"""A program while it is being rewritten. Data only; a rewrite is a function from one `Draft` to the next.

At first a draft's rules are those of the text. Step by step helping relations are added (`internal`), facts and
selections move out of the rules; in `orient_equalities` bodies become checked items. What a step may rely on
is what the steps before it in `REWRITES` promise.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from headwater.errors import Place, RuleError
from headwater.language.program import Atom, Constant, HeadAggregate, Program, Term, Variable
from headwater.rules.checked import Aggregate, Selection, UpdateKind
from headwater.rules.roles import NO_EVENTS, Roles
from headwater.rules.terms import Fresh, Part, names, variables
from headwater.values.functions import Functions
from headwater.values.types import Type

GIVEN = "~given"  # ends the name of the hidden twin that takes a derived relation's rows from outside


def _very_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


@dataclass(frozen=True)
class DraftRule:
    """A rule on its way: one head once `split_heads` has run; a body of literals, later of items.

    `written` is the id of the rule in the text that it comes from.
    """

    label: str
    heads: tuple[Atom, ...]
    body: tuple[Part, ...]
    aggregate: Aggregate | None = None
    place: Place | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    written: str = field(default="", compare=False, repr=False)
    update: UpdateKind | None = None
    """Of a rule that updates a table or raises an event, what it does; `None` of one whose rows are a view."""

    @property
    def head(self) -> Atom:
        """The head; there is one only."""
        return self.heads[0]

    @property
    def relation(self) -> str:
        """The relation that the rule derives rows of."""
        return self.heads[0].relation

    def with_head(self, args: Iterable[Term]) -> DraftRule:
        """The same rule with other arguments in its head."""
        return replace(self, heads=(replace(self.head, args=tuple(args)),))

    def with_body(self, body: Iterable[Part]) -> DraftRule:
        """The rule with another body; itself, if its parts are the very same."""
        body = tuple(body)
        return self if _very_same(body, self.body) else replace(self, body=body)

    def names(self) -> set[str]:
        """The names of all variables that occur in the rule."""
        return {v.name for atom in self.heads for arg in atom.args for v in variables(arg)} | names(self.body)

    def fresh(self) -> Fresh:
        """Names for variables that do not occur in the rule."""
        return Fresh(self.names())

    def head_aggregates(self) -> tuple[tuple[int, HeadAggregate], ...]:
        """The aggregates in the head and where they stand."""
        return tuple((i, a) for i, a in enumerate(self.head.args) if isinstance(a, HeadAggregate))


@dataclass(frozen=True)
class Draft:
    """All rules, and what has been learned and decided about relations so far.

    `known` has the column types of relations that have data already, `nullable` whether their columns take nulls as
    far as rows have told; `taken` names the relations that the text or the data knows of (declared, derived, stated,
    input, known, or of an active rule's event or action). `facts` are atoms of constants.
    `internal` maps each helping relation to the user's relation it serves; `given` are relations that take
    rows from outside; `bodies` are the internal relations that stand for an aggregate in a body;
    `demands` gives, for those that do inside a recursion, the relation of the groups asked for;
    `projections` are those that project a relation to some of its columns.
    """

    rules: tuple[DraftRule, ...]
    program: Program
    functions: Functions
    known: Mapping[str, tuple[Type | None, ...]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    facts: Mapping[str, tuple[Atom, ...]] = field(default_factory=dict)
    internal: Mapping[str, str] = field(default_factory=dict)
    selections: Mapping[str, tuple[Selection, ...]] = field(default_factory=dict)
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)
    bodies: frozenset[str] = frozenset()
    demands: Mapping[str, str] = field(default_factory=dict)
    projections: Mapping[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)
    facades: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    nullable: Mapping[str, tuple[bool | None, ...]] = field(default_factory=dict)
    roles: Roles = NO_EVENTS

    def with_rules(self, rules: Iterable[DraftRule]) -> Draft:
        """The draft with other rules; itself, if they are the very same."""
        rules = tuple(rules)
        return self if _very_same(rules, self.rules) else replace(self, rules=rules)

    def note(self, text: str) -> Draft:
        """The draft with one more note for `explain`."""
        return replace(self, notes=(*self.notes, text))

    def owner(self, relation: str) -> str:
        """The user's relation that a relation serves: itself, unless it is internal."""
        return self.internal.get(relation, relation)

    def helper(self, name: str, serves: str) -> tuple[Draft, str]:
        """The draft with a new internal relation that serves `serves`, and its name: `name`, or near it."""
        numbered = (name if i == 1 else f"{name}{i}" for i in count(1))
        new = next(n for n in numbered if n not in self.internal and n not in self.taken)
        return replace(self, internal={**self.internal, new: self.owner(serves)}), new


def helper_atom(relation: str, args: Iterable[Variable], place: Place | None = None) -> Atom:
    """An atom of an internal relation, each variable once; with a column of `1` if there are none.

    >>> helper_atom("h", []).args
    (Constant(value=1, address=False),)
    """
    once: dict[str, Term] = {}
    for variable in args:
        once.setdefault(variable.name, Variable(variable.name, place=variable.place))
    return Atom(relation, tuple(once.values()) or (Constant(1),), place=place)


def begin(
    program: Program,
    functions: Functions,
    known: Mapping[str, tuple[Type | None, ...]] = {},  # noqa: B006
    nullable: Mapping[str, tuple[bool | None, ...]] = {},  # noqa: B006
    roles: Roles = NO_EVENTS,
) -> Draft:
    """The text's rules, each with a label of its own.

    Labels in the text are kept; the others are ids that were given before, or are numbered by relation: `reach#1`.
    """
    seen: dict[str, Place | None] = {}
    numbers: dict[str, int] = {}
    rules: list[DraftRule] = []
    for rule in program.rules:
        update = roles.updates(rule)
        if rule.delete and update is None:
            raise RuleError(
                "unsupported",
                "delete rules are not supported",
                place=rule.place,
                hint="derive the rows that should stay, with the condition negated; networks run such rules",
            )
        relation = rule.heads[0].relation
        if not rule.body:
            label = f"{relation}#fact{len(rules)}"
        elif rule.label is not None:
            label = rule.label
            if label in seen and roles.network:
                label = next(name for i in count(2) if (name := f"{rule.label}~{i}") not in seen)
            if label in seen:
                first = seen[label]
                at = f" (first at line {first.line})" if first is not None else ""
                raise RuleError(
                    "duplicate-label",
                    f"two rules are labelled {label}{at}",
                    place=rule.place,
                    hint="give each rule a label of its own, or none",
                )
            seen[label] = rule.place
        else:
            numbers[relation] = numbers.get(relation, 0) + 1
            label = rule.id or f"{relation}#{numbers[relation]}"
            seen[label] = rule.place
        rules.append(
            DraftRule(
                label,
                rule.heads,
                rule.body,
                None,
                rule.place,
                rule.text,
                label,
                update if rule.body else None,
            )
        )
    inputs = {d.relation for d in program.directives if d.kind == "input"}
    given = frozenset(known) | inputs
    actions = [action for rule in program.active for action in rule.actions]
    taken = (
        given
        | {atom.relation for rule in program.rules for atom in rule.heads}
        | {d.relation for d in program.declarations}
        | {t.relation for t in program.tables}
        | {rule.event.relation for rule in program.active}
        | {action.atom.relation for action in actions if action.atom is not None and action.kind != "call"}
    )
    taken |= set(roles.known())
    return Draft(
        tuple(rules), program, functions, known, frozenset(taken), given, nullable=nullable, roles=roles
    )
