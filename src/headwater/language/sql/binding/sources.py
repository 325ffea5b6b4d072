"""FROM: tables, subqueries, CTEs and VALUES, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.language.sql.algebra import Inline, JoinKind, Operator, Scan, ThetaJoin
from headwater.language.sql.binding.clauses import NoneBeyond
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.binding.scalars import ScalarBinder
from headwater.language.sql.binding.scope import RangeVariable, Scope
from headwater.language.sql.functions import common_type
from headwater.language.sql.inference import may_be_null, type_of
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import Compare, Function, Scalar, conjunction


class DerivedTables(Protocol):
    """What a table's name means: a CTE, or a subquery in FROM."""

    def plan_of(self, node: exp.Expr) -> Operator | None: ...


@dataclass(frozen=True)
class JoinedSources:
    """The plan of FROM, and what names mean over it."""

    plan: Operator
    scope: Scope


@dataclass(frozen=True)
class SourceBinder:
    """Binds the FROM of one SELECT."""

    context: QueryContext
    derived: DerivedTables
    parent: Scope | None

    def bind(self, first: exp.Expr | None, joins: Iterable[exp.Join]) -> JoinedSources:
        """The sources of a SELECT. What commas separate is joined last, as SQL has it."""
        if first is None:
            return JoinedSources(Inline((), ((),)), Scope(parent=self.parent))
        groups: list[list[exp.Join]] = [[]]
        heads = [first]
        for join in joins:
            if _is_comma(join):
                heads.append(join.this)
                groups.append([])
            else:
                groups[-1].append(join)
        bound = [self._group(head, group) for head, group in zip(heads, groups, strict=True)]
        joined = bound[0]
        for each in bound[1:]:
            plan = ThetaJoin("inner", joined.plan, each.plan, None, each.plan.place)
            joined = JoinedSources(plan, self._together(joined.scope, each.scope, first))
        return joined

    def _group(self, head: exp.Expr, joins: list[exp.Join]) -> JoinedSources:
        joined = self._source(head)
        nested = list(head.args.get("joins") or ())
        for join in [*nested, *joins]:
            joined = self._join(joined, join)
        return joined

    # -------------------------------------------------------------- one source

    def _source(self, node: exp.Expr) -> JoinedSources:
        if isinstance(node, exp.Values):
            return self._values(node)
        if isinstance(node, exp.Paren):
            return self._source(node.this)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            return self.bind(node.this, node.this.args.get("joins") or ())
        if not isinstance(node, exp.Table | exp.Subquery):
            raise self.context.text.unsupported(node.key.upper(), node)
        known = ("this", "db", "catalog", "alias", "joins", "with_")
        self.context.text.only(node, known)
        derived = self.derived.plan_of(node)
        if derived is None:
            assert isinstance(node, exp.Table)
            return self._table(node)
        name = node.alias or (node.name if isinstance(node, exp.Table) else "")
        return self._variable(node, name, derived)

    def _table(self, node: exp.Table) -> JoinedSources:
        schema = self.context.table(node)
        place = self.context.text.place(node)
        access = next(self.context.accesses)
        attributes = tuple(
            self.context.attribute(column.name, column.type, column.nullable) for column in schema.columns
        )
        alias = node.alias or ".".join(part.name for part in node.parts)
        return self._variable(node, alias, Scan(schema.name, alias, access, attributes, place))

    def _values(self, node: exp.Values) -> JoinedSources:
        binder = ScalarBinder(self.context, Scope(), NoneBeyond(self.context.text, "VALUES"))
        rows = tuple(
            tuple(binder.bind(cell) for cell in (row.expressions if isinstance(row, exp.Tuple) else [row]))
            for row in node.expressions
        )
        if len({len(row) for row in rows}) != 1:
            raise self.context.text.refuse(
                "wrong-columns", "rows of VALUES have different numbers of columns", node
            )
        attributes = tuple(
            self.context.attribute(
                f"col{number}", common_type(tuple(map(type_of, cells))), any(map(may_be_null, cells))
            )
            for number, cells in enumerate(zip(*rows, strict=True), 1)
        )
        plan = Inline(attributes, rows, self.context.text.place(node))
        return self._variable(node, node.alias, plan)

    def _variable(self, node: exp.Expr, alias: str, plan: Operator) -> JoinedSources:
        attributes = plan.attributes
        names = node.args["alias"].columns if node.args.get("alias") else []
        if names:
            if len(names) != len(attributes):
                message = f"{alias} has {len(attributes)} columns, and {len(names)} are named"
                raise self.context.text.refuse("wrong-columns", message, node)
            attributes = tuple(
                replace(each, name=name.name) for each, name in zip(attributes, names, strict=True)
            )
        return JoinedSources(plan, Scope((RangeVariable(alias, attributes),), parent=self.parent))

    # -------------------------------------------------------------- joins

    def _join(self, left: JoinedSources, join: exp.Join) -> JoinedSources:
        self.context.text.only(join, ("this", "side", "kind", "method", "on", "using", "expressions"))
        kind = self._kind(join)
        right = self._source(join.this)
        for nested in join.this.args.get("joins") or ():
            right = self._join(right, nested)
        both = self._together(left.scope, right.scope, join)
        names = self._shared(left.scope, right.scope, join)
        conditions: list[Scalar] = []
        merged = dict(both.merged)
        for name, node in names:
            one, other = self._side(left.scope, name, node), self._side(right.scope, name, node)
            conditions.append(Compare("=", one, other, self.context.text.place(node)))
            merged[name] = _merged(kind, one, other)
        if join.args.get("on") is not None:
            binder = ScalarBinder(self.context, both, NoneBeyond(self.context.text, "ON"))
            conditions.append(binder.bind(join.args["on"]))
        condition = conjunction(tuple(conditions)) if conditions else None
        plan = ThetaJoin(kind, left.plan, right.plan, condition, self.context.text.place(join))
        visible = left.scope if kind in ("semi", "anti") else replace(both, merged=merged)
        return JoinedSources(plan, visible.over(plan))

    def _kind(self, join: exp.Join) -> JoinKind:
        side, kind = (join.side or "").lower(), (join.kind or "").lower()
        if kind in ("semi", "anti"):
            return "semi" if kind == "semi" else "anti"
        if side == "left":
            return "left"
        if side == "right":
            return "right"
        if side == "full":
            return "full"
        if kind not in ("", "inner", "cross", "outer"):
            raise self.context.text.unsupported(f"{kind.upper()} JOIN", join)
        return "inner"

    def _shared(self, left: Scope, right: Scope, join: exp.Join) -> list[tuple[str, exp.Expr]]:
        """The columns that USING names, or that NATURAL finds."""
        if (join.method or "").upper() == "NATURAL":
            there = {name.lower() for name, _ in right.columns()}
            return [(name.lower(), join) for name, _ in left.columns() if name.lower() in there]
        return [(node.name.lower(), node) for node in join.args.get("using") or ()]

    def _side(self, scope: Scope, name: str, node: exp.Expr) -> Scalar:
        """The column of that name on one side of a join."""
        column = exp.column(name)
        column.this.meta.update(node.meta)
        return replace(scope, parent=None).resolve(column, self.context.text)

    def _together(self, left: Scope, right: Scope, node: exp.Expr) -> Scope:
        taken = {variable.alias.lower() for variable in left.variables if variable.alias}
        for variable in right.variables:
            if variable.alias.lower() in taken:
                message = f"two sources are called {variable.alias}"
                raise self.context.text.refuse("ambiguous-table", message, node, "give one of them an alias")
        merged = {**left.merged, **right.merged}
        return Scope((*left.variables, *right.variables), merged, {}, self.parent)


def _is_comma(join: exp.Join) -> bool:
    plain = not join.side and not join.method and not join.args.get("on") and not join.args.get("using")
    return plain and (join.kind or "").upper() in ("", "CROSS")


def _merged(kind: JoinKind, left: Scalar, right: Scalar) -> Scalar:
    """The one column that USING makes of two: that of the side whose rows are all there."""
    if kind == "right":
        return right
    if kind == "full":
        return Function("coalesce", (left, right), type_of(left))
    return left
