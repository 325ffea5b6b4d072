"""A query: SELECTs, the set operations between them, and the CTEs that they share.

A CTE is bound anew wherever it is read, so that each access of a table in a plan is one access of the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.language.sql.algebra import Distinct, Except, Intersect, Operator, Project, SortKey, UnionAll
from headwater.language.sql.binding.clauses import NoneBeyond, sort_key
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.binding.scalars import ScalarBinder
from headwater.language.sql.binding.scope import RangeVariable, Scope
from headwater.language.sql.binding.select import SelectBinder, top
from headwater.language.sql.functions import common_type
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import Attribute


@dataclass(frozen=True)
class CommonTable:
    """A CTE: its query, and the CTEs that this one can read."""

    query: exp.Expr
    columns: tuple[str, ...]
    visible: Mapping[str, CommonTable]


@dataclass(frozen=True)
class QueryBinder:
    """Binds queries that can read some CTEs. (It is what a table's name in FROM is looked up in.)"""

    context: QueryContext
    common: Mapping[str, CommonTable]
    parent: Scope | None = None

    def bind(self, node: exp.Expr) -> Operator:
        """The plan of a query."""
        node = _bare(node)
        if node.args.get("with_") is not None:
            return self._with(node.args["with_"]).bind_body(node)
        return self.bind_body(node)

    def bind_body(self, node: exp.Expr) -> Operator:
        """The plan of a query whose CTEs are known already."""
        if isinstance(node, exp.Select):
            return SelectBinder(self.context, node, self, self.parent, self._inner).bind()
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node)
        raise self.context.text.unsupported(
            _statement(node), node, "a query is a SELECT, or several in a set operation"
        )

    def _inner(self, node: exp.Expr, scope: Scope) -> Operator:
        return QueryBinder(self.context, self.common, scope).bind(node)

    def _with(self, node: exp.Expr) -> QueryBinder:
        if node.args.get("recursive"):
            raise self.context.text.unsupported("WITH RECURSIVE", node)
        known = dict(self.common)
        for each in node.expressions:
            names = tuple(name.name for name in each.args["alias"].columns)
            known[each.alias.lower()] = CommonTable(each.this, names, dict(known))
        return QueryBinder(self.context, known, self.parent)

    def plan_of(self, node: exp.Expr) -> Operator | None:
        """The plan of a subquery in FROM or of a CTE; `None` for the name of a table."""
        if isinstance(node, exp.Subquery):
            return QueryBinder(self.context, self.common, None).bind(node)
        if not isinstance(node, exp.Table) or node.db:
            return None
        found = self.common.get(node.name.lower())
        if found is None:
            return None
        plan = QueryBinder(self.context, found.visible, None).bind(found.query)
        return _renamed(self.context, plan, found.columns, node)

    # -------------------------------------------------------------- set operations

    def _set_operation(self, node: exp.SetOperation) -> Operator:
        text = self.context.text
        text.only(node, ("this", "expression", "distinct", "order", "limit", "offset", "with_"))
        left, right = self.bind(node.this), self.bind(node.expression)
        if len(left.attributes) != len(right.attributes):
            message = f"{len(left.attributes)} columns on one side, {len(right.attributes)} on the other"
            raise text.refuse("wrong-columns", message, node)
        plan = self._combined(node, left, right)
        return top(self.context, node, plan, self._order(node, plan))

    def _combined(self, node: exp.SetOperation, left: Operator, right: Operator) -> Operator:
        attributes = tuple(
            self.context.attribute(
                one.name, common_type((one.type, other.type)), one.nullable or other.nullable
            )
            for one, other in zip(left.attributes, right.attributes, strict=True)
        )
        place = self.context.text.place(node)
        every = not node.args.get("distinct")
        if isinstance(node, exp.Union):
            union = UnionAll((left, right), attributes, place)
            return union if every else Distinct(union, place)
        if isinstance(node, exp.Except):
            return Except(left, right, attributes, every, place)
        return Intersect(left, right, attributes, every, place)

    def _order(self, node: exp.Expr, plan: Operator) -> tuple[SortKey, ...]:
        order = node.args.get("order")
        if order is None:
            return ()
        scope = Scope((RangeVariable("", plan.attributes),))
        binder = ScalarBinder(
            self.context, scope, NoneBeyond(self.context.text, "ORDER BY of a set operation")
        )
        return tuple(
            sort_key(binder, each, self._numbered(each, plan.attributes)) for each in order.expressions
        )

    def _numbered(self, node: exp.Expr, attributes: tuple[Attribute, ...]) -> Attribute | None:
        inner = node.this if isinstance(node, exp.Ordered) else node
        if not isinstance(inner, exp.Literal) or inner.is_string:
            return None
        if not inner.name.isdigit() or not 1 <= int(inner.name) <= len(attributes):
            message = f"there are {len(attributes)} columns, no column {inner.name}"
            raise self.context.text.refuse("unknown-column", message, inner)
        return attributes[int(inner.name) - 1]


def _statement(node: exp.Expr) -> str:
    """What a text is that is no query."""
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    is_statement = isinstance(node, exp.DML | exp.DDL | exp.Drop | exp.Alter | exp.Values)
    return node.key.upper() if is_statement else "a text that does not begin with SELECT"


def _bare(node: exp.Expr) -> exp.Expr:
    """A query without the brackets around it."""
    while isinstance(node, exp.Subquery | exp.Paren) and not any(
        node.args.get(name) for name in ("order", "limit", "offset", "with_")
    ):
        node = node.this
    return node


def _renamed(context: QueryContext, plan: Operator, names: tuple[str, ...], node: exp.Expr) -> Operator:
    """The plan with the columns that a CTE names."""
    if not names:
        return plan
    if len(names) != len(plan.attributes):
        message = f"{len(plan.attributes)} columns, and {len(names)} are named"
        raise context.text.refuse("wrong-columns", message, node)
    pairs = zip(names, plan.attributes, strict=True)
    return Project(plan, tuple(context.named(name, attribute) for name, attribute in pairs))
