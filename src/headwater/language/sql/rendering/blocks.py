"""Plans as SELECTs: each operator goes into the SELECT of its input as long as SQL's order of clauses allows it.

A `SelectBlock` is a SELECT that is not finished: FROM, WHERE and so on, and what each attribute is in it. An operator
that must come after what the block already has (a WHERE after a LIMIT, say) makes a subquery of it first. Names
inside are made from names and ids of attributes, so none hides another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.language.sql.algebra import (
    Distinct,
    Except,
    GroupBy,
    Inline,
    Intersect,
    Operator,
    Project,
    Scan,
    Select,
    ThetaJoin,
    TopK,
    UnionAll,
    Window,
)
from headwater.language.sql.needed import exp
from headwater.language.sql.rendering.scalars import (
    aggregate_node,
    order_node,
    scalar_node,
    window_node,
)
from headwater.language.sql.scalars import Attribute, conjuncts

PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z", re.IGNORECASE)


@dataclass
class SelectBlock:
    """A SELECT that is not finished."""

    columns: dict[int, exp.Expr]
    source: exp.Expr | None = None
    joins: list[exp.Join] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)
    group: list[exp.Expr] = field(default_factory=list)
    grouped: bool = False
    having: list[exp.Expr] = field(default_factory=list)
    windowed: bool = False
    distinct: bool = False
    order: exp.Order | None = None
    limit: exp.Expr | None = None
    offset: exp.Expr | None = None

    @property
    def topped(self) -> bool:
        """Whether an order or a limit is said."""
        return self.order is not None or self.limit is not None or self.offset is not None

    @property
    def open(self) -> bool:
        """Whether it has FROM and WHERE only."""
        return not (self.grouped or self.windowed or self.distinct or self.topped)

    @property
    def computed(self) -> bool:
        """Whether an attribute is more than a column: reading it twice would compute it twice."""
        return any(not isinstance(node, exp.Column) for node in self.columns.values())


class Rendering:
    """Makes SELECTs of plans. `sources` has what tables are called where the SQL will run."""

    def __init__(self, sources: Mapping[str, exp.Expr] | None = None):
        self.sources = sources or {}
        self._aliases = 0

    def query(self, plan: Operator) -> exp.Expr:
        """The whole query, its columns named as the plan has them."""
        return self._finished(self.block(plan), plan.attributes, [each.name for each in plan.attributes])

    def block(self, plan: Operator) -> SelectBlock:
        """The SELECT of a plan."""
        match plan:
            case Scan():
                return self._scan(plan)
            case Inline():
                return self._inline(plan)
            case Select():
                return self._select(plan)
            case Project():
                return self._project(plan)
            case ThetaJoin():
                return self._join(plan)
            case UnionAll() | Except() | Intersect():
                return self._set_operation(plan)
            case Distinct():
                return self._distinct(plan)
            case GroupBy():
                return self._group(plan)
            case Window():
                return self._window(plan)
            case TopK():
                return self._top(plan)

    # -------------------------------------------------------------- subqueries

    def _finished(self, block: SelectBlock, attributes: tuple[Attribute, ...], names: list[str]) -> exp.Expr:
        pairs = zip(attributes, names, strict=True)
        shown = [exp.alias_(block.columns[each.id].copy(), name, quoted=True) for each, name in pairs]
        select = exp.Select(expressions=shown or [exp.alias_(exp.Literal.number(1), "one", quoted=True)])
        if block.source is not None:
            select.set("from_", exp.From(this=block.source))
            select.set("joins", block.joins)
        if block.where:
            select.set("where", exp.Where(this=exp.and_(*block.where, copy=False)))
        if block.group:
            select.set("group", exp.Group(expressions=block.group))
        if block.having:
            select.set("having", exp.Having(this=exp.and_(*block.having, copy=False)))
        if block.distinct:
            select.set("distinct", exp.Distinct())
        select.set("order", block.order)
        select.set("limit", None if block.limit is None else exp.Limit(expression=block.limit))
        select.set("offset", None if block.offset is None else exp.Offset(expression=block.offset))
        return select

    def _alias(self, prefix: str) -> str:
        self._aliases += 1
        return f"{prefix}{self._aliases}"

    def _wrapped(self, block: SelectBlock, attributes: tuple[Attribute, ...]) -> SelectBlock:
        """A SELECT that reads a finished one."""
        names = [_inner_name(each) for each in attributes]
        return self._over(self._finished(block, attributes, names), attributes)

    def _over(self, query: exp.Expr, attributes: tuple[Attribute, ...]) -> SelectBlock:
        alias = self._alias("q")
        columns: dict[int, exp.Expr] = {
            each.id: exp.column(exp.to_identifier(_inner_name(each), quoted=True), alias)
            for each in attributes
        }
        return SelectBlock(
            columns, exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
        )

    def _opened(self, plan: Operator, *, plain: bool = False) -> SelectBlock:
        """The SELECT of a plan with FROM and WHERE only (`plain`: in which attributes are columns)."""
        block = self.block(plan)
        if block.open and not (plain and block.computed):
            return block
        return self._wrapped(block, plan.attributes)

    # -------------------------------------------------------------- operators

    def _scan(self, plan: Scan) -> SelectBlock:
        alias = self._alias("t")
        known = self.sources.get(plan.table)
        table = _table(plan.table) if known is None else known.copy()
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        return SelectBlock(
            {
                each.id: exp.column(exp.to_identifier(each.name, quoted=True), alias)
                for each in plan.attributes
            },
            table,
        )

    def _inline(self, plan: Inline) -> SelectBlock:
        if not plan.attributes and len(plan.rows) == 1:
            return SelectBlock({})
        if not plan.rows:
            nulls: dict[int, exp.Expr] = {each.id: exp.Null() for each in plan.attributes}
            return SelectBlock(nulls, where=[exp.false()])
        names = [_inner_name(each) for each in plan.attributes]
        query: exp.Expr | None = None
        for row in plan.rows:
            cells = zip(row, names, strict=True)
            shown = [exp.alias_(scalar_node(cell, {}), name, quoted=True) for cell, name in cells]
            select = exp.Select(expressions=shown)
            query = select if query is None else exp.Union(this=query, expression=select, distinct=False)
        assert query is not None
        return self._over(query, plan.attributes)

    def _select(self, plan: Select) -> SelectBlock:
        block = self.block(plan.input)
        if block.windowed or block.distinct or block.topped:
            block = self._wrapped(block, plan.input.attributes)
        conditions = [_bracketed_or(scalar_node(each, block.columns)) for each in conjuncts(plan.condition)]
        (block.having if block.grouped else block.where).extend(conditions)
        return block

    def _project(self, plan: Project) -> SelectBlock:
        block = self.block(plan.input)
        if block.distinct or (block.computed and block.open):
            block = self._wrapped(block, plan.input.attributes)
        block.columns = {
            each.attribute.id: scalar_node(each.expression, block.columns) for each in plan.columns
        }
        return _one_group(block)

    def _join(self, plan: ThetaJoin) -> SelectBlock:
        left = self._opened(plan.left, plain=True)
        if plan.kind in ("semi", "anti"):
            return self._semi_join(plan, left)
        if left.source is None or (left.where and plan.kind != "inner"):
            left = self._wrapped(left, plan.left.attributes)
        right = self._opened(plan.right, plain=True)
        if right.source is None or right.joins or (right.where and plan.kind != "inner"):
            right = self._wrapped(right, plan.right.attributes)
        left.columns |= right.columns
        left.where += right.where
        join = exp.Join(this=right.source)
        if plan.condition is None and plan.kind == "inner":
            join.set("kind", "CROSS")
        else:
            condition = exp.true() if plan.condition is None else scalar_node(plan.condition, left.columns)
            join.set("on", condition)
            if plan.kind != "inner":
                join.set("side", plan.kind.upper())
        left.joins.append(join)
        return left

    def _semi_join(self, plan: ThetaJoin, left: SelectBlock) -> SelectBlock:
        right = self._opened(plan.right)
        if plan.condition is not None:
            right.where.append(_bracketed_or(scalar_node(plan.condition, left.columns | right.columns)))
        right.columns = {}
        exists: exp.Expr = exp.Exists(this=self._finished(right, (), []))
        left.where.append(exists if plan.kind == "semi" else exp.Not(this=exists))
        return left

    def _set_operation(self, plan: UnionAll | Except | Intersect) -> SelectBlock:
        names = [_inner_name(each) for each in plan.attributes]
        inputs = plan.inputs if isinstance(plan, UnionAll) else (plan.left, plan.right)
        query: exp.Expr | None = None
        for each in inputs:
            block = self.block(each)
            if block.topped:
                block = self._wrapped(block, each.attributes)
            select = self._finished(block, each.attributes, names)
            query = select if query is None else _set_node(plan, query, select)
        assert query is not None
        return self._over(query, plan.attributes)

    def _distinct(self, plan: Distinct) -> SelectBlock:
        block = self.block(plan.input)
        if block.topped or block.distinct:
            block = self._wrapped(block, plan.input.attributes)
        if not plan.attributes:
            return self._top_one(block)
        visible = {each.id for each in plan.attributes}
        block.columns = {id: node for id, node in block.columns.items() if id in visible}
        block.distinct = True
        return block

    @staticmethod
    def _top_one(block: SelectBlock) -> SelectBlock:
        """Rows without columns are all the same."""
        block.limit = exp.Literal.number(1)
        return block

    def _group(self, plan: GroupBy) -> SelectBlock:
        block = self._opened(plan.input)
        keys = {key.attribute.id: scalar_node(key.expression, block.columns) for key in plan.keys}
        if any(map(_constant, keys.values())):
            block = self._keys_as_columns(plan, block, keys)
            keys = {id: block.columns[id] for id in keys}
        aggregates = {each.attribute.id: aggregate_node(each.call, block.columns) for each in plan.aggregates}
        block.group = [node.copy() for node in keys.values()]
        block.grouped = True
        block.columns = {**keys, **aggregates}
        return _one_group(block)

    def _keys_as_columns(self, plan: GroupBy, block: SelectBlock, nodes: dict[int, exp.Expr]) -> SelectBlock:
        """A SELECT that computes the keys first: a constant in GROUP BY would mean a column's number."""
        attributes = plan.input.attributes
        keys = tuple(key.attribute for key in plan.keys)
        block.columns = {**block.columns, **nodes}
        return self._wrapped(block, tuple(dict.fromkeys((*attributes, *keys))))

    def _window(self, plan: Window) -> SelectBlock:
        block = self.block(plan.input)
        if not block.open:
            block = self._wrapped(block, plan.input.attributes)
        calls = {each.attribute.id: window_node(each.call, block.columns) for each in plan.calls}
        block.columns = {**block.columns, **calls}
        block.windowed = True
        return block

    def _top(self, plan: TopK) -> SelectBlock:
        block = self.block(plan.input)
        if block.topped or block.distinct or block.windowed or _orders_kept_groups(plan, block):
            block = self._wrapped(block, plan.input.attributes)
        order = tuple(key for key in plan.order if not _constant(scalar_node(key.expression, block.columns)))
        block.order = order_node(order, block.columns) if order else None
        block.limit = None if plan.limit is None else scalar_node(plan.limit, {})
        block.offset = None if plan.offset is None else scalar_node(plan.offset, {})
        return block


def _one_group(block: SelectBlock) -> SelectBlock:
    """A SELECT over one group says so, also when no column of it is an aggregate."""
    silent = not any(node.find(exp.AggFunc) for node in block.columns.values())
    if block.grouped and not block.group and not block.having and silent:
        block.having.append(exp.true())
    return block


def _orders_kept_groups(plan: TopK, block: SelectBlock) -> bool:
    """Whether groups that HAVING keeps are put in order by an aggregate. Spark finds only those aggregates beside
    HAVING that HAVING reads, too."""
    nodes = (scalar_node(key.expression, block.columns) for key in plan.order)
    return bool(block.having) and any(node.find(exp.AggFunc) for node in nodes)


def _table(name: str) -> exp.Expr:
    table = exp.to_table(name)
    for part in table.parts:
        part.set("quoted", True)
    return table


def _inner_name(attribute: Attribute) -> str:
    return f"{attribute.name.lower()}_{attribute.id}" if PLAIN.match(attribute.name) else f"c_{attribute.id}"


def _set_node(plan: UnionAll | Except | Intersect, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    if isinstance(plan, UnionAll):
        return exp.Union(this=left, expression=right, distinct=False)
    kind = exp.Except if isinstance(plan, Except) else exp.Intersect
    return kind(this=left, expression=right, distinct=not plan.all)


def _constant(node: exp.Expr) -> bool:
    """Whether a node reads no row: a constant in GROUP BY or ORDER BY would mean a column's number."""
    return node.find(exp.Column, exp.AggFunc, exp.Window) is None


def _bracketed_or(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Or | exp.And) else node
