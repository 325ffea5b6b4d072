"""Event and condition: which rows that come or go something is to be done about.

A trigger is data. Against a catalog it is `Armed`: checked, and a question whose facts are the changed rows,

    ~goal(X, Y) :- ~event(X, Y), X > 3, owner(Y, Z).

so what it costs follows the change. The event's rows are those that came, or those that went; all the rest is read as
it is when the question is asked: inside a version, and after it, that is the new state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headwater.catalog import Catalog
from headwater.catalog.question import GOAL, Question, question
from headwater.errors import DataError, EvaluationError, LanguageError, RuleError
from headwater.language.datalog.questions import parse_question
from headwater.language.program import (
    Atom,
    Column,
    Constant,
    Declaration,
    EventSign,
    Literal,
    Positive,
    Program,
    Query,
    Term,
    Variable,
    Wildcard,
)
from headwater.local.runner import Runner
from headwater.maintain.goals import Means
from headwater.plan.goals import GoalProgram, goal_program
from headwater.plan.steps import Ints
from headwater.rules.checked import Kind, RelationInfo
from headwater.rules.terms import plain
from headwater.values import arguments
from headwater.values.codec import Codec
from headwater.values.generators import GENERATORS
from headwater.values.layout import Layout
from headwater.version.row_change import RowChange

SIGNS: Mapping[str, EventSign] = {"added": "+", "removed": "-", "changed": "±"}
"""What `on` says, and the sign that a text has for it."""

EVENT = "~event"
"""The relation of the changed rows."""
_IN_RULE = re.compile(r", in rule \S*~\S*$")
"""What errors say of a rule that nobody has written."""


@dataclass(frozen=True)
class Trigger:
    """Rows that come (`+`), go (`-`) or either (`±`), and match `event`; `condition` must hold of them."""

    sign: EventSign
    event: Atom
    condition: tuple[Literal, ...] = ()

    @property
    def relation(self) -> str:
        """The relation whose rows come or go."""
        return self.event.relation

    @property
    def plain(self) -> bool:
        """Whether all rows of the relation are meant."""
        return self.selecting and not self.constants

    @property
    def selecting(self) -> bool:
        """Whether all rows of the relation are meant that have the constants of the event."""
        variables = [arg.name for arg in self.event.args if isinstance(arg, Variable)]
        return not self.condition and len(set(variables)) == len(variables)

    @property
    def constants(self) -> tuple[tuple[int, object], ...]:
        """The constants of the event, by column."""
        return tuple((i, arg.value) for i, arg in enumerate(self.event.args) if isinstance(arg, Constant))


def parse_trigger(goal: str, on: str = "added", when: str | None = None) -> Trigger:
    """What Python says of an event: a goal such as `alarm(X, 'high')`, and a condition such as `X > 3`.

    >>> trigger = parse_trigger("alarm(X, 'high'), X > 3", "removed", "!quiet(X)")
    >>> trigger.sign, trigger.relation, len(trigger.condition)
    ('-', 'alarm', 2)
    """
    sign = SIGNS[arguments.one_of("on", on, tuple(SIGNS))]
    body = _body(arguments.text("goal", goal), "<goal>")
    event = body[0]
    if not isinstance(event, Positive):
        raise LanguageError(
            "syntax",
            "a goal to watch begins with the relation whose rows come or go",
            hint="for example: alarm(X, 'high'), with conditions after it or as when='X > 3'",
        )
    condition = () if when is None else _body(arguments.text("when", when), "<when>")
    return Trigger(sign, event.atom, (*body[1:], *condition))


def _body(text: str, source: str) -> tuple[Literal, ...]:
    program = parse_question(text, source)
    if program.rules or program.declarations or program.directives:
        raise LanguageError(
            "syntax",
            f"{source.strip('<>')} has rules or declarations of its own",
            hint="define a view for that, and watch the view",
        )
    for slip in program.slips:
        if isinstance(slip, LanguageError):
            raise slip
    return program.queries[0].body


@dataclass(frozen=True)
class Fired:
    """The rows that a trigger gives for a version, as codes: for those that came, and for those that went."""

    layout: Layout
    codec: Codec
    added: Ints
    removed: Ints

    def __bool__(self) -> bool:
        return bool(self.added.shape[0] or self.removed.shape[0])

    @property
    def rows(self) -> Ints:
        """Both together, each once."""
        if not self.removed.shape[0] or not self.added.shape[0]:
            return self.added if self.added.shape[0] else self.removed
        if not self.layout.arity:
            return self.added
        return np.unique(np.concatenate([self.added, self.removed]), axis=0)

    @property
    def inserted(self) -> list[tuple[Any, ...]]:
        """For those that came, as tuples."""
        return self.layout.decode(self.codec, self.added)

    @property
    def deleted(self) -> list[tuple[Any, ...]]:
        """For those that went, as tuples."""
        return self.layout.decode(self.codec, self.removed)


@dataclass(frozen=True)
class Armed:
    """A trigger of a catalog, and the question that tells its rows: `None` where that is all changed rows."""

    trigger: Trigger
    layout: Layout
    question: Question | None
    event: Layout | None = None
    """The layout of the event's relation, where rows are first looked through for the constants of the event."""
    selecting: bool = False
    """Whether no more has to be asked of the rows that have them."""
    _programs: list[GoalProgram] = field(default_factory=list, compare=False, repr=False)
    """What the question comes to, once it was asked."""

    def concerns(self, changes: Mapping[str, RowChange]) -> bool:
        """Whether the relation differs at all."""
        return self.trigger.relation in changes

    def fired(self, changes: Mapping[str, RowChange], runner: Runner, means: Means) -> Fired:
        """The rows for what a version did. Codes are those of the codec of the means, which may learn values."""
        none = self.layout.empty()
        change = changes.get(self.trigger.relation)
        if change is None:
            return Fired(self.layout, means.codec, none, none)
        sign = self.trigger.sign
        added = self._asked(change.gained, runner, means) if sign != "-" else none
        removed = self._asked(change.lost, runner, means) if sign != "+" else none
        return Fired(self.layout, means.codec, added, removed)

    def _asked(self, rows: Ints, runner: Runner, means: Means) -> Ints:
        if self.question is None:
            return rows
        rows, told = self._selected(rows, means.codec)
        if not rows.shape[0]:
            return self.layout.empty()
        if told and self.selecting:
            return rows
        asked = self.question
        if not self._programs:
            self._programs.append(
                goal_program(asked.goal, asked.rules, asked.infos, runner.fanout, GENERATORS)
            )
        facts = {
            name: rows if name == EVENT else asked.infos[name].layout.encode(means.codec, given, name)
            for name, given in asked.facts.items()
        }
        try:
            found, _ = runner.evaluate(self._programs[0], facts, means)
        except EvaluationError as error:
            message = _IN_RULE.sub("", error.message)
            raise EvaluationError(error.code, message, place=error.place, hint=error.hint) from error
        return found if self.layout.arity else found[:1, :0]

    def _selected(self, rows: Ints, codec: Codec) -> tuple[Ints, bool]:
        """The rows that have the constants of the event, as far as codes tell; and whether they tell it of all."""
        told = True
        for column, value in self.trigger.constants:
            if self.event is None or value is None or not rows.shape[0]:
                told = False
                continue
            one = Layout(self.event.columns[column : column + 1], self.event.types[column : column + 1])
            try:
                code, _ = one.find(codec, [(value,)], self.trigger.relation)
            except DataError:
                told = False
                continue
            if not code.shape[0]:  # nobody has ever seen this value
                return rows[:0], True
            rows = rows[rows[:, self.event.code(column)] == code[0, 0]]
        return rows, told


def armed(
    trigger: Trigger, catalog: Catalog, answers: tuple[Term, ...] | None = None, into: Layout | None = None
) -> Armed:
    """Check a trigger against a catalog.

    What it gives are the rows of the event's relation, or `answers`: terms over the variables of event and condition,
    with the columns of the layout `into`, if they are to be rows of a relation.
    """
    info = _event_relation(trigger, catalog)
    if answers is None:
        if trigger.plain:
            return Armed(trigger, info.layout, None)
        args = named(trigger.event.args)
        trigger_, answers, into = replace(trigger, event=replace(trigger.event, args=args)), args, info.layout
    else:
        trigger_ = trigger
    try:
        asked = _question(trigger_, info, catalog, answers, into)
    except RuleError as error:
        raise _in_words(error, trigger.relation, own=answers is trigger_.event.args) from None
    layout = asked.info.layout if answers else Layout((), ())
    own = answers is trigger_.event.args
    return Armed(
        trigger, layout if into is None else into, asked, info.layout, selecting=own and trigger.selecting
    )


def _question(
    trigger: Trigger, info: RelationInfo, catalog: Catalog, answers: tuple[Term, ...], into: Layout | None
) -> Question:
    """The question whose answers are these, with the changed rows as facts."""
    event, place = trigger.event, trigger.event.place
    body = (Positive(Atom(EVENT, event.args, place=place)), *trigger.condition)
    declared = [_declaration(EVENT, info.layout)]
    if into is not None and answers:
        declared.append(_declaration(GOAL, into))
    program = Program(declarations=tuple(declared), queries=(Query(body, place),))
    return question(catalog, program, tuple(f"c{i}" for i in range(len(answers))), answers)


def _declaration(name: str, layout: Layout) -> Declaration:
    nullable = layout.nullable or (False,) * layout.arity
    columns = zip(layout.columns, layout.types, nullable, strict=True)
    return Declaration(name, tuple(Column(*column) for column in columns))


def _event_relation(trigger: Trigger, catalog: Catalog) -> RelationInfo:
    """The relation of the event; refuses one that is not there, has other columns, or is called with expressions."""
    event = trigger.event
    try:
        info = catalog.info(event.relation)
    except KeyError as error:
        unknown: Any = error
        raise RuleError(unknown.code, unknown.message, place=event.place, hint=unknown.hint) from None
    if info.kind is Kind.VIRTUAL:
        raise RuleError(
            "virtual-relation",
            f"{info.name} is virtual: nobody knows which of its rows come and go",
            place=event.place,
            hint=f"let it be watched: .kind {info.name} watched, or db.keep({info.name!r}, 'watched')",
        )
    if info.kind is Kind.WATCHED and info.told not in ("±", trigger.sign):
        word = next(word for word, sign in SIGNS.items() if sign == info.told)
        raise RuleError(
            "unsupported",
            f"of {info.name} only rows that are {word} are told",
            place=event.place,
            hint=f"listen to those: {info.told}{info.name}(...), on={word!r}; or let it be watched:"
            f" .kind {info.name} watched, or db.keep({info.name!r}, 'watched')",
        )
    if len(event.args) != info.arity:
        columns = f"{info.name}({', '.join(info.columns)})"
        raise RuleError(
            "wrong-arity",
            f"{info.name} has {info.arity} columns, not {len(event.args)}",
            place=event.place,
            hint=f"it is {columns}; write _ for columns that do not matter",
        )
    if not plain(event.args):
        raise RuleError(
            "unsupported",
            f"the event {info.name} has something computed among its arguments",
            place=event.place,
            hint="give the column a variable and compare it: +cost(X, C), C > Y + 1",
        )
    return info


def named(args: tuple[Term, ...]) -> tuple[Term, ...]:
    """With variables for wildcards, so that whole rows are known."""
    return tuple(Variable(f"any~{i}") if isinstance(arg, Wildcard) else arg for i, arg in enumerate(args))


def _in_words(error: RuleError, relation: str, *, own: bool) -> RuleError:
    """An error about a trigger, in the user's words; `own` if its answers are rows of the event's relation."""

    def words(text: str | None) -> str | None:
        return text and text.replace(EVENT, relation).replace(GOAL, relation if own else "the action")

    return RuleError(error.code, words(error.message) or "", place=error.place, hint=words(error.hint))
