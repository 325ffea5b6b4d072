"""Rule instances: a rule with all its variables bound, and the rows it rests on (green-2007 section 4.1.2).

The engine's plans project to the head as early as they can. Here every rule is run with all its variables as
head, as in the mapping rules `P(x, y) :- body` of the paper, so that the rows of all premises can be named.
What an instance rests on are rows of this stratum, rows of lower strata, and the absence of rows there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from headwater.language.program import Constant, Term, Variable, Wildcard
from headwater.maintain.demanded import Demanded
from headwater.maintain.workspace import Rows, RuleSet, Workspace
from headwater.plan.execute import Access
from headwater.plan.steps import Ints
from headwater.rules.checked import Absent, CheckedRule, Item, Premise, Stratum
from headwater.values.layout import constant_code


class Key(NamedTuple):
    """A row, or with `absent` that there is no such row, by its codes."""

    relation: str
    codes: tuple[int, ...]
    absent: bool = False


@dataclass(frozen=True)
class Instance:
    """One way to derive `head`. `position` tells which of the premises the search started from."""

    rule: str
    head: Key
    premises: tuple[Key, ...]
    position: int


@dataclass(frozen=True)
class Template:
    """How a row is read off a binding: columns (from 0 up) or constants (their codes, at -1, -2 and so on)."""

    relation: str
    absent: bool
    sources: tuple[int, ...]
    constants: tuple[int, ...]

    def key(self, binding: list[int]) -> Key:
        """The row under a binding."""
        return Key(
            self.relation,
            tuple(binding[s] if s >= 0 else self.constants[-s - 1] for s in self.sources),
            self.absent,
        )


@dataclass(frozen=True)
class Reader:
    """How head and premises are read off the bindings of one rule; `place` gives a body item's premise."""

    head: Template
    premises: tuple[Template, ...]
    place: dict[int, int]


class Instances:
    """The instances of a stratum's rules, found from given rows."""

    def __init__(self, workspace: Workspace, stratum: Stratum):
        named = tuple(_named(rule) for rule in stratum.rules)
        self.rules = RuleSet(workspace, replace(stratum, rules=tuple(_unprojected(rule) for rule in named)))
        self._readers = {
            rule.label: _reader(workspace, rule) for rule in named if rule.label not in self.rules.demanded
        }

    def run(
        self,
        rule: CheckedRule,
        position: int,
        rows: Rows,
        access: Access,
        take: Callable[[Instance], None],
    ) -> int:
        """Hand all instances of a rule that use one of the given rows at a body position to `take`."""
        demanded = self.rules.demanded.get(rule.label)
        if demanded is not None:
            return self.rules.run(
                rule, position, rows, access, lambda found: _looked_up(demanded, found, take)
            )
        reader = self._readers[rule.label]
        place = reader.place[position]

        def sink(bindings: Ints) -> None:
            for binding in bindings.tolist():
                premises = tuple(template.key(binding) for template in reader.premises)
                take(Instance(rule.label, reader.head.key(binding), premises, place))

        return self.rules.run(rule, position, rows, access, sink)


VALUE = "~value of "


def looked_up(relation: str, codes: tuple[int, ...]) -> Key:
    """That an aggregate by demand has the value that this row of it says, as a premise."""
    return Key(VALUE + relation, codes)


def _looked_up(demanded: Demanded, found: Ints, take: Callable[[Instance], None]) -> None:
    """An aggregate by demand rests on the row that asks for it and on its value."""
    label, relation = demanded.rule.label, demanded.rule.relation
    for row, asking in zip(found[:, :-1].tolist(), demanded.asking(found).tolist(), strict=True):
        head = Key(relation, tuple(row))
        premises = (Key(demanded.relation, tuple(asking)), looked_up(relation, head.codes))
        take(Instance(label, head, premises, 0))


def _named(rule: CheckedRule) -> CheckedRule:
    """The rule with a variable for each wildcard."""
    fresh = (Variable(f"\0any{number}") for number in range(1 << 30))

    def fixed(item: Item) -> Item:
        if not isinstance(item, Premise):
            return item
        return replace(
            item, args=tuple(next(fresh) if isinstance(arg, Wildcard) else arg for arg in item.args)
        )

    return replace(rule, body=tuple(fixed(item) for item in rule.body))


def _variables(rule: CheckedRule) -> tuple[Variable, ...]:
    """All variables of head and premises, each once."""

    def mentioned() -> Iterator[Term]:
        yield from rule.head
        for item in rule.body:
            if isinstance(item, Premise | Absent):
                yield from item.args

    return tuple(dict.fromkeys(Variable(term.name) for term in mentioned() if isinstance(term, Variable)))


def _unprojected(rule: CheckedRule) -> CheckedRule:
    if rule.aggregate is not None:
        return rule
    return replace(rule, head=_variables(rule))


def _reader(workspace: Workspace, rule: CheckedRule) -> Reader:
    columns = {variable.name: column for column, variable in enumerate(_variables(rule))}

    def template(relation: str, args: tuple[Term, ...], absent: bool) -> Template:
        sources: list[int] = []
        constants: list[int] = []
        for arg in args:
            if isinstance(arg, Constant):
                constants.append(constant_code(workspace.codec, arg.value))
                sources.append(-len(constants))
            else:
                assert isinstance(arg, Variable), arg
                sources.append(columns[arg.name])
        return Template(relation, absent, tuple(sources), tuple(constants))

    premises: list[Template] = []
    place: dict[int, int] = {}
    for position, item in enumerate(rule.body):
        if isinstance(item, Premise | Absent):
            place[position] = len(premises)
            premises.append(template(item.relation, item.args, isinstance(item, Absent)))
    return Reader(template(rule.relation, rule.head, False), tuple(premises), place)
