"""Parse trees of active rules become data: `on +alarm(X, Y), X > 3 do insert ticket(X, Y).`"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from headwater.errors import LanguageError
from headwater.language.datalog.quoted import text_of
from headwater.language.datalog.terms import TermReader
from headwater.language.datalog.trees import is_word, trees, words
from headwater.language.program import (
    ActionKind,
    ActiveRule,
    Atom,
    Coupling,
    EventSign,
    HeadAggregate,
    Literal,
    RuleAction,
)

if TYPE_CHECKING:
    from lark import Token, Tree

    from headwater.language.datalog.trees import Node

AT_ONCE = ("insert", "delete", "refuse")
"""Actions that are done in the same version, if nothing else is said; the others are done after it."""

VALUE = re.compile(r"\{\{|\}\}|\{([^\W\d]\w*)\}")
"""In the message of a refusal: the value of a variable; or a brace, written twice."""


def read_active(statement: Tree[Token], terms: TermReader, text: str) -> ActiveRule:
    """An active rule; `text` is what was written."""
    label: str | None = None
    condition: list[Literal] = []
    actions: list[RuleAction] = []
    event: Tree[Token] | None = None
    for node in statement.children:
        if is_word(node, "IDENT") and event is None:
            label = str(node)
        elif isinstance(node, str) and node.type in ("ON", "DO"):
            continue
        elif not isinstance(node, str) and node.data == "label":
            label = "-".join(words(node))
        elif not isinstance(node, str) and node.data == "event":
            event = node
        elif not isinstance(node, str) and node.data == "action":
            actions.append(_action(node, terms))
        else:
            condition += terms.literals(node)
    assert event is not None
    sign, atom = _event(event, terms)
    return ActiveRule(label, sign, atom, tuple(condition), tuple(actions), terms.place(statement), text)


def conditions_of(statement: Tree[Token]) -> list[Node]:
    """The parts of an active rule that have variables: event, conditions, actions."""
    return [node for node in statement.children if isinstance(node, str) or node.data != "label"]


def _event(event: Tree[Token], terms: TermReader) -> tuple[EventSign, Atom]:
    signs = words(event)
    sign = "±" if not signs or signs[0] == "+-" else str(signs[0])
    return cast(EventSign, sign), terms.atom(trees(event)[0])


def _action(action: Tree[Token], terms: TermReader) -> RuleAction:
    """`insert ticket(X, Y)`, `after run "command"`."""
    said = [node for node in words(action) if node.type != "STRING"]
    kind = cast(ActionKind, str(said[-1]))
    coupling: Coupling = "now" if kind in AT_ONCE else "after"
    if len(said) > 1:
        coupling = cast(Coupling, str(said[0]))
        if kind == "refuse" and coupling == "after":
            raise terms.refuse(
                action, "a version cannot be refused after it", "leave out after: do refuse 'message'"
            )
    place = terms.place(action)
    for call in trees(action):
        atom = terms.atom(call)
        for arg in atom.args:
            if isinstance(arg, HeadAggregate):
                raise terms.refuse(
                    action, "an action has no aggregates", "aggregate in a view, and watch that"
                )
        return RuleAction(kind, coupling, atom, place=place)
    (written,) = (node for node in words(action) if node.type == "STRING")
    try:
        text = text_of(written)
    except ValueError as error:
        raise LanguageError("constant", str(error), place=terms.place(written)) from None
    return RuleAction(kind, coupling, text=text, place=place)


def message_variables(text: str) -> tuple[str, ...]:
    """The variables whose values a message has, in order, each once.

    >>> message_variables("{X} may not have {Y}, {{X}}, {X}")
    ('X', 'Y')
    """
    return tuple(dict.fromkeys(match[1] for match in VALUE.finditer(text) if match[1] is not None))
