"""Rules as readable text: for `explain`, for error messages and for tests.

What is shown reads like the language, with three marks for what the checks decided: `:=` where an equality
computes, `count<X>` where a rule aggregates, and a relation's selections and types on a line of their own.
Names that hold a `~` are internal.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.language.datalog.render import render_comparison
from headwater.language.program import (
    Atom,
    BodyAggregate,
    Call,
    Comparison,
    Constant,
    Disjunction,
    HeadAggregate,
    Negated,
    NegatedGroup,
    Positive,
    Term,
    Variable,
)
from headwater.rules.checked import (
    Absent,
    Aggregate,
    Checked,
    CheckedRule,
    Compute,
    Premise,
    RelationInfo,
    Test,
)
from headwater.rules.draft import Draft
from headwater.rules.terms import Part
from headwater.values.literals import literal
from headwater.values.record import FrozenMap, Struct, record_fields
from headwater.values.special import LabelledNull
from headwater.values.types import field_name

_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}


def render_term(term: Term) -> str:
    """A term as it could be written.

    >>> X = Variable("X")
    >>> render_term(Call("*", (Call("+", (X, Constant(1))), Call("neg", (X,)))))
    '(X + 1) * -X'
    >>> render_term(Call("list", (X, Constant("a"))))
    '[X, "a"]'
    """
    if isinstance(term, Variable):
        return term.name
    if isinstance(term, Constant):
        return render_value(term.value)
    if isinstance(term, Call):
        return _render_call(term)
    if isinstance(term, HeadAggregate):
        return f"{term.function}<{'*' if term.argument is None else term.argument.name}>"
    if isinstance(term, BodyAggregate):
        target = "" if term.target is None else f" {render_term(term.target)}"
        return f"{term.function}{target} : {{ {', '.join(render_part(part) for part in term.body)} }}"
    return "_"


def render_value(value: object) -> str:
    """A constant as it could be written."""
    if value is None:
        return "null"
    if isinstance(value, LabelledNull):
        return f"?{value.function}({', '.join(map(render_value, value.arguments))})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return f"[{', '.join(render_value(item) for item in value)}]"
    if isinstance(value, Struct):
        shown = (f"{field_name(name)}: {render_value(item)}" for name, item in value.items())
        return f"{{{', '.join(shown)}}}"
    if isinstance(value, FrozenMap):
        return f"map({', '.join(render_value(part) for item in value.items() for part in item)})"
    return literal(value) or repr(value)


def _render_call(call: Call) -> str:
    args = call.args
    if call.function == "list":
        return f"[{_commas(args)}]"
    if (fields := record_fields(call.function)) is not None:
        named = (f"{field_name(f)}: {render_term(arg)}" for f, arg in zip(fields, args, strict=True))
        return f"{{{', '.join(named)}}}"
    if call.function.startswith("."):
        return f"{_tight(args[0], 5)}{call.function}"
    if call.function.startswith("decimal("):
        return f"decimal({_commas(args)}, {call.function[8:-1].replace(',', ', ')})"
    if call.function == "neg" and len(args) == 1:
        return f"-{_tight(args[0], 4)}"
    if call.function in _STRENGTH and len(args) == 2:
        strength = _STRENGTH[call.function]
        return f"{_tight(args[0], strength)} {call.function} {_tight(args[1], strength + 1)}"
    return f"{call.function}({_commas(args)})"


def _tight(term: Term, strength: int) -> str:
    text = render_term(term)
    loose = isinstance(term, Call) and len(term.args) == 2 and _STRENGTH.get(term.function, 9) < strength
    return f"({text})" if loose else text


def _commas(terms: Iterable[Term]) -> str:
    return ", ".join(render_term(term) for term in terms)


def render_part(part: Part) -> str:
    """One literal or item of a body."""
    if isinstance(part, (Positive, Negated)):
        mark = "!" if isinstance(part, Negated) else ""
        return f"{mark}{part.atom.relation}({_commas(part.atom.args)})"
    if isinstance(part, (Premise, Absent)):
        mark = "!" if isinstance(part, Absent) else ""
        return f"{mark}{part.relation}({_commas(part.args)})"
    if isinstance(part, Compute):
        return f"{part.variable.name} := {render_term(part.value)}"
    if isinstance(part, Disjunction):
        return f"({' ; '.join(', '.join(render_part(p) for p in a) for a in part.alternatives)})"
    if isinstance(part, NegatedGroup):
        return f"!({', '.join(render_part(p) for p in part.body)})"
    assert isinstance(part, (Comparison, Test))
    return render_comparison(part.op, render_term(part.left), render_term(part.right))


def _render_rule(
    label: str, relation: str, args: Iterable[Term], body: Iterable[Part], aggregate: Aggregate | None
) -> str:
    terms = list(args)
    if aggregate is not None:
        terms[aggregate.position] = HeadAggregate(aggregate.function, aggregate.argument)
    parts = ", ".join(render_part(part) for part in body)
    return f"{label}: {relation}({_commas(terms)})" + (f" :- {parts}." if parts else ".")


def render_draft(draft: Draft) -> str:
    """The rules of a draft, one a line."""
    return "\n".join(
        _render_rule(rule.label, ", ".join(_other(a) for a in rule.heads[:-1]) + rule.heads[-1].relation,
                     rule.heads[-1].args, rule.body, rule.aggregate)
        for rule in draft.rules
    )  # fmt: skip


def _other(head: Atom) -> str:
    return f"{head.relation}({_commas(head.args)}), "


def render_rule(rule: CheckedRule) -> str:
    """One checked rule."""
    return _render_rule(rule.label, rule.relation, rule.head, rule.body, rule.aggregate)


def render_relation(info: RelationInfo) -> str:
    """A relation's name, columns, types, and what is selected from its candidates."""
    columns = ", ".join(
        name if type is None else f"{name}: {type}"
        for name, type in zip(info.columns, info.types, strict=True)
    )
    extras = []
    if info.key is not None:
        extras.append(f"key ({', '.join(info.columns[i] for i in info.key)})")
    if info.lifetime is not None:
        extras.append(f"for {info.lifetime:g} seconds")
    if info.size is not None:
        extras.append(f"at most {info.size} rows")
    for selection in info.selections:
        group = ", ".join(info.columns[i] for i in selection.group)
        extras.append(f"{selection.best} {info.columns[selection.value]} by ({group})")
    return f"{info.name}({columns})" + "".join(f", {extra}" for extra in extras)


def render(checked: Checked) -> str:
    """A whole program: base relations, then the strata with their relations and rules.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.check import check
    >>> from headwater.values.functions import Functions
    >>> text = "link(s: int, d: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
    >>> print(render(check(parse(text), Functions())))
    base link(s: int, d: int)
    <BLANKLINE>
    stratum 1, recursive
      reach(X: int, Y: int)
        reach#1: reach(X, Y) :- link(X, Y).
        reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).
    """
    lines = [f"base {render_relation(info)}" for info in checked.relations.values() if info.base]
    for number, stratum in enumerate(checked.strata, 1):
        lines += ["", f"stratum {number}{', recursive' if stratum.recursive else ''}"]
        for relation in stratum.relations:
            lines.append(f"  {render_relation(checked.relations[relation])}")
            lines += [f"    {render_rule(rule)}" for rule in stratum.rules if rule.relation == relation]
    if checked.notes:
        lines += ["", *(f"note: {note}" for note in checked.notes)]
    return "\n".join(lines)
