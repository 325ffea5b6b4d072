"""Programs, rules, literals and terms as text that reads back as the same.

>>> from headwater.language.datalog import parse
>>> program = parse('p(X) :- q(X, a), X*(Y+1) < 5 ; !r(X,"b").')
>>> print(render(program), end="")
p(X) :- (q(X, "a"), X * (Y + 1) < 5 ; !r(X, "b")).
>>> parse(render(program)) == program
True

Strings are always quoted, so only variables could be misread. Declarations are written with `.decl`, which
makes every bare name a variable; where there are none and some variable would be taken for a string, a
`.pragma` at the top prevents it.

What `parse` cannot give has no text: a list of constants as a call (`Constant((1, 2))` is what is read), a
disjunction of one alternative, names with other characters than letters, digits and `_`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from headwater.errors import LanguageError
from headwater.language.datalog.dialect import capital
from headwater.language.datalog.operators import AGGREGATES, BINARY, UNARY
from headwater.language.program import (
    ActiveRule,
    Atom,
    BodyAggregate,
    Call,
    Column,
    Comparison,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    HeadAggregate,
    Literal,
    Materialize,
    Negated,
    NegatedGroup,
    Positive,
    Program,
    Rule,
    RuleAction,
    Term,
    Variable,
    Wildcard,
)
from headwater.values.literals import literal
from headwater.values.record import FrozenMap, Struct, record_fields
from headwater.values.special import LabelledNull
from headwater.values.types import field_name

Node = (
    Program | Rule | ActiveRule | RuleAction | Declaration | Materialize | Directive | Atom | Literal | Term
)

MARK = '.pragma "variables" "bare"'
"""Says that every bare name is a variable."""

_SYMBOLS = frozenset("+-*/%^")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ATOMIC = UNARY + 2


def render(node: Node) -> str:
    """The text of a program (one statement a line) or of a part of one (without a line end)."""
    if isinstance(node, Program):
        return "".join(line + "\n" for line in _program(node))
    if isinstance(node, Rule):
        return _rule(node)
    if isinstance(node, ActiveRule):
        return _active(node)
    if isinstance(node, RuleAction):
        return _action(node)
    if isinstance(node, Declaration):
        return f".decl {node.relation}({_commas(render_column(column) for column in node.columns)})"
    if isinstance(node, Materialize):
        return _table(node)
    if isinstance(node, Directive):
        return _directive(node)
    if isinstance(node, Atom):
        return _atom(node)
    if isinstance(node, (Positive, Negated, NegatedGroup, Comparison, Disjunction)):
        return _literal(node)
    return _term(node)


# ------------------------------------------------------------------ statements


def _program(program: Program) -> Iterator[str]:
    if not program.declarations and _misread(program):
        yield MARK
    parts = (program.declarations, program.tables, program.directives, program.rules, program.active)
    for part in parts:
        for statement in part:
            yield render(statement)
    for query in program.queries:
        yield f"?- {_conjunction(query.body)}."


def _rule(rule: Rule) -> str:
    label = f"{rule.label}: " if rule.label is not None else ""
    delete = "delete " if rule.delete else ""
    body = f" :- {_conjunction(rule.body)}" if rule.body else ""
    return f"{label}{delete}{_commas(_atom(head) for head in rule.heads)}{body}."


def _active(rule: ActiveRule) -> str:
    label = f"{rule.label}: " if rule.label is not None else ""
    sign = "" if rule.sign == "±" else rule.sign
    event = _commas((f"{sign}{_atom(rule.event)}", *map(_literal, rule.condition)))
    return f"{label}on {event} do {_commas(map(_action, rule.actions))}."


def _action(action: RuleAction) -> str:
    given = _atom(action.atom) if action.atom is not None else _string(action.text)
    return f"{action.coupling} {action.kind} {given}"


def render_column(column: Column) -> str:
    """A column as a declaration has it."""
    return f"{column.name}: {'_' if column.type is None else column.type}{'?' if column.nullable else ''}"


def _table(table: Materialize) -> str:
    lifetime = "infinity" if table.lifetime is None else repr(table.lifetime)
    size = "infinity" if table.size is None else str(table.size)
    keys = _commas(str(key + 1) for key in table.keys)
    return f"materialize({table.relation}, {lifetime}, {size}, keys({keys}))."


def _directive(directive: Directive) -> str:
    if directive.kind == "watch":
        return f"watch({directive.relation})."
    if directive.kind == "add_column":
        default = f" = {directive.options['default']}" if "default" in directive.options else ""
        return f".add column {directive.relation}({directive.options['column']}{default})"
    if directive.kind == "drop_column":
        return f".drop column {directive.relation}({directive.options['column']})"
    if directive.kind == "drop_rule":
        return f".drop rule {directive.options['rule']}"
    if directive.kind in ("kind", "rename"):
        (value,) = directive.options.values()
        return f".{directive.kind} {directive.relation} {value}"
    options = _commas(f"{key}={_string(value)}" for key, value in directive.options.items())
    return f".{directive.kind} {directive.relation}" + (f"({options})" if options else "")


# ------------------------------------------------------------------ literals


def _atom(atom: Atom) -> str:
    terms: list[str] = []
    for term in atom.args:
        if isinstance(term, HeadAggregate) and term.function == "witness" and terms:
            assert term.argument is not None
            terms[-1] = f"{terms[-1][:-1]}, {_term(term.argument)}>"
        else:
            terms.append(_term(term))
    return f"{'#' if atom.link else ''}{atom.relation}({_commas(terms)})"


def _conjunction(literals: Iterable[Literal]) -> str:
    return _commas(map(_literal, literals))


def _literal(part: Literal) -> str:
    if isinstance(part, Positive):
        return _atom(part.atom)
    if isinstance(part, Negated):
        return f"!{_atom(part.atom)}"
    if isinstance(part, NegatedGroup):
        return f"!({_conjunction(part.body)})"
    if isinstance(part, Comparison):
        return render_comparison(part.op, _term(part.left), _term(part.right))
    return "(" + " ; ".join(_conjunction(alternative) for alternative in part.alternatives) + ")"


def render_comparison(op: str, left: str, right: str) -> str:
    """A comparison as it is written."""
    return f"!({left} {op[1:]} {right})" if op[0] == "!" and op != "!=" else f"{left} {op} {right}"


# ------------------------------------------------------------------ terms


_Piece: TypeAlias = "str | tuple[Term, int]"


def _term(term: Term) -> str:
    """The text of a term, which may be nested more deeply than Python's own stack is deep."""
    done: list[str] = []
    todo: list[_Piece] = [(term, 0)]
    while todo:
        piece = todo.pop()
        if isinstance(piece, str):
            done.append(piece)
            continue
        inner, least = piece
        pieces, level = _pieces(inner)
        todo += reversed(pieces if level >= least else ["(", *pieces, ")"])
    return "".join(done)


def _pieces(term: Term) -> tuple[list[_Piece], int]:
    """What a term is written as, and how tightly its outermost operator binds.

    A term in it comes with how tightly it must bind to stand without parentheses.
    """
    if isinstance(term, Variable):
        return [("@" if term.address else "") + term.name], _ATOMIC
    if isinstance(term, Wildcard):
        return ["_"], _ATOMIC
    if isinstance(term, Constant):
        text = ("@" if term.address else "") + _value(term.value)
        return [text], UNARY if text.startswith("-") else _ATOMIC
    if isinstance(term, HeadAggregate):
        of = "*" if term.argument is None else _term(term.argument)
        return [f"{'@' if term.address else ''}{term.function}<{of}>"], _ATOMIC
    if isinstance(term, BodyAggregate):
        return [_body_aggregate(term)], _ATOMIC
    return _call(term)


def _call(call: Call) -> tuple[list[_Piece], int]:
    function, args = call.function, call.args
    if function in _SYMBOLS and len(args) == 2:
        level = BINARY[function]
        left, right = (level + 1, level) if function == "^" else (level, level + 1)
        return [(args[0], left), f" {function} ", (args[1], right)], level
    if function == "neg" and len(args) == 1:
        return ["-", (args[0], _ATOMIC + 1 if _is_number(args[0]) else UNARY + 1)], UNARY
    separated: list[_Piece] = [piece for arg in args for piece in (", ", (arg, 0))][1:]
    if function == "list" and not all(isinstance(arg, Constant) and not arg.address for arg in args):
        return ["[", *separated, "]"], _ATOMIC
    if (fields := record_fields(function)) is not None:
        named: list[_Piece] = [
            piece
            for name, arg in zip(fields, args, strict=True)
            for piece in (", ", f"{field_name(name)}: ", (arg, 0))
        ]
        return ["{", *named[1:], "}"], _ATOMIC
    if function.startswith("."):
        return _field(call)
    if function.startswith("decimal("):
        return ["decimal(", *separated, f", {function[8:-1].replace(',', ', ')})"], _ATOMIC
    return [f"{function}(", *separated, ")"], _ATOMIC


def _field(call: Call) -> tuple[list[_Piece], int]:
    """`R.name` of a variable, `field(R, "a name")` where that cannot be written."""
    (record,), field = call.args, call.function[1:]
    inner = record
    while isinstance(inner, Call) and inner.function.startswith("."):
        (inner,) = inner.args
    if isinstance(inner, Variable) and field_name(field) == field:
        return [(record, _ATOMIC), f".{field}"], _ATOMIC
    return ["field(", (record, 0), f", {_string(field)})"], _ATOMIC


def _is_number(term: Term) -> bool:
    return isinstance(term, Constant) and isinstance(term.value, (int, float))


def _body_aggregate(aggregate: BodyAggregate) -> str:
    target = ""
    if isinstance(aggregate.target, Variable) and aggregate.target.name not in AGGREGATES:
        target = f" {_term(aggregate.target)}"
    elif aggregate.target is not None:
        target = f" ({_term(aggregate.target)})"
    return f"{aggregate.function}{target} : {{ {_conjunction(aggregate.body)} }}"


def _value(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, LabelledNull):
        return f"?{value.function}({_commas(map(_value, value.arguments))})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, tuple):
        return f"[{_commas(_value(item) for item in value)}]"
    if isinstance(value, Struct):
        return f"{{{_commas(f'{field_name(name)}: {_value(item)}' for name, item in value.items())}}}"
    if isinstance(value, FrozenMap):
        return f"map({_commas(_value(part) for item in value.items() for part in item)})"
    if (text := literal(value)) is not None:
        return text
    raise LanguageError("constant", f"{value!r} cannot be written as a constant")


def _string(value: str) -> str:
    return '"' + "".join(_character(character) for character in value) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable() or ord(character) > 0xFFFF:
        return character
    return f"\\u{ord(character):04x}"


def _commas(parts: Iterable[str]) -> str:
    return ", ".join(parts)


# ------------------------------------------------------------------ the names of variables


def _misread(program: Program) -> bool:
    """Whether, without a mark, some variable would be read as a string."""
    rules = [set(_variables(rule)) for rule in program.rules if rule.body]
    rules += [set(_variables(rule)) for rule in program.active]
    others = [set(_variables(rule)) for rule in program.rules if not rule.body]
    queries = [{name for literal in query.body for name in _variables(literal)} for query in program.queries]
    if any(name[0].isupper() for names in rules for name in names):
        others += rules + queries
    else:
        others += [names for names in queries if not rules or any(name[0].isupper() for name in names)]
    return not all(capital(name) for names in others for name in names)


def _variables(node: Rule | ActiveRule | Atom | Literal | Term) -> Iterator[str]:
    todo: list[Rule | ActiveRule | Atom | Literal | Term] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, Variable):
            yield part.name
        todo += _parts(part)


def _parts(node: Rule | ActiveRule | Atom | Literal | Term) -> Iterable[Atom | Literal | Term]:
    if isinstance(node, Rule):
        return (*node.heads, *node.body)
    if isinstance(node, ActiveRule):
        targets = (action.atom for action in node.actions if action.atom is not None)
        return (node.event, *node.condition, *targets)
    if isinstance(node, (Atom, Call)):
        return node.args
    if isinstance(node, (Positive, Negated)):
        return (node.atom,)
    if isinstance(node, Comparison):
        return (node.left, node.right)
    if isinstance(node, Disjunction):
        return tuple(literal for alternative in node.alternatives for literal in alternative)
    if isinstance(node, NegatedGroup):
        return node.body
    if isinstance(node, HeadAggregate):
        return () if node.argument is None else (node.argument,)
    if isinstance(node, BodyAggregate):
        return (*node.body, *(() if node.target is None else (node.target,)))
    return ()
