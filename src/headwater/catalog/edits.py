"""Texts that take back or rename what earlier texts say: `.drop reach`, `.rename reach connected`, `.drop rule r1`.

A text stays as it was written, since states and logs hold it. What all of them say together is worked out here, in
their order: what is dropped is left out of earlier texts, what is renamed has its new name in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from headwater.catalog.atom_edits import AtomEdit
from headwater.catalog.column_edits import COLUMN_EDITS, column_edit
from headwater.catalog.rule_edits import DROP_RULE, without_rules
from headwater.catalog.text_index import gathered
from headwater.errors import RuleError
from headwater.language.program import (
    Program,
)
from headwater.rules.shapes import active_atoms
from headwater.rules.terms import atoms

RELATION_EDITS = ("drop", "rename")
EDITS = (*RELATION_EDITS, DROP_RULE, *COLUMN_EDITS)
Value = TypeVar("Value")


def edited(programs: Iterable[Program], found: Sequence[Program] = ()) -> list[Program]:
    """What the texts say, each as later ones left it; `found` are those before them, as they were left.

    Texts that later ones left nothing of are not among them, and those of rules alone are gathered, so that what an
    edit costs follows neither how often something was defined nor in how many texts. The last text is the last of
    them, whatever it says.
    """
    found = list(found)
    for program in programs:
        if any(directive.kind == DROP_RULE for directive in program.directives):
            found = without_rules(found, program)
        for directive in program.directives:
            if directive.kind == "drop":
                found = [_without(earlier, directive.relation) for earlier in found]
            elif directive.kind == "rename":
                found = [_renamed(earlier, directive.relation, directive.options["to"]) for earlier in found]
            elif directive.kind in COLUMN_EDITS:
                found = column_edit(directive, found).programs(found)
        found = gathered([earlier for earlier in found if earlier.rules or _says_something(earlier)])
        kept = tuple(directive for directive in program.directives if directive.kind not in EDITS)
        found.append(program if len(kept) == len(program.directives) else replace(program, directives=kept))
    return found


def _says_something(text: Program) -> bool:
    parts = (text.rules, text.active, text.declarations, text.tables, text.directives, text.queries)
    return any(parts)


def moves_relations(program: Program) -> bool:
    """Whether a text drops or renames relations, or gives them other columns."""
    return any(directive.kind in EDITS and directive.kind != DROP_RULE for directive in program.directives)


def carried(program: Program, known: Mapping[str, Value]) -> dict[str, Value]:
    """What is known by relation, as a text that drops or renames some leaves it."""
    found = dict(known)
    for directive in program.directives:
        if directive.kind in RELATION_EDITS and directive.relation in found:
            value = found.pop(directive.relation)
            if directive.kind == "rename":
                found[directive.options["to"]] = value
    return found


def origins(program: Program) -> dict[str, str]:
    """For each relation that a text renames, by its new name: what it was called before the text."""
    found: dict[str, str] = {}
    for directive in program.directives:
        if directive.kind == "rename":
            found[directive.options["to"]] = found.pop(directive.relation, directive.relation)
    return found


def check_edits(program: Program, earlier: Sequence[Program], known: Callable[[], Collection[str]]) -> None:
    """Refuse to drop or rename what is not there, to drop what others read, and names that are taken."""
    if all(directive.kind not in RELATION_EDITS for directive in program.directives):
        return
    relations = known()
    there, before = set(relations), set(relations)
    programs, named = without_rules(earlier, program), mentioned(program)
    for directive in program.directives:
        if directive.kind not in RELATION_EDITS:
            continue
        name = directive.relation
        if name in named:
            raise RuleError(
                "unsupported",
                f"{name} is dropped or renamed in a text that also speaks of it",
                place=directive.place,
                hint="put what is new into a text of its own, and define it afterwards",
            )
        if name not in there:
            raise RuleError(
                "unknown-relation",
                f"there is no relation {name}",
                place=directive.place,
                hint=f"there are: {', '.join(sorted(there)) or 'none'}",
            )
        there.discard(name)
        if directive.kind == "rename":
            new = directive.options["to"]
            if new in there or new in before:
                raise RuleError(
                    "relation-taken",
                    f"there is a relation {new} already",
                    place=directive.place,
                    hint="rename it to something else, or drop the other one",
                )
            there.add(new)
            programs = [_renamed(each, name, new) for each in programs]
            continue
        programs = [_without(each, name) for each in programs]
        readers = sorted(set(_readers(programs, name)))
        if readers:
            raise RuleError(
                "still-read",
                f"{name} cannot be dropped: {', '.join(readers)} {'reads' if len(readers) == 1 else 'read'} it",
                place=directive.place,
                hint=f"drop {'that' if len(readers) == 1 else 'those'} first",
            )


def mentioned(program: Program) -> set[str]:
    """The relations that a text says something about, apart from dropping and renaming them."""
    parts = (program.declarations, program.tables, program.directives)
    found = {each.relation for part in parts for each in part if getattr(each, "kind", "") not in EDITS}
    found.discard("")  # of directives that name none
    found |= {atom.relation for query in program.queries for atom, _ in atoms(query.body)}
    for rule in program.rules:
        found |= {head.relation for head in rule.heads} | {atom.relation for atom, _ in atoms(rule.body)}
    found |= {atom.relation for active in program.active for atom in active_atoms(active)}
    return found


def _readers(programs: Sequence[Program], name: str) -> Iterator[str]:
    for rule in (rule for program in programs for rule in program.rules):
        if any(atom.relation == name for atom, _ in atoms(rule.body)):
            yield from (head.relation for head in rule.heads)
    for active in (active for program in programs for active in program.active):
        if any(atom.relation == name for atom in active_atoms(active)):
            yield f"rule {active.id}"


def _without(program: Program, name: str) -> Program:
    rules = []
    for rule in program.rules:
        heads = tuple(head for head in rule.heads if head.relation != name)
        if heads:
            rules.append(rule if len(heads) == len(rule.heads) else replace(rule, heads=heads))
    return replace(
        program,
        rules=tuple(rules),
        declarations=tuple(each for each in program.declarations if each.relation != name),
        tables=tuple(each for each in program.tables if each.relation != name),
        directives=tuple(each for each in program.directives if each.relation != name),
        queries=tuple(q for q in program.queries if all(a.relation != name for a, _ in atoms(q.body))),
    )


def _renamed(program: Program, old: str, new: str) -> Program:
    return AtomEdit(old, new).program(program)
