"""Rules that are what they look like: one or two premises of variables, over relations of known types.

Nothing of `check` does anything to such a rule: there is nothing to rewrite, no type to infer, no null. So a single
one that comes to a checked program is taken as it is. For everything else, mistakes included, the answer is `None`:
`check` knows.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.language.program import Atom, Positive, Rule, Variable
from headwater.rules.checked import CheckedRule, Premise, RelationInfo
from headwater.values.functions import Functions
from headwater.values.types import Type


def plain_join(rule: Rule, infos: Mapping[str, RelationInfo], functions: Functions) -> CheckedRule | None:
    """The rule as `check` has it, over these relations."""
    if rule.id is None or len(rule.heads) != 1 or rule.delete or rule.souffle or not 1 <= len(rule.body) <= 2:
        return None
    (head,) = rule.heads
    premises = [part.atom for part in rule.body if isinstance(part, Positive)]
    if len(premises) != len(rule.body) or premises[1:] == premises[:1] or head in premises:
        return None
    types: dict[str, Type] = {}
    seen: dict[str, int] = {}
    for atom in (*premises, head):
        columns = _plain_columns(atom, infos, functions)
        if columns is None or (atom is head and not columns.keys() <= types.keys()):
            return None  # a value that nothing gives
        for name, type in columns.items():
            if types.setdefault(name, type) != type:
                return None
            seen[name] = seen.get(name, 0) + 1
    if min(seen.values()) < 2:
        return None  # a value that nobody asks for
    return CheckedRule(
        label=rule.id,
        relation=head.relation,
        head=tuple(arg for arg in head.args if isinstance(arg, Variable)),
        body=tuple(
            Premise(atom.relation, tuple(arg for arg in atom.args if isinstance(arg, Variable)), atom.place)
            for atom in premises
        ),
        types={name: types[name] for name in sorted(types)},
        place=rule.place,
        text=rule.text,
        written=rule.id,
    )


def _plain_columns(
    atom: Atom, infos: Mapping[str, RelationInfo], functions: Functions
) -> dict[str, Type] | None:
    """The types of the variables of an atom that has nothing else, and each of them once."""
    info = infos.get(atom.relation)
    if info is None or not info.plain or atom.link or functions.has(atom.relation):
        return None
    found: dict[str, Type] = {
        arg.name: type
        for arg, type in zip(atom.args, info.types, strict=False)
        if isinstance(arg, Variable) and not arg.address and type is not None
    }
    return found if 0 < len(found) == len(atom.args) == info.arity else None
