"""Rules that are what they look like: one or two premises of variables, over relations of known types.

Nothing of `check` does anything to such a rule: there is nothing to rewrite, no type to infer, no null. So a single
one that comes to a checked program is taken as it is. For everything else, mistakes included, the answer is `None`:
`check` knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from headwater.language.program import Atom, Positive, Rule, Variable
from headwater.rules.checked import CheckedRule, Kind, Premise, RelationInfo
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
    types: dict[str, Type | None] = {}
    seen: Counter[str] = Counter()
    for atom in (head, *premises):
        columns = _plain_columns(atom, infos, functions)
        if columns is None:
            return None
        for name, type in columns.items():
            if types.setdefault(name, type) != type:
                return None
        seen.update(columns.keys())
    bound = {arg.name for atom in premises for arg in atom.args if isinstance(arg, Variable)}
    if min(seen.values()) < 2 or bound != types.keys():
        return None  # a value that nobody asks for, or that nothing gives
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
    if info is None or info.arity != len(atom.args) or atom.link or functions.has(atom.relation):
        return None
    if info.location is not None or any(info.nullable) or any(info.labelled) or info.selections:
        return None
    if info.kind not in (Kind.BASE, Kind.STORED) or not atom.args:
        return None
    found: dict[str, Type] = {}
    for arg, type in zip(atom.args, info.types, strict=True):
        if not isinstance(arg, Variable) or arg.address or type is None or arg.name in found:
            return None
        found[arg.name] = type
    return found
