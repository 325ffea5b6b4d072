"""Rules that are what they look like: premises, absent ones and tests of variables and constants, over relations of
known types.

Nothing of `check` does anything to such a rule: there is nothing to rewrite, no type to infer, no null. So a single
one that comes to a checked program is taken as it is. For everything else, mistakes included, the answer is `None`:
`check` knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.language.program import (
    Atom,
    Comparison,
    Constant,
    Literal,
    Negated,
    Positive,
    Rule,
    Term,
    Variable,
)
from headwater.rules.checked import Absent, CheckedRule, Item, Premise, RelationInfo, Test
from headwater.values.functions import Functions
from headwater.values.types import FLOAT, INT, STRING, Type

_TESTS = frozenset(("!=", "<", "<=", ">", ">="))
"""An equality may be a computation."""
_PYTHON = {INT: int, FLOAT: float, STRING: str}


def plain_join(rule: Rule, infos: Mapping[str, RelationInfo], functions: Functions) -> CheckedRule | None:
    """The rule as `check` has it, over these relations."""
    if rule.id is None or len(rule.heads) != 1 or rule.delete or rule.souffle or not rule.body:
        return None
    (head,) = rule.heads
    found = _PlainBody(infos, functions)
    body = [found.item(part) for part in rule.body]
    items = [item for item in body if item is not None]
    args = tuple(arg for arg in head.args if isinstance(arg, Variable))
    if len(items) < len(body) or len(args) < len(head.args):
        return None
    bound = dict(found.types)
    if not found.fits(head) or bound.keys() != found.types.keys() or min(found.seen.values()) < 2:
        return None  # a value that nothing gives, or that nobody asks for
    if any(_about(item, head.relation) and _says_head(item, args) for item in items):
        return None
    if len(items) > 1 and (_repeats(items) or not _joined_throughout(items, args)):
        return None
    return CheckedRule(
        label=rule.id,
        relation=head.relation,
        head=args,
        body=tuple(items),
        types={name: bound[name] for name in sorted(bound)},
        place=rule.place,
        text=rule.text,
        written=rule.id,
    )


@dataclass
class _PlainBody:
    """What the parts of a body say of variables, from the first on."""

    infos: Mapping[str, RelationInfo]
    functions: Functions
    types: dict[str, Type] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    """How often each variable stands somewhere."""

    def item(self, part: Literal) -> Item | None:
        """A part as `check` has it, after those before it; `None` if there is more to it."""
        if isinstance(part, Positive) and self.fits(part.atom):
            return Premise(part.atom.relation, part.atom.args, part.atom.place)  # type: ignore[arg-type]
        if isinstance(part, Negated):
            known = len(self.types)
            if self.fits(part.atom) and len(self.types) == known:
                return Absent(part.atom.relation, part.atom.args, part.atom.place)  # type: ignore[arg-type]
        if isinstance(part, Comparison) and part.op in _TESTS and self._comparable(part.left, part.right):
            return Test(part.op, part.left, part.right, part.place)
        return None

    def fits(self, atom: Atom) -> bool:
        """Whether an atom has variables and constants of its columns' types, each variable once, and some."""
        info = self.infos.get(atom.relation)
        if info is None or not info.plain or atom.link or self.functions.has(atom.relation):
            return False
        if not len(atom.args) == info.arity > 0:
            return False
        types, seen, own = self.types, self.seen, set()
        for arg, type in zip(atom.args, info.types, strict=True):
            if isinstance(arg, Variable):
                name = arg.name
                if arg.address or type is None or name in own or types.setdefault(name, type) != type:
                    return False
                own.add(name)
                seen[name] = seen.get(name, 0) + 1
            elif not _is_constant(arg, type):
                return False
        return bool(own)

    def _comparable(self, left: Term, right: Term) -> bool:
        """Whether two terms have one type that is compared as it is, and one of them is a variable."""
        names = [term.name for term in (left, right) if isinstance(term, Variable) and not term.address]
        type = self.types.get(names[0]) if names else None
        if type not in _PYTHON or left == right:
            return False
        for name in names:
            if self.types.get(name) != type:
                return False
            self.seen[name] += 1
        return len(names) == 2 or _is_constant(right if isinstance(left, Variable) else left, type)


def _is_constant(term: Term, type: Type | None) -> bool:
    """Whether a term is a constant of this very type."""
    return (
        isinstance(term, Constant)
        and not term.address
        and type is not None
        and term.value.__class__ is _PYTHON.get(type)
    )


def _about(item: Item, relation: str) -> bool:
    return isinstance(item, Premise | Absent) and item.relation == relation


def _says_head(item: Item, head: tuple[Variable, ...]) -> bool:
    """Whether an item about the head's relation is the head itself, or its negation."""
    return isinstance(item, Absent) or (isinstance(item, Premise) and item.args == head)


def _repeats(items: Sequence[Item]) -> bool:
    """Whether an item is there twice."""
    for place, item in enumerate(items):
        for other in items[:place]:
            apart = isinstance(item, Premise) and not _about(other, item.relation)
            if not apart and item == other:
                return True
    return False


def _joined_throughout(items: Sequence[Item], head: Sequence[Variable]) -> bool:
    """Whether every premise has all the variables that the head does not: see `project_parts`."""
    wanted = {arg.name for arg in head}
    own = [
        {arg.name for arg in item.args if isinstance(arg, Variable)} - wanted
        for item in items
        if isinstance(item, Premise)
    ]
    return all(some == own[0] for some in own)
