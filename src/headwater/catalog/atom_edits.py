"""Programs whose atoms of one relation are written otherwise: by another name, or with a column more or less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headwater.language.datalog.render import render
from headwater.language.program import (
    ActiveRule,
    Atom,
    BodyAggregate,
    Call,
    Comparison,
    Disjunction,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Program,
    Query,
    Rule,
    RuleAction,
    Term,
)
from headwater.rules.terms import rebuild

Arguments = tuple[Term, ...]


@dataclass(frozen=True)
class AtomEdit:
    """What becomes of the atoms of a relation: their name, and their arguments in bodies and in facts."""

    relation: str
    to: str
    read: Callable[[Arguments], Arguments] = lambda args: args
    stated: Callable[[Arguments], Arguments] = lambda args: args

    def program(self, program: Program) -> Program:
        """A program with the atoms of all its rules, queries and active rules edited; statements about the relation
        have its new name."""

        def named(name: str) -> str:
            return self.to if name == self.relation else name

        return replace(
            program,
            rules=tuple(map(self._rule, program.rules)),
            declarations=tuple(replace(each, relation=named(each.relation)) for each in program.declarations),
            tables=tuple(replace(each, relation=named(each.relation)) for each in program.tables),
            directives=tuple(replace(each, relation=named(each.relation)) for each in program.directives),
            queries=tuple(Query(self._body(query.body), query.place) for query in program.queries),
            active=tuple(map(self._active, program.active)),
        )

    def _rule(self, rule: Rule) -> Rule:
        heads = tuple(self._head(head, fact=not rule.body) for head in rule.heads)
        body = self._body(rule.body)
        if (heads, body) == (rule.heads, rule.body):
            return rule
        changed = replace(rule, heads=heads, body=body)
        return replace(changed, text=render(changed))

    def _head(self, head: Atom, *, fact: bool) -> Atom:
        args = tuple(map(self._term, head.args))
        if head.relation != self.relation:
            return replace(head, args=args)
        return replace(head, relation=self.to, args=self.stated(args) if fact else args)

    def _active(self, rule: ActiveRule) -> ActiveRule:
        changed = replace(
            rule,
            event=self._atom(rule.event),
            condition=self._body(rule.condition),
            actions=tuple(map(self._action, rule.actions)),
        )
        return rule if changed == rule else replace(changed, text=render(changed))

    def _action(self, action: RuleAction) -> RuleAction:
        if action.atom is None or action.kind == "call":
            return action
        return replace(action, atom=self._head(action.atom, fact=False))

    def _body(self, body: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(map(self._literal, body))

    def _literal(self, part: Literal) -> Literal:
        if isinstance(part, Positive | Negated):
            return replace(part, atom=self._atom(part.atom))
        if isinstance(part, NegatedGroup):
            return replace(part, body=self._body(part.body))
        if isinstance(part, Disjunction):
            return replace(part, alternatives=tuple(map(self._body, part.alternatives)))
        assert isinstance(part, Comparison)
        return replace(part, left=self._term(part.left), right=self._term(part.right))

    def _atom(self, atom: Atom) -> Atom:
        args = tuple(map(self._term, atom.args))
        if atom.relation != self.relation:
            return replace(atom, args=args)
        return replace(atom, relation=self.to, args=self.read(args))

    def _term(self, term: Term) -> Term:
        def change(inner: Term) -> Term:
            if isinstance(inner, BodyAggregate):
                return replace(inner, body=self._body(inner.body))
            if (
                isinstance(inner, Call) and inner.function == self.relation
            ):  # NDlog: f_concatPath(link(@S,@D,C), P)
                return replace(inner, function=self.to)
            return inner

        return rebuild(term, change)
