"""Questions of a peer's users: Datalog over the relations of all peers, as the peer has them.

`ans(x, y) :- U(x, z), U(y, z).` asks for the relation of the last rule; `U(x, y), x > 2` is a goal alone. All bare
names are variables. Joins go by labelled nulls as by any value; rows that hold some are left out at the end, which
leaves the certain answers (green-2007, section 2.1).
"""

from __future__ import annotations

import re
from dataclasses import replace

from headwater.errors import LanguageError
from headwater.language.datalog import parse
from headwater.language.datalog.comments import blank_comments
from headwater.language.datalog.quoted import STRING
from headwater.language.datalog.render import MARK, render
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.program import (
    Atom,
    Disjunction,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Program,
    Query,
    Rule,
    Variable,
)
from headwater.language.source import SourceText

_FORM = "ask: ans(x, y) :- U(x, z), U(y, z)."
_QUALIFIED = re.compile(rf"(?P<string>{STRING})|\b[^\W\d]\w*\.[^\W\d]\w*(?=\s*\()")
_RULE = re.compile(rf"{STRING}|(?P<rule>[:?]-)")


def question_text(text: str, compiled: CompiledMappings, peer: str) -> str:
    """The question as the peer's database understands it."""

    def output(found: re.Match[str]) -> str:
        return found["string"] or compiled.names.output(compiled.schemas.named(found[0]))

    text = _QUALIFIED.sub(output, blank_comments(SourceText("<question>", text)))
    if not text.strip():
        raise LanguageError("syntax", "the question is empty", hint=_FORM)
    if not any(found["rule"] for found in _RULE.finditer(text)):
        text = f"?- {text.strip().removesuffix('.')}."
    program = parse(f'{MARK}\n#line 1 "<question>"\n{text}', "<question>")
    own = {head.relation for rule in program.rules for head in rule.heads}
    known = {*own, *compiled.relations}

    def renamed(atom: Atom) -> Atom:
        if atom.relation in known:
            return atom
        return replace(atom, relation=compiled.names.output(compiled.schemas.find(atom, peer)))

    rules = tuple(replace(rule, body=_mapped(rule.body, renamed)) for rule in program.rules)
    queries = tuple(replace(query, body=_mapped(query.body, renamed)) for query in program.queries)
    if not queries:
        queries = (_goal(rules),)
    return render(Program(rules, queries=queries))


def _goal(rules: tuple[Rule, ...]) -> Query:
    if not rules:
        raise LanguageError("syntax", "found no question", hint=_FORM)
    head = rules[-1].heads[0]
    names: list[str] = []
    for number, term in enumerate(head.args):
        name = term.name if isinstance(term, Variable) else f"c{number}"
        names.append(name if name not in names else f"{name}_{number}")
    return Query((Positive(Atom(head.relation, tuple(map(Variable, names)))),))


def _mapped(body: tuple[Literal, ...], renamed: object) -> tuple[Literal, ...]:
    assert callable(renamed)
    made: list[Literal] = []
    for literal in body:
        if isinstance(literal, (Positive, Negated)):
            made.append(replace(literal, atom=renamed(literal.atom)))
        elif isinstance(literal, NegatedGroup):
            made.append(replace(literal, body=_mapped(literal.body, renamed)))
        elif isinstance(literal, Disjunction):
            made.append(
                replace(literal, alternatives=tuple(_mapped(a, renamed) for a in literal.alternatives))
            )
        else:
            made.append(literal)
    return tuple(made)
