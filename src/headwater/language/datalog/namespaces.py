"""P2's `namespace x { ... }`: what is defined inside is called `x::name`, and inside it may be called `name`.

`::name` is what `name` is outside of all namespaces.

The words and braces of namespaces are blanked before the grammar applies, so that places stay what they are.

>>> text, found = take_namespaces("a(1). namespace n { b(X) :- a(X). c(X) :- b(X). } d(X) :- n::c(X).")
>>> [(space.path, text[space.start : space.end].split()[0]) for space in found]
[('n', 'b(X)')]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.language.program import (
    Atom,
    Disjunction,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Rule,
)

_WORD = re.compile(r'"(?:\\.|[^"\\\n])*"|\bnamespace\s+([^\W\d]\w*(?:::[^\W\d]\w*)*)\s*\{|[{}]')

_ROOTED = re.compile(r"(?<![\w:])::")

_NOWHERE = ("periodic",)
"""Relations of no namespace."""


@dataclass(frozen=True)
class Namespace:
    """A path of names, and the part of the text that it holds for."""

    path: str
    start: int
    end: int


def take_namespaces(text: str) -> tuple[str, list[Namespace]]:
    """The text without the words of namespaces, and where they were; inner ones come before those around them."""
    if "namespace" not in text:
        return text, []
    found: list[Namespace] = []
    opened: list[tuple[str, int] | None] = []
    out = list(text)
    for match in _WORD.finditer(text):
        if match[1] is not None:
            outer = [each[0] for each in opened if each is not None]
            opened.append(("::".join([*outer[-1:], match[1]]), match.end()))
            out[match.start() : match.end()] = " " * len(match[0])
        elif match[0] == "{":
            opened.append(None)
        elif match[0] == "}" and opened:
            space = opened.pop()
            if space is not None:
                found.append(Namespace(space[0], space[1], match.start()))
                out[match.start()] = " "
    return "".join(out), found


def has_paths(text: str) -> bool:
    """Whether a name may be one outside of all namespaces, `::name`."""
    return _ROOTED.search(text) is not None


def path_at(spaces: Sequence[Namespace], offset: int) -> str:
    """The innermost namespace at a place; nothing outside of all."""
    return next((space.path for space in spaces if space.start <= offset < space.end), "")


def qualified(name: str, path: str, defined: Mapping[str, set[str]]) -> str:
    """What a name of a namespace is called outside: the innermost namespace around that defines it decides."""
    if name.startswith("::"):
        return name.removeprefix("::")
    while path:
        if name in defined.get(path, ()):
            return f"{path}::{name}"
        path = path.rpartition("::")[0]
    return name


def own_names(rules: Iterable[Rule], paths: Sequence[str], defined: dict[str, set[str]]) -> None:
    """Add what is only read inside a namespace, and defined nowhere around it: events that come from outside."""
    for rule, path in zip(rules, paths, strict=True):
        for name in _read(rule.body) if path else ():
            around = [path]
            while around[-1]:
                around.append(around[-1].rpartition("::")[0])
            known = any(name in defined.get(each, ()) for each in around)
            if not (known or name.startswith("f_") or name in _NOWHERE or "::" in name):
                defined.setdefault(path, set()).add(name)


def _read(body: Iterable[Literal]) -> Iterator[str]:
    for part in body:
        if isinstance(part, Positive | Negated):
            yield part.atom.relation
        elif isinstance(part, NegatedGroup):
            yield from _read(part.body)
        elif isinstance(part, Disjunction):
            for way in part.alternatives:
                yield from _read(way)


def qualified_rules(
    rules: Iterable[Rule], paths: Sequence[str], defined: Mapping[str, set[str]]
) -> tuple[Rule, ...]:
    """Rules with the names that relations have outside of their namespaces."""

    def atom(each: Atom, path: str) -> Atom:
        return replace(each, relation=qualified(each.relation, path, defined))

    def literal(part: Literal, path: str) -> Literal:
        if isinstance(part, Positive | Negated):
            return replace(part, atom=atom(part.atom, path))
        if isinstance(part, NegatedGroup):
            return replace(part, body=tuple(literal(inner, path) for inner in part.body))
        if isinstance(part, Disjunction):
            ways = tuple(tuple(literal(inner, path) for inner in way) for way in part.alternatives)
            return replace(part, alternatives=ways)
        return part

    return tuple(
        replace(
            rule,
            heads=tuple(atom(head, path) for head in rule.heads),
            body=tuple(literal(part, path) for part in rule.body),
        )
        for rule, path in zip(rules, paths, strict=True)
    )
