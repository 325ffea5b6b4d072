"""What is rendered reads back as the same."""

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import LanguageError
from headwater.language.datalog import parse
from headwater.language.program import (
    Atom,
    BodyAggregate,
    Call,
    Column,
    Comparison,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    HeadAggregate,
    Materialize,
    Negated,
    Positive,
    Program,
    Rule,
    Variable,
    Wildcard,
)
from headwater.language.render import MARK, render
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP, list_of

# ------------------------------------------------------------------ any program that a text can say

RESERVED = {
    "true",
    "false",
    "nil",
    "not",
    "as",
    "date",
    "timestamp",
    "materialize",
    "watch",
    "delete",
    "Query",
}
plain_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,4}", fullmatch=True)
names = (
    plain_names | st.sampled_from(["count", "min", "sum", "in", "band", "bnot", "input", "decl", "é"])
).filter(lambda name: name not in RESERVED and name != "_")
variables = st.builds(Variable, names, st.booleans())

scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
)
values = scalars | st.recursive(
    st.just(()), lambda inner: st.lists(scalars | inner, max_size=3).map(tuple), max_leaves=4
)
addresses = st.integers(0, 9) | st.text("ab:. ", max_size=3)
constants = st.builds(Constant, values) | st.builds(Constant, addresses, st.just(True))


def is_read_as_a_constant(call: Call) -> bool:
    return call.function == "list" and all(isinstance(arg, Constant) and not arg.address for arg in call.args)


def calls(terms):
    pair = st.tuples(terms, terms)
    return (
        st.builds(Call, st.sampled_from("+-*/%^"), pair)
        | st.builds(Call, st.sampled_from(["band", "bor", "bshl"]), pair)
        | st.builds(Call, st.sampled_from(["neg", "bnot", "lnot"]), st.tuples(terms))
        | st.builds(Call, st.just("list"), st.lists(terms, min_size=1, max_size=3).map(tuple)).filter(
            lambda call: not is_read_as_a_constant(call)
        )
        | st.builds(Call, names, st.lists(terms, max_size=3).map(tuple))
    )


leaves = variables | constants | st.just(Wildcard())
shallow = st.deferred(lambda: leaves | calls(leaves))
terms = st.deferred(lambda: st.recursive(leaves, calls, max_leaves=6))


def atoms(arguments):
    return st.builds(Atom, names, st.lists(arguments, max_size=3).map(tuple), st.booleans())


def simple_literals(operands):
    return (
        st.builds(Positive, atoms(operands))
        | st.builds(Negated, atoms(operands))
        | st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">=", ":="]), operands, operands)
    )


def bodies(literals):
    return st.lists(literals, min_size=1, max_size=3).map(tuple)


def disjunctions(literals):
    return st.builds(Disjunction, st.lists(bodies(literals), min_size=2, max_size=3).map(tuple))


inner_bodies = st.deferred(lambda: bodies(simple_literals(shallow) | disjunctions(simple_literals(shallow))))
body_aggregates = st.builds(BodyAggregate, st.just("count"), st.none(), inner_bodies) | st.builds(
    BodyAggregate, st.sampled_from(["sum", "min", "max", "avg"]), shallow, inner_bodies
)
with_aggregates = st.deferred(lambda: terms | body_aggregates | calls(leaves | body_aggregates))
literals = st.deferred(lambda: st.recursive(simple_literals(with_aggregates), disjunctions, max_leaves=4))

head_aggregates = st.builds(
    HeadAggregate, st.sampled_from(["count", "sum", "min", "max", "avg", "list"]), variables
)
head_atoms = atoms(terms | head_aggregates | st.just(HeadAggregate("count", None)))
labels = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,2}(-[A-Za-z0-9]{1,2})?", fullmatch=True).filter(
    lambda label: label != "Query"
)
rules = st.builds(
    Rule,
    st.none() | labels,
    st.lists(head_atoms, min_size=1, max_size=2).map(tuple),
    st.just(()) | bodies(literals),
    st.booleans(),
)

types = st.none() | st.recursive(
    st.sampled_from([INT, FLOAT, STRING, BOOL, DATE, TIMESTAMP, list_of(None)]),
    lambda inner: inner.map(list_of),
)
columns = st.builds(Column, names, types)
declarations = st.builds(Declaration, names, st.lists(columns, max_size=3).map(tuple))
tables = st.builds(
    Materialize,
    names,
    st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
    st.none() | st.integers(1, 1000),
    st.lists(st.integers(0, 5), max_size=3).map(tuple),
)
directives = st.builds(
    Directive,
    st.sampled_from(["input", "output", "printsize"]),
    names,
    st.dictionaries(names, st.text(max_size=4), max_size=2),
) | st.builds(Directive, st.just("watch"), names)


def some(strategy):
    return st.lists(strategy, max_size=3).map(tuple)


class Case:
    """A program that a failing test shows as text."""

    def __init__(self, *parts):
        self.program = Program(*parts)

    def _repr_pretty_(self, printer, cycle):
        printer.text(render(self.program))


cases = st.builds(Case, some(rules), some(declarations), some(tables), some(directives), some(head_atoms))


# ------------------------------------------------------------------ properties


@given(cases)
@settings(max_examples=300, deadline=None)
def test_a_program_reads_back_as_the_same(case):
    text = render(case.program)
    read = parse(text)
    assert read == case.program
    assert repr(read) == repr(case.program)  # 1, 1.0 and true are equal, and are not the same
    assert render(read) == text


@given(terms)
@settings(max_examples=300, deadline=None)
def test_a_term_reads_back_as_the_same(term):
    (rule,) = parse(f".decl p(x: int)\np(x) :- q({render(term)}).").rules
    assert rule.body[0].atom.args == (term,)


# ------------------------------------------------------------------ the look of it


@pytest.mark.parametrize(
    "text",
    [
        "path(@S, @D, min<C>) :- #link(@S, @D, C), !dead(@D), C < 10.",
        "r1: delete link(@S, @D) :- dead(@D), link(@S, @D).",
        'a(X), b(X) :- (c(X), X != "a" ; d(X, [1, 2])).',
        "p(N) :- N = count : { e(X, _) }, M = sum (X + 1) : { e(X, Y) }.",
        "p(X) :- q(Y), X = -Y ^ 2 + 3 * (Y - 1) % 2 - -4.",
        'p(date("2024-01-31"), timestamp("2024-01-31T10:00:00"), true, 1.5, [], "a\\"b").',
        "materialize(link, infinity, 10, keys(1, 2)).",
        '.decl p(x: int, y: list[string], z: _)\n.input p(filename="p.csv")\np(x, y, z) :- q(x, y, z).',
        "watch(p).\n?- p(X).",
    ],
)
def test_text_that_looks_the_same_afterwards(text):
    assert render(parse(text)) == text + "\n"


def test_parts_render_alone():
    (rule,) = parse("p(X) :- q(X, f(X) + 1), X < 3.").rules
    assert render(rule) == "p(X) :- q(X, f(X) + 1), X < 3."
    assert render(rule.body[0]) == render(rule.body[0].atom) == "q(X, f(X) + 1)"
    assert render(rule.body[0].atom.args[1]) == "f(X) + 1"
    assert render(rule.body[1]) == "X < 3"
    assert render(Wildcard()) == "_"


def test_a_mark_is_written_only_where_names_would_be_misread():
    for text in (
        "p(X) :- q(X).",
        "p(x) :- q(x).",
        "p(x) :- q(x). q(A).",
        "p(1).",
        ".decl p(x: int)\np(x, Y) :- q(x, Y).",
    ):
        assert MARK not in render(parse(text))
    mixed = parse(".decl p(x: int)\np(x, Y) :- q(x, Y).")
    assert render(Program(mixed.rules)) == f"{MARK}\np(x, Y) :- q(x, Y).\n"
    lower_fact = Program((Rule(None, (Atom("p", (Variable("x"),)),), ()),))
    assert MARK in render(lower_fact)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), None, (1, None), datetime.time(1)])
def test_values_that_cannot_be_written(value):
    with pytest.raises(LanguageError, match="cannot be written"):
        render(Constant(value))
