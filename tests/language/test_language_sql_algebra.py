"""Plans are data: what they are made of can be read and exchanged, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

from headwater.errors import Place
from headwater.language.sql.algebra import (
    AggregateCall,
    GroupBy,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Scan,
    Select,
    SortKey,
    ThetaJoin,
    TopK,
    children,
    map_scalars,
    scalars_of,
    scans,
    transform,
    walk,
    with_children,
)
from headwater.language.sql.scalars import (
    NULL,
    TRUE,
    And,
    Attribute,
    Case,
    Cast,
    Compare,
    Function,
    InList,
    IsNull,
    Like,
    Not,
    Or,
    Parameter,
    Scalar,
    Value,
    conjunction,
    conjuncts,
    parts_of,
    substitute,
    transform_scalar,
    walk_scalar,
    with_parts,
)
from headwater.values.types import FLOAT, INT, STRING

A = Attribute(0, "a", INT, nullable=False)
B = Attribute(1, "b", STRING)
C = Attribute(2, "c", INT)
ONE = Value(1, INT)

SCALARS: tuple[Scalar, ...] = (
    A,
    ONE,
    Parameter("p"),
    Function("add", (A, ONE)),
    Compare("<", A, ONE),
    And((Compare("<", A, ONE), IsNull(B))),
    Or((Compare("<", A, ONE), Not(IsNull(B)))),
    Like(B, Value("x%", STRING)),
    InList(A, (ONE, C)),
    Case(((Compare("<", A, ONE), B), (TRUE, NULL)), B),
    Cast(A, FLOAT),
)


def test_a_scalar_is_its_parts_put_together():
    for scalar in SCALARS:
        assert with_parts(scalar, parts_of(scalar)) == scalar
        assert transform_scalar(scalar, lambda part: part) == scalar
        assert next(walk_scalar(scalar)) is scalar


def test_other_parts_take_the_places_of_the_former_ones():
    case = Case(((Compare("<", A, ONE), B), (IsNull(A), NULL)), A)
    assert substitute(case, {A.id: C}) == Case(((Compare("<", C, ONE), B), (IsNull(C), NULL)), C)


def test_constants_of_other_kinds_are_other_constants():
    assert Value(1) != Value(1.0) and Value(1) != Value(True)


def test_a_place_is_not_compared():
    place = Place("q.sql", 1, 1, 1, "x")
    assert replace(A, place=place) == A and Not(A, place) == Not(A)


def test_conditions_are_flat():
    first, second, third = IsNull(A), IsNull(B), IsNull(C)
    assert conjunction((And((first, second)), TRUE, third)) == And((first, second, third))
    assert conjunction(()) == TRUE and conjunction((first,)) == first
    assert conjuncts(None) == () and conjuncts(first) == (first,)


def plan() -> TopK:
    left = Scan("r", "r", 0, (A, B))
    right = Scan("s", "s", 1, (C,))
    joined = ThetaJoin("inner", left, right, Compare("=", A, C))
    total = NamedAggregate(Attribute(4, "total", INT), AggregateCall("sum", C))
    grouped = GroupBy(joined, (Named(Attribute(3, "b", STRING), B),), (total,))
    having = Select(grouped, Compare(">", total.attribute, Value(5, INT)))
    shown = Project(having, (Named(Attribute(5, "total", INT), total.attribute),))
    return TopK(shown, (SortKey(shown.attributes[0], descending=True),), Value(3, INT))


def test_a_plan_is_its_inputs_put_together():
    for operator in walk(plan()):
        assert with_children(operator, children(operator)) == operator
        assert map_scalars(operator, lambda scalar: scalar) == operator
    assert [type(each).__name__ for each in walk(plan())] == [
        "TopK",
        "Project",
        "Select",
        "GroupBy",
        "ThetaJoin",
        "Scan",
        "Scan",
    ]


def test_attributes_follow_the_operators():
    names = [[attribute.name for attribute in each.attributes] for each in walk(plan())]
    assert names == [["total"], ["total"], ["b", "total"], ["b", "total"], ["a", "b", "c"], ["a", "b"], ["c"]]


def test_the_filled_side_of_an_outer_join_takes_nulls():
    left, right = Scan("r", "r", 0, (A,)), Scan("s", "s", 1, (replace(C, nullable=False),))
    nullable = {
        kind: [attribute.nullable for attribute in ThetaJoin(kind, left, right, TRUE).attributes]
        for kind in ("inner", "left", "right", "full", "semi", "anti")
    }
    assert nullable == {
        "inner": [False, False],
        "left": [False, True],
        "right": [True, False],
        "full": [True, True],
        "semi": [False],
        "anti": [False],
    }


def test_a_change_reaches_every_operator():
    def filtered(operator: Operator) -> Operator:
        return (
            Select(operator, Not(IsNull(operator.attributes[0]))) if isinstance(operator, Scan) else operator
        )

    changed = transform(plan(), filtered)
    assert sum(isinstance(each, Select) for each in walk(changed)) == 3
    assert [scan.table for scan in scans(changed)] == ["r", "s"]
    assert (
        sum(len(scalars_of(each)) for each in walk(changed))
        == sum(len(scalars_of(each)) for each in walk(plan())) + 2
    )
