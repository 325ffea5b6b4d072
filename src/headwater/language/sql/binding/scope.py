"""Which column a name means: the range variables of FROM, those of queries around, and aliases of SELECT.

A name is looked for in FROM first, then among the aliases where the clause may use them, then in the query around:
a name that is found there makes the subquery a correlated one. Case does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from headwater.language.sql.algebra import Operator
from headwater.language.sql.binding.text import SqlText
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import Attribute, Scalar
from headwater.spelling import did_you_mean


@dataclass(frozen=True)
class RangeVariable:
    """What FROM names: a table, a subquery or a CTE by its alias, and its columns."""

    alias: str
    attributes: tuple[Attribute, ...]

    def named(self, name: str) -> list[Attribute]:
        """Its columns of that name."""
        return [attribute for attribute in self.attributes if attribute.name.lower() == name]


@dataclass
class Scope:
    """What names mean in one SELECT. `merged` are the columns that USING made one of two."""

    variables: tuple[RangeVariable, ...] = ()
    merged: dict[str, Scalar] = field(default_factory=dict)
    aliases: dict[str, Scalar] = field(default_factory=dict)
    parent: Scope | None = None

    def over(self, plan: Operator) -> Scope:
        """The same scope with attributes as a plan has them: outer joins make some nullable."""
        nullable = {attribute.id for attribute in plan.attributes if attribute.nullable}
        variables = tuple(
            replace(
                each,
                attributes=tuple(replace(old, nullable=old.id in nullable) for old in each.attributes),
            )
            for each in self.variables
        )
        return replace(self, variables=variables)

    def columns(self) -> Iterator[tuple[str, Scalar]]:
        """What `*` stands for: columns that were merged first, then all others from left to right."""
        yield from self.merged.items()
        for variable in self.variables:
            for attribute in variable.attributes:
                if attribute.name.lower() not in self.merged:
                    yield attribute.name, attribute

    def variable(self, alias: str) -> RangeVariable | None:
        """The range variable of that name, here or around."""
        wanted = alias.lower()
        for each in self.variables:
            if each.alias.lower() == wanted or each.alias.lower().rpartition(".")[2] == wanted:
                return each
        return self.parent.variable(alias) if self.parent is not None else None

    def resolve(self, node: exp.Column, text: SqlText, *, aliases_first: bool = False) -> Scalar:
        """The meaning of a column's name; an error if there is none, or more than one."""
        if node.table:
            return self._qualified(node, text)
        found = self._unqualified(node, text, aliases_first=aliases_first)
        if found is None:
            hint = did_you_mean(node.name, self._names(), most=2)
            raise text.refuse("unknown-column", f"there is no column {node.name}", node, hint)
        return replace(found, place=text.place(node)) if isinstance(found, Attribute) else found

    def _qualified(self, node: exp.Column, text: SqlText) -> Scalar:
        variable = self.variable(node.table)
        if variable is None:
            hint = did_you_mean(node.table, self._aliases(), most=2)
            raise text.refuse("unknown-table", f"nothing in FROM is called {node.table}", node, hint)
        found = variable.named(node.name.lower())
        if not found:
            hint = did_you_mean(node.name, (each.name for each in variable.attributes), most=2)
            raise text.refuse("unknown-column", f"{variable.alias} has no column {node.name}", node, hint)
        if len(found) > 1:
            raise text.refuse("ambiguous-column", f"{variable.alias} has several columns {node.name}", node)
        return replace(found[0], place=text.place(node))

    def _unqualified(self, node: exp.Column, text: SqlText, *, aliases_first: bool) -> Scalar | None:
        name = node.name.lower()
        if aliases_first and name in self.aliases:
            return self.aliases[name]
        if name in self.merged:
            return self.merged[name]
        found = [(each, column) for each in self.variables for column in each.named(name)]
        if len(found) > 1:
            ways = " or ".join(f"{each.alias}.{column.name}" for each, column in found)
            raise text.refuse(
                "ambiguous-column", f"{node.name} may mean several columns", node, f"write {ways}"
            )
        if found:
            return found[0][1]
        if name in self.aliases:
            return self.aliases[name]
        return self.parent._unqualified(node, text, aliases_first=False) if self.parent is not None else None

    def _names(self) -> Iterable[str]:
        scope: Scope | None = self
        while scope is not None:
            yield from (name for name, _ in scope.columns())
            yield from scope.aliases
            scope = scope.parent

    def _aliases(self) -> Iterable[str]:
        scope: Scope | None = self
        while scope is not None:
            yield from (variable.alias for variable in scope.variables)
            scope = scope.parent
