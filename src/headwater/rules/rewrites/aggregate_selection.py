"""A recursive relation that is only asked for its best rows keeps only those.

Loo et al. 2006, section 5.1.1; Liu et al. 2008, section 6, with several aggregates at once. `path` enumerates
all paths, and over a cycle there are infinitely many; `minCost(X, Y, min<C>)` only looks at the cheapest, and
the others can be dropped while `path` is being computed, because a cheapest path extends cheapest paths.

When that holds. Take a rule of `path` that reads `path`, a premise row *s* and a better row *s'* of the same
group. The rule must derive from *s'* whatever it derives from *s*, with a better value in the same group:
- everything outside the group is only carried along: not joined, not tested (except by a bound that better
  values meet as well), not part of the head's group;
- the head's value is a strictly increasing function of the premise's. Then rows that are best come from best
  rows only. If it only never decreases (`min(B1, B2)`), the best value is right but rows that reach it may be
  lost: enough for those who only ask for the value.
All rows that share the best value stay; cycles that cost nothing still give infinitely many of those.
Who else reads `path` must join it with the aggregate on the whole group and the value. And nobody may have
asked for `path` itself: it would not be the relation that was written. A recursion that computes no new values
comes to an end by itself, so its relation is left as it was written too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.language.program import Call, Constant, Term, Variable, Wildcard
from headwater.rules.checked import Absent, Compute, Premise, Selection, Test
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.nullability import Nullability, Nulls, infer_nullability
from headwater.rules.strata import components, dependencies
from headwater.rules.terms import atoms, variables
from headwater.values.functions import Functions

_BETTER = {"min": ("<", "<="), "max": (">", ">=")}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def aggregate_selection(draft: Draft) -> Draft:
    """Give a recursive relation the selections of those that aggregate it, where that loses nothing.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.rewrites.head_aggregates import head_aggregates
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> text = '''
    ...     path(X, Y, C) :- link(X, Y, C).
    ...     path(X, Y, C) :- link(X, Z, C1), path(Z, Y, C2), C = C1 + C2.
    ...     cost(X, Y, min<C>) :- path(X, Y, C).
    ... '''
    >>> draft = orient_equalities(head_aggregates(begin(parse(text), Functions())))
    >>> aggregate_selection(draft).selections["path"]
    (Selection(group=(0, 1), value=2, best='min'),)
    """
    if not draft.selections:  # nobody asks for best rows
        return draft
    asked = {d.relation for d in draft.program.directives if d.kind in ("output", "printsize")}
    asked |= {atom.relation for query in draft.program.queries for atom, _ in atoms(query.body)}
    graph = dependencies(draft.rules)
    nulls = infer_nullability(draft)
    for members in components(graph):
        relation = members[0]
        if len(members) > 1 or relation not in graph[relation]:
            continue
        if relation in asked or relation in draft.selections or relation in draft.internal:
            continue
        choices = _choices(draft, nulls, relation)
        if choices:
            selections = tuple(dict.fromkeys(choice.selection for choice in choices))
            who = " and ".join(dict.fromkeys(draft.owner(choice.relation) for choice in choices))
            draft = replace(draft, selections={**draft.selections, relation: selections})
            draft = draft.note(
                f"{relation} keeps only rows that are best for {who} (aggregate selection); "
                f"to have all of its rows, ask for it with .output {relation}"
            )
    return draft


def one_aggregate_selection(draft: Draft) -> Draft:
    """The same where one aggregate asks for the best rows; relations that several ask for keep all of theirs."""
    done = aggregate_selection(draft)
    single = {
        name: selections
        for name, selections in done.selections.items()
        if name in draft.selections or len(selections) == 1
    }
    if single == done.selections:
        return done
    return replace(done, selections=single, notes=draft.notes)


@dataclass(frozen=True)
class _Choice:
    """One aggregate over the relation: where its columns come from, what it fixes, and what it selects."""

    relation: str
    columns: tuple[int, ...]
    fixed: tuple[tuple[int, Constant], ...]
    selection: Selection


def _choices(draft: Draft, nulls: Nullability, relation: str) -> list[_Choice]:
    """The aggregates over the relation, or none if it has other readers or its own rules do not allow it."""
    choices: list[_Choice] = []
    readers: list[DraftRule] = []
    for rule in draft.rules:
        if rule.relation == relation or not _reads(rule, relation):
            continue
        choice = _choice(draft, rule)
        if choice is None:
            readers.append(rule)
        else:
            choices.append(choice)
    joined: set[_Choice] = set()
    for rule in readers:
        for item in rule.body:
            if isinstance(item, Absent) and item.relation == relation:
                return []
            if isinstance(item, Premise) and item.relation == relation:
                partners = [choice for choice in choices if _joins(rule, item, choice)]
                if not partners:
                    return []
                joined.update(partners[:1])
    own = [rule for rule in draft.rules if rule.relation == relation and _reads(rule, relation)]
    if not any(isinstance(item, Compute) for rule in own for item in rule.body):
        return []
    if len({choice.selection.group for choice in choices}) > 1:
        return []
    for choice in choices:
        for rule in own:
            recursion = _Recursion(draft.functions, rule, choice.selection, nulls.variables(rule))
            if not recursion.keeps_best(strictly=choice in joined):
                return []
    return choices


def _reads(rule: DraftRule, relation: str) -> bool:
    return any(isinstance(item, (Premise, Absent)) and item.relation == relation for item in rule.body)


def _choice(draft: Draft, rule: DraftRule) -> _Choice | None:
    """What the rule selects, if all it does is to take the best rows of its one premise."""
    selections = draft.selections.get(rule.relation, ())
    if len(selections) != 1 or not isinstance(rule.body[0], Premise):
        return None
    renamed = _unlabelled(rule)
    if len(rule.body) != 1 + len(renamed):
        return None
    where: dict[str, int] = {}
    fixed: list[tuple[int, Constant]] = []
    for i, arg in enumerate(rule.body[0].args):
        if isinstance(arg, Constant):
            fixed.append((i, arg))
        elif isinstance(arg, Variable):
            if arg.name in where:
                return None
            where[arg.name] = i
    named = [renamed.get(arg.name, arg.name) for arg in rule.head.args if isinstance(arg, Variable)]
    columns = [where[name] for name in named if name in where]
    if len(columns) != len(rule.head.args) or len(set(columns)) != len(columns):
        return None
    value = columns[selections[0].value]
    group = sorted([i for i in columns if i != value] + [i for i, _ in fixed])
    selection = Selection(tuple(group), value, selections[0].best)
    return _Choice(rule.relation, tuple(columns), tuple(fixed), selection)


def _unlabelled(rule: DraftRule) -> dict[str, str]:
    """Variables that are others without labelled nulls: all nulls are equally bad, so these are as good."""
    return {
        item.variable.name: item.value.args[0].name
        for item in rule.body
        if isinstance(item, Compute)
        and isinstance(item.value, Call)
        and item.value.function == "unlabelled"
        and isinstance(item.value.args[0], Variable)
    }


def _joins(rule: DraftRule, premise: Premise, choice: _Choice) -> bool:
    """Whether the rule reads, with this premise, only rows that are best by the choice."""
    for position, constant in choice.fixed:
        if repr(premise.args[position]) != repr(constant):
            return False
    wanted = [premise.args[i] for i in choice.columns]
    if any(isinstance(arg, Wildcard) for arg in wanted):
        return False
    return any(
        isinstance(item, Premise) and item.relation == choice.relation and _same(item.args, wanted)
        for item in rule.body
    )


def _same(left: Sequence[Term], right: Sequence[Term]) -> bool:
    return [_key(term) for term in left] == [_key(term) for term in right]


def _key(term: Term) -> tuple[str, str]:
    if isinstance(term, Variable):
        return "variable", term.name
    return "other", repr(term)


class _Recursion:
    """One rule of the relation that reads the relation, seen with one selection."""

    def __init__(
        self, functions: Functions, rule: DraftRule, selection: Selection, nulls: Mapping[str, Nulls]
    ):
        self._functions = functions
        self._nulls = nulls
        self._rule = rule
        self._selection = selection
        self._premises = [
            item for item in rule.body if isinstance(item, Premise) and item.relation == rule.relation
        ]
        self._value = ""
        self._carried: set[str] = set()
        self._growths: dict[str, str] = {}

    def keeps_best(self, *, strictly: bool) -> bool:
        """Whether a better premise row gives a better head row of the same group, in place of the same."""
        if len(self._premises) != 1 or not self._find_carried() or not self._only_carried():
            return False
        head = self._rule.head.args
        if any(v.name in self._carried for i in self._selection.group for v in variables(head[i])):
            return False
        growth = self._growth(head[self._selection.value])
        return growth == "strict" or (growth == "weak" and not strictly)

    def _find_carried(self) -> bool:
        """The premise's variables outside the group and all that is computed from them."""
        args = self._premises[0].args
        grouped = {v.name for i in self._selection.group for v in variables(args[i])}
        for i, arg in enumerate(args):
            if i in self._selection.group:
                continue
            if isinstance(arg, Constant):
                return False
            if isinstance(arg, Variable):
                if arg.name in grouped or arg.name in self._carried:
                    return False
                self._carried.add(arg.name)
                if i == self._selection.value:
                    self._value = arg.name
        for item in self._rule.body:
            if isinstance(item, Compute) and self._uses_carried(item.value):
                if self._generates(item.value) or self._binders(item.variable.name) > 1:
                    return False
                self._carried.add(item.variable.name)
                self._growths[item.variable.name] = self._growth(item.value)
        return bool(self._value)

    def _binders(self, name: str) -> int:
        """How many items give the variable a value; all but one of them test it."""
        return sum(
            item.variable.name == name
            if isinstance(item, Compute)
            else isinstance(item, Premise)
            and any(v.name == name for arg in item.args for v in variables(arg))
            for item in self._rule.body
        )

    def _only_carried(self) -> bool:
        """Whether nothing but computations and harmless bounds uses what is carried."""
        for item in self._rule.body:
            if item is self._premises[0]:
                continue
            if isinstance(item, (Premise, Absent)):
                if any(self._uses_carried(arg) for arg in item.args):
                    return False
            elif isinstance(item, Test) and not self._harmless(item):
                return False
        return True

    def _harmless(self, test: Test) -> bool:
        """A test that a better value passes as well: of other things, or a bound on the value."""
        if not self._uses_carried(test.left) and not self._uses_carried(test.right):
            return True
        op, left, right = test.op, test.left, test.right
        if self._uses_carried(right):
            op, left, right = _MIRROR.get(op, op), right, left
        if self._uses_carried(right) or op not in _BETTER[self._selection.best]:
            return False
        return self._growth(left) in ("strict", "weak")

    def _growth(self, term: Term) -> str:
        """How the term grows with the premise's value: strict, weak, not at all (none), or unclear."""
        if not self._uses_carried(term):
            return "none"
        if isinstance(term, Variable):
            if term.name == self._value:
                return "strict"
            return self._growths.get(term.name, "unclear")
        if not isinstance(term, Call):
            return "unclear"
        parts = [self._growth(arg) for arg in term.args]
        if "unclear" in parts:
            return "unclear"
        if term.function == "+" or (term.function == "-" and parts[-1:] == ["none"]):
            return "weak" if "weak" in parts or self._may_swallow(term) else "strict"
        if term.function == "*" and any(_positive(arg) for arg in term.args):
            return parts[0] if parts[1] == "none" else parts[1]
        if term.function in ("min", "max", "f_min", "f_max"):
            return "weak"
        return "unclear"

    def _may_swallow(self, term: Call) -> bool:
        """Whether a null among what is not carried may make all sums null, so that no premise is better."""
        return any(
            self._nulls.get(v.name)
            for arg in term.args
            if not self._uses_carried(arg)
            for v in variables(arg)
        )

    def _uses_carried(self, term: Term) -> bool:
        return any(v.name in self._carried for v in variables(term))

    def _generates(self, term: Term) -> bool:
        return isinstance(term, Call) and (
            self._functions.is_generator(term.function) or any(self._generates(arg) for arg in term.args)
        )


def _positive(term: Term) -> bool:
    return isinstance(term, Constant) and type(term.value) in (int, float) and term.value > 0  # type: ignore[operator]
