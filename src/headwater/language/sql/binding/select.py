"""One SELECT: FROM, WHERE, GROUP BY, HAVING, window functions, DISTINCT, ORDER BY and LIMIT, in this order.

Clauses are bound in the order in which names need it, and put together in the order in which they are evaluated:
aggregates that SELECT, HAVING or ORDER BY hold become columns of one `GroupBy`, and what is said over them is
rewritten to read its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headwater.errors import Place, SqlError
from headwater.language.sql.algebra import (
    Distinct,
    GroupBy,
    Named,
    Operator,
    Project,
    Select,
    SortKey,
    TopK,
    Window,
    map_scalars,
)
from headwater.language.sql.binding.clauses import (
    Collected,
    NoneBeyond,
    OverGroups,
    WithSubqueries,
    bound,
    sort_key,
)
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.binding.scalars import ScalarBinder
from headwater.language.sql.binding.scope import Scope
from headwater.language.sql.binding.sources import DerivedTables, SourceBinder
from headwater.language.sql.binding.subqueries import SubqueryJoins
from headwater.language.sql.inference import aggregate_may_be_null
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import Attribute, Scalar, conjunction, parts_of, with_parts

KNOWN = (
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "with_",
)

BindQuery = Callable[[exp.Expr, Scope], Operator]


@dataclass
class Item:
    """A column of SELECT: its name and what it is."""

    name: str
    scalar: Scalar
    place: Place | None


class SelectBinder:
    """Binds one SELECT."""

    def __init__(
        self,
        context: QueryContext,
        node: exp.Select,
        derived: DerivedTables,
        parent: Scope | None,
        bind_query: BindQuery,
    ):
        self.context = context
        self.text = context.text
        self.node = node
        self.bind_query = bind_query
        self.text.only(node, KNOWN)
        first = node.args.get("from_")
        sources = SourceBinder(context, derived, parent)
        joined = sources.bind(None if first is None else first.this, node.args.get("joins") or ())
        self.plan = joined.plan
        self.scope = joined.scope
        self.collected = Collected(context)
        self.groups: dict[Scalar, Attribute] = {}
        self.aggregates: dict[int, Attribute] = {}
        self.ungrouped: frozenset[int] = frozenset()

    def bind(self) -> Operator:
        """The plan of the SELECT."""
        self._where()
        before, after_having, after = (SubqueryJoins(self.context) for _ in range(3))
        arguments = self._plain("an aggregate", before)
        items = self._items(self._over_groups(arguments, after))
        self.scope = replace(self.scope, aliases=_aliases(self.node, items))
        keys = self._keys(items, before)
        having = self._conditions(
            self.node.args.get("having"),
            self._over_groups(arguments, after_having, windows=False),
            after_having,
        )
        order = self._order(items, self._over_groups(arguments, after))
        self.plan = before.onto(self.plan)
        if keys is not None or self.collected.aggregates:
            self._group(keys or ())
        elif self.node.args.get("having") is not None:
            self._group(())
        self._select(tuple(map(self._grouped, having)), self.node.args.get("having"), after_having)
        self.plan = after.onto(self.plan, self._grouped)
        self._windows()
        return self._project(items, order)

    # -------------------------------------------------------------- binders of clauses

    def _plain(self, clause: str, joins: SubqueryJoins) -> ScalarBinder:
        beyond = WithSubqueries(self.text, clause, lambda node: self._subquery(node, joins))
        return ScalarBinder(self.context, self.scope, beyond)

    def _over_groups(
        self, arguments: ScalarBinder, joins: SubqueryJoins, *, windows: bool = True
    ) -> ScalarBinder:
        binder: ScalarBinder

        beyond = OverGroups(
            self.collected, arguments, lambda node: self._subquery(node, joins), lambda: binder, windows
        )
        binder = ScalarBinder(self.context, self.scope, beyond)
        return binder

    def _subquery(self, node: exp.Expr, joins: SubqueryJoins) -> Scalar:
        """A subquery inside of an expression: it must be a value."""
        if isinstance(node, exp.Subquery):
            return joins.scalar(self.bind_query(node.this, self.scope), node)
        hint = "IN and EXISTS with a subquery stand between ANDs, or after a NOT"
        raise self.text.unsupported(
            f"{node.key.upper()} with a subquery inside of another expression", node, hint
        )

    # -------------------------------------------------------------- conditions

    def _where(self) -> None:
        joins = SubqueryJoins(self.context)
        where = self.node.args.get("where")
        conditions = self._conditions(where, self._plain("WHERE", joins), joins)
        self._select(conditions, where, joins)

    def _select(self, conditions: tuple[Scalar, ...], clause: exp.Expr | None, joins: SubqueryJoins) -> None:
        scalar = [each for each in joins.attached if each.kind in ("inner", "left")]
        filters = [each for each in joins.attached if each.kind not in ("inner", "left")]
        self.plan = replace(joins, attached=scalar).onto(self.plan, self._grouped)
        if conditions:
            place = self.text.place(clause)
            self.plan = Select(self.plan, conjunction(conditions, place), place)
        self.plan = replace(joins, attached=filters).onto(self.plan, self._grouped)

    def _conditions(
        self, clause: exp.Expr | None, binder: ScalarBinder, joins: SubqueryJoins
    ) -> tuple[Scalar, ...]:
        """The conditions of a clause that are scalars; those with IN and EXISTS become joins."""
        if clause is None:
            return ()
        found: list[Scalar] = []
        for node in _split(clause.this):
            if not self._joined(node, binder, joins, negated=False):
                found.append(binder.bind(node))
        return tuple(found)

    def _joined(self, node: exp.Expr, binder: ScalarBinder, joins: SubqueryJoins, *, negated: bool) -> bool:
        """Whether a condition is IN or EXISTS with a subquery, and became a join."""
        node = node.unnest()
        if isinstance(node, exp.Not):
            return self._joined(node.this, binder, joins, negated=not negated)
        if isinstance(node, exp.Exists):
            inner = node.this.this if isinstance(node.this, exp.Subquery) else node.this
            joins.exists(self.bind_query(inner, self.scope), node, negated=negated)
            return True
        query = _members(node)
        if query is None:
            return False
        inner = query.this if isinstance(query, exp.Subquery) else query
        subject = node.this.unnest()
        looked_for = subject.expressions if isinstance(subject, exp.Tuple) else [subject]
        members = tuple(binder.bind(each) for each in looked_for)
        joins.member(members, self.bind_query(inner, self.scope), node, negated=negated)
        return True

    # -------------------------------------------------------------- SELECT and GROUP BY

    def _items(self, binder: ScalarBinder) -> list[Item]:
        items: list[Item] = []
        for node in self.node.expressions:
            star = node.this if isinstance(node, exp.Column) else node
            if isinstance(star, exp.Star):
                items += self._star(node, star)
                continue
            inner = node.this if isinstance(node, exp.Alias) else node
            scope = replace(binder.scope, aliases=_aliases(self.node, items))
            scalar = replace(binder, scope=scope).bind(inner)
            name = node.alias or (inner.name if isinstance(inner, exp.Column) else self.text.words(inner))
            items.append(Item(name, scalar, self.text.place(node)))
        return items

    def _star(self, node: exp.Expr, star: exp.Star) -> list[Item]:
        """`*` or `t.*`, without the columns that EXCEPT names."""
        self.text.only(star, ("except_",))
        without = {each.name.lower() for each in star.args.get("except_") or ()}
        if isinstance(node, exp.Column) and node.table:
            variable = self.scope.variable(node.table)
            if variable is None:
                raise self.text.refuse("unknown-table", f"nothing in FROM is called {node.table}", node)
            columns: list[tuple[str, Scalar]] = [(each.name, each) for each in variable.attributes]
        else:
            columns = list(self.scope.columns())
        if not columns:
            raise self.text.refuse("wrong-columns", "* stands for no column", node)
        place = self.text.place(node)
        return [Item(name, scalar, place) for name, scalar in columns if name.lower() not in without]

    def _keys(self, items: list[Item], joins: SubqueryJoins) -> tuple[Named, ...] | None:
        group = self.node.args.get("group")
        if group is None:
            return None
        self.text.only(group, ("expressions",))
        binder = self._plain("GROUP BY", joins)
        keys: dict[Scalar, Named] = {}
        for node in group.expressions:
            scalar = self._numbered(node, items)
            if scalar is None:
                scalar = binder.bind(node)
            if any(_holds(scalar, each.attribute) for each in self.collected.aggregates.values()):
                raise self.text.refuse("misplaced-aggregate", "GROUP BY cannot hold an aggregate", node)
            name = scalar.name if isinstance(scalar, Attribute) else self.text.words(node)
            keys.setdefault(scalar, self.context.named(name, scalar, self.text.place(node)))
        return tuple(keys.values())

    def _numbered(self, node: exp.Expr, items: list[Item]) -> Scalar | None:
        """The column of SELECT that a bare number names in GROUP BY and ORDER BY."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        if not node.name.isdigit() or not 1 <= int(node.name) <= len(items):
            raise self.text.refuse(
                "unknown-column", f"SELECT has {len(items)} columns, no column {node.name}", node
            )
        return items[int(node.name) - 1].scalar

    def _group(self, keys: tuple[Named, ...]) -> None:
        self.ungrouped = frozenset(attribute.id for attribute in self.plan.attributes)
        self.groups = {key.expression: key.attribute for key in keys}
        aggregates = tuple(
            replace(
                each, attribute=replace(each.attribute, nullable=aggregate_may_be_null(each.call, bool(keys)))
            )
            for each in self.collected.aggregates.values()
        )
        self.aggregates = {each.attribute.id: each.attribute for each in aggregates}
        place = self.text.place(self.node.args.get("group"))
        self.plan = GroupBy(self.plan, keys, aggregates, place)

    def _grouped(self, scalar: Scalar) -> Scalar:
        """A scalar over the rows of FROM as one over the groups."""
        if not self.groups and not self.ungrouped:
            return scalar
        key = self.groups.get(scalar)
        if key is not None:
            return replace(key, place=getattr(scalar, "place", None))
        if isinstance(scalar, Attribute):
            if scalar.id in self.ungrouped:
                message = f"{scalar.name} is neither a key of GROUP BY nor inside of an aggregate"
                self._refuse_at(scalar, message)
            return replace(self.aggregates.get(scalar.id, scalar), place=scalar.place)
        parts = parts_of(scalar)
        changed = tuple(map(self._grouped, parts))
        return scalar if changed == parts else with_parts(scalar, changed)

    def _refuse_at(self, scalar: Attribute, message: str) -> None:
        hint = f"add it to GROUP BY, or say which one: max({scalar.name})"
        raise SqlError("not-grouped", message, place=scalar.place, hint=hint)

    def _windows(self) -> None:
        if self.collected.windows:
            calls = tuple(self.collected.windows.values())
            window = Window(self.plan, calls, self.text.place(self.node))
            self.plan = map_scalars(window, self._grouped)

    # -------------------------------------------------------------- ORDER BY, LIMIT and the columns

    def _order(self, items: list[Item], binder: ScalarBinder) -> tuple[SortKey, ...]:
        order = self.node.args.get("order")
        if order is None:
            return ()
        binder = replace(binder, aliases_first=True, scope=self.scope)
        return tuple(
            sort_key(
                binder, node, self._numbered(node.this if isinstance(node, exp.Ordered) else node, items)
            )
            for node in order.expressions
        )

    def _project(self, items: list[Item], order: tuple[SortKey, ...]) -> Operator:
        place = self.text.place(self.node)
        columns = tuple(
            self.context.named(each.name, self._grouped(each.scalar), each.place) for each in items
        )
        keys = tuple(replace(key, expression=self._grouped(key.expression)) for key in order)
        computed: dict[Scalar, Scalar] = {column.expression: column.attribute for column in columns}
        over = tuple(replace(key, expression=_over(key.expression, computed)) for key in keys)
        made = {column.attribute.id for column in columns}
        shown = all(_reads_only(key.expression, made) for key in over)
        distinct = self.node.args.get("distinct")
        if distinct is not None:
            if distinct.args.get("on"):
                raise self.text.unsupported("DISTINCT ON", distinct)
            if not shown:
                message = "ORDER BY of SELECT DISTINCT takes columns of SELECT"
                raise self.text.refuse("unknown-column", message, self.node.args["order"])
        if shown:
            plan: Operator = Project(self.plan, columns, place)
            return self._top(
                Distinct(plan, self.text.place(distinct)) if distinct is not None else plan, over
            )
        return Project(self._top(self.plan, keys), columns, place)

    def _top(self, plan: Operator, order: tuple[SortKey, ...]) -> Operator:
        return top(self.context, self.node, plan, order)


def top(context: QueryContext, node: exp.Expr, plan: Operator, order: tuple[SortKey, ...]) -> Operator:
    """The plan with ORDER BY, LIMIT and OFFSET of a query, if it has any."""
    binder = ScalarBinder(context, Scope(), NoneBeyond(context.text, "LIMIT"))
    limit = bound(binder, node.args.get("limit"), "LIMIT")
    offset = bound(binder, node.args.get("offset"), "OFFSET")
    if not order and limit is None and offset is None:
        return plan
    at = node.args.get("order") or node.args.get("limit") or node.args.get("offset")
    return TopK(plan, order, limit, offset, context.text.place(at))


def _aliases(node: exp.Select, items: list[Item]) -> dict[str, Scalar]:
    named = {each.alias.lower() for each in node.expressions if each.alias}
    return {item.name.lower(): item.scalar for item in items if item.name.lower() in named}


def _split(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        return [each for part in (node.left, node.right) for each in _split(part)]
    return [node]


def _members(node: exp.Expr) -> exp.Expr | None:
    """The subquery of `x IN (...)` or `x = ANY (...)`."""
    if isinstance(node, exp.In):
        found = node.args.get("query")
        return found if isinstance(found, exp.Expr) else None
    if isinstance(node, exp.EQ) and isinstance(node.expression, exp.Any):
        inner = node.expression.this
        return inner if isinstance(inner, exp.Subquery | exp.Select | exp.SetOperation) else None
    return None


def _over(scalar: Scalar, computed: dict[Scalar, Scalar]) -> Scalar:
    """A scalar that reads computed columns, where it says the same as they."""
    if scalar in computed:
        return computed[scalar]
    parts = parts_of(scalar)
    return with_parts(scalar, tuple(_over(part, computed) for part in parts)) if parts else scalar


def _reads_only(scalar: Scalar, ids: set[int]) -> bool:
    if isinstance(scalar, Attribute):
        return scalar.id in ids
    return all(_reads_only(part, ids) for part in parts_of(scalar))


def _holds(scalar: Scalar, attribute: Attribute) -> bool:
    return scalar == attribute or any(_holds(part, attribute) for part in parts_of(scalar))
