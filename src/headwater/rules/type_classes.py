"""Columns and variables that must have the same type form a class; a class has one type, or none yet.

A union-find. Each class remembers who gave it its type, so that a clash can name both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.errors import Place, RuleError
from headwater.values.types import Type, TypeClash, unify


@dataclass(frozen=True)
class ColumnOf:
    """A column of a relation, counted from 0; `owner` is the relation that users know it by."""

    relation: str
    position: int
    owner: str = field(default="", compare=False)

    def __str__(self) -> str:
        """The column in words."""
        return f"column {self.position + 1} of {self.owner or self.relation}"


@dataclass(frozen=True)
class VariableOf:
    """A variable of one rule."""

    rule: str
    name: str

    def __str__(self) -> str:
        """The variable's name, if it was written."""
        return "this value" if "~" in self.name else self.name


Node = ColumnOf | VariableOf


@dataclass(frozen=True)
class Origin:
    """Who says that something has a type, and where."""

    words: str
    place: Place | None = None

    def __str__(self) -> str:
        """What was said, and in which line."""
        return self.words if self.place is None else f"{self.words}, line {self.place.line}"


class TypeClasses:
    """All classes so far. `changed` tells whether anything was learned since it was last set to `False`.

    >>> from headwater.values.types import INT, STRING
    >>> classes = TypeClasses()
    >>> classes.unite(VariableOf("r", "X"), ColumnOf("link", 0), None)
    >>> classes.give(ColumnOf("link", 0), STRING, Origin("declared"))
    >>> str(classes.type(VariableOf("r", "X")))
    'string'
    >>> classes.give(VariableOf("r", "X"), INT, Origin("the constant 3"))
    Traceback (most recent call last):
    headwater.errors.RuleError: error[type-clash]: X is int (the constant 3) and string (declared)
    """

    def __init__(self) -> None:
        """Start with every node in a class of its own."""
        self._parent: dict[Node, Node] = {}
        self._types: dict[Node, tuple[Type, Origin]] = {}
        self.changed = False

    def _find(self, node: Node) -> Node:
        root = node
        while (above := self._parent.get(root, root)) is not root:
            root = above
        while (above := self._parent.get(node, node)) is not root:
            self._parent[node], node = root, above
        return root

    def type(self, node: Node) -> Type | None:
        """The type of the node's class, as far as it is known."""
        found = self._types.get(self._find(node))
        return None if found is None else found[0]

    def origin(self, node: Node) -> Origin | None:
        """Who gave the node's class its type."""
        found = self._types.get(self._find(node))
        return None if found is None else found[1]

    def unite(self, left: Node, right: Node, place: Place | None) -> None:
        """`left` and `right` have the same type."""
        a, b = self._find(left), self._find(right)
        if a == b:
            return
        left_type, right_type = self._types.pop(a, None), self._types.get(b)
        self._parent[a] = b
        if left_type is not None:
            if right_type is None:
                self._types[b] = left_type
                self.changed = True
            else:
                self._merge(b, left, left_type, right_type, place)

    def give(self, node: Node, type: Type, origin: Origin) -> None:
        """`node` has this type."""
        root = self._find(node)
        found = self._types.get(root)
        if found is None:
            self._types[root] = (type, origin)
            self.changed = True
        else:
            self._merge(root, node, (type, origin), found, origin.place)

    def _merge(
        self,
        root: Node,
        node: Node,
        left: tuple[Type, Origin],
        right: tuple[Type, Origin],
        place: Place | None,
    ) -> None:
        try:
            both = unify(left[0], right[0])
        except TypeClash:
            raise RuleError(
                "type-clash",
                f"{node} is {left[0]} ({left[1]}) and {right[0]} ({right[1]})",
                place=place or left[1].place or right[1].place,
                hint=_hint(left[0], right[0]),
            ) from None
        assert both is not None
        if both != right[0]:
            self._types[root] = (both, left[1] if both == left[0] else right[1])
            self.changed = True


def _hint(left: Type, right: Type) -> str | None:
    if {left.name, right.name} == {"int", "float"}:
        return "convert one of them: to_float(...) or to_int(...)"
    if left.name == right.name == "decimal":
        scaled = f"decimal(X, {max(left.precision, right.precision)}, {left.scale})"
        return f"bring them to one scale, {scaled}, or compare them: X = Y"
    if left.name == right.name == "struct" and sorted(left.fields) == sorted(right.fields):
        return "records have the same fields in the same order"
    if "decimal" in (left.name, right.name) and {left.name, right.name} <= {"int", "float", "decimal"}:
        return "convert one of them: decimal(X, 38, 2), to_float(X), to_int(X)"
    if {left.name, right.name} == {"timestamp", "timestamp_ntz"}:
        return "say that the time without a zone is one in UTC: timestamp(X)"
    return None
