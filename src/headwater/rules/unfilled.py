"""Relations that a text reads and that nothing fills: often a slip of the pen.

A relation is filled by a rule, a fact, a declaration, `.input` or `materialize`, and by rows that come with the text.
It is known if it was there before the text, whoever mentioned it. Rows may come later to one that is neither: so
`strict` decides. With `"near"`, it is refused if its name is most likely a slip for another's of as many columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.errors import HeadwaterWarning, Place
from headwater.language.program import Program
from headwater.rules.shapes import mentions, rule_atoms, unknown
from headwater.spelling import misspelt, plural
from headwater.values.functions import Functions

Strictness = bool | Literal["near"]
STRICTNESS: tuple[Strictness, ...] = ("near", True, False)


@dataclass(frozen=True)
class Mention:
    """A relation that a text reads first at a place, with so many columns."""

    relation: str
    columns: int
    place: Place | None


def doubts(
    program: Program,
    functions: Functions,
    *,
    known: Mapping[str, int] = {},  # noqa: B006
    given: Collection[str] = (),
    strict: Strictness = "near",
) -> tuple[HeadwaterWarning, ...]:
    """Refuse what `strict` refuses; return what is doubtful.

    `known` has the relations that are there already, by their number of columns, `given` those that rows come for.
    """
    if strict is False:
        return ()
    columns = filled(program)
    suspects = unfilled(program, functions, {*known, *given})
    if not suspects:
        return ()
    if strict is True:
        others = [*columns, *known, *given, *functions.names()]
        raise unknown(suspects[0].relation, others, suspects[0].place)
    reads = {mention.relation: mention.columns for mention in read(program).values()}
    everywhere: dict[str, int | None] = {**dict.fromkeys(given), **reads, **known, **columns}
    often = Counter(atom.relation for atom, _ in mentions(program))
    found = []
    for suspect in suspects:
        alike = [name for name, number in everywhere.items() if number in (suspect.columns, None)]
        others = [name for name in alike if not _rarer(name, suspect.relation, suspects, often)]
        found += _near(program, functions, suspect, others)
    return tuple(found)


def unfilled(program: Program, functions: Functions, known: Collection[str]) -> list[Mention]:
    """The relations that a text reads and does not fill, other than those that are known."""
    there = {*filled(program), *known}
    return [
        mention
        for mention in read(program).values()
        if mention.relation not in there and not functions.has(mention.relation)
    ]


def _near(
    program: Program, functions: Functions, suspect: Mention, others: Collection[str]
) -> list[HeadwaterWarning]:
    """Refuse a relation that is most likely a slip for one of the others, or for a test; doubt a plural."""
    meant = [name for name in others if misspelt(suspect.relation, name)]
    meant += [name for name in functions.tests() if _slip(suspect, name, functions)]
    if meant:
        raise unknown(suspect.relation, meant, suspect.place)
    return [
        _doubt(suspect, name)
        for name in others
        if plural(suspect.relation, name) and not _together(program, suspect.relation, name)
    ]


def filled(program: Program) -> dict[str, int | None]:
    """The relations that a text fills, with their number of columns where it says."""
    found: dict[str, int | None] = {table.relation: None for table in program.tables}
    found |= {one.relation: None for one in program.directives if one.kind == "input"}
    found |= {atom.relation: len(atom.args) for rule in program.rules for atom in rule.heads}
    found |= {one.relation: len(one.columns) for one in program.declarations}
    return found


def read(program: Program) -> dict[str, Mention]:
    """The relations that a text reads, where it first does."""
    found: dict[str, Mention] = {}
    for atom, derives in mentions(program):
        if not derives:
            found.setdefault(atom.relation, Mention(atom.relation, len(atom.args), atom.place))
    return found


def _rarer(name: str, than: str, suspects: Collection[Mention], often: Mapping[str, int]) -> bool:
    """Of two relations that nothing fills, the slip is the one that is mentioned less often, or later."""
    names = [suspect.relation for suspect in suspects]
    if name not in names or name == than:
        return name == than
    return (-often[name], names.index(name)) > (-often[than], names.index(than))


def _together(program: Program, one: str, other: str) -> bool:
    """Whether a rule has both: then they are told apart on purpose."""
    return any({one, other} <= {atom.relation for atom, _ in rule_atoms(rule)} for rule in program.rules)


def _slip(suspect: Mention, function: str, functions: Functions) -> bool:
    """Whether a test was meant: `contain(X, Y)`."""
    alike = misspelt(suspect.relation, function) or plural(suspect.relation, function)
    return alike and functions.has(function, suspect.columns)


def _doubt(suspect: Mention, other: str) -> HeadwaterWarning:
    return HeadwaterWarning(
        "unknown-relation",
        f"nothing fills {suspect.relation} so far; {other} is another relation",
        place=suspect.place,
        hint=f"if {other} was meant, write so; if not, declare {suspect.relation}: .decl {suspect.relation}(...)",
    )
