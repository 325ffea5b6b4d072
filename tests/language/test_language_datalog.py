"""Every construct of the language, one behaviour a test."""

import datetime
import logging
import subprocess
import sys
from decimal import Decimal
from importlib import resources

import lark
import pytest
from language_support import C, X, Y, Z, atom, condition, only_rule, value

from headwater.errors import LanguageError
from headwater.language.datalog import parse
from headwater.language.program import (
    Atom,
    Call,
    Comparison,
    Constant,
    Disjunction,
    Negated,
    NegatedGroup,
    Positive,
    Program,
    Rule,
    Variable,
    Wildcard,
)
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import FrozenMap, Months, Struct
from headwater.values.types import INT, list_of


def test_the_empty_text_says_nothing():
    assert parse("") == Program() == parse(" \n // nothing\n")


def test_the_source_and_the_text_are_kept():
    program = parse("a(1).", "facts.dl")
    assert (program.source, program.text) == ("facts.dl", "a(1).")


# ------------------------------------------------------------------ facts, rules, labels


def test_a_fact():
    assert only_rule('link("a", "b", 5).') == Rule(
        None, (atom("link", Constant("a"), Constant("b"), Constant(5)),), ()
    )


def test_a_fact_without_columns():
    assert only_rule("ready().") == Rule(None, (atom("ready"),), ())


def test_a_rule():
    assert only_rule("p(X) :- q(X, Y), r(Y).") == Rule(
        None, (atom("p", X),), (Positive(atom("q", X, Y)), Positive(atom("r", Y)))
    )


@pytest.mark.parametrize("label", ["r1", "SP1", "r_2", "delete", "SP2-1", "SP1-SD", "SP2-2a"])
def test_labels_with_a_colon(label):
    assert only_rule(f"{label}: p(X) :- q(X).").label == label


def test_labels_without_a_colon():
    rule = only_rule("r1 p(X) :- q(X).")
    assert (rule.label, rule.heads[0].relation, rule.delete) == ("r1", "p", False)


def test_a_labelled_fact():
    assert only_rule("f1: p(1).") == Rule("f1", (atom("p", Constant(1)),), ())


@pytest.mark.parametrize("prefix, label", [("r1 delete", "r1"), ("r1: delete", "r1"), ("delete", None)])
def test_deleting_rules(prefix, label):
    rule = only_rule(f"{prefix} p(X) :- q(X).")
    assert (rule.label, rule.delete) == (label, True)


def test_several_heads():
    assert only_rule("a(X), b(X) :- c(X).").heads == (atom("a", X), atom("b", X))


def test_rules_and_facts_stay_in_order():
    program = parse("a(1). b(X) :- a(X). a(2). a(3). r1: c(X) :- a(X). a(4).")
    assert [rule.text for rule in program.rules] == [
        "a(1).", "b(X) :- a(X).", "a(2).", "a(3).", "r1: c(X) :- a(X).", "a(4)."
    ]  # fmt: skip


def test_the_text_of_a_rule_is_one_line_without_comments():
    rule = only_rule('p(X,"a  b") :-   // why\n\tq(X),\n  !r(X). % so')
    assert rule.text == 'p(X,"a  b") :- q(X), !r(X).'


# ------------------------------------------------------------------ conditions


@pytest.mark.parametrize("written", ["!r(X)", "! r(X)", "not r(X)", "not(r(X))", r"\+ r(X)", "!(r(X))"])
def test_negation(written):
    assert condition(written) == Negated(atom("r", X))


def test_a_name_that_starts_like_a_negation():
    assert condition("nothing(X)") == Positive(atom("nothing", X))


@pytest.mark.parametrize(
    "written, op",
    [
        ("=", "="), ("==", "="), ("!=", "!="), ("<>", "!="), ("<", "<"), ("<=", "<="), (">", ">"),
        (">=", ">="), (":=", ":="),
    ],
)  # fmt: skip
def test_comparisons(written, op):
    assert condition(f"X {written} Y") == Comparison(op, X, Y)
    assert condition(f"X{written}Y") == Comparison(op, X, Y)


def test_less_than_minus():
    assert condition("X<-1") == Comparison("<", X, Constant(-1))


def test_a_disjunction_in_parentheses():
    assert condition("(r(X), X < 3 ; s(X))") == Disjunction(
        (
            (Positive(atom("r", X)), Comparison("<", X, Constant(3))),
            (Positive(atom("s", X)),),
        )
    )


def test_a_disjunction_of_a_whole_body():
    assert only_rule("p(X) :- q(X) ; r(X), s(X).").body == (
        Disjunction(((Positive(atom("q", X)),), (Positive(atom("r", X)), Positive(atom("s", X))))),
    )


def test_disjunctions_nest():
    inner = Disjunction(((Positive(atom("s", X)),), (Positive(atom("t", X)),)))
    assert condition("(r(X) ; q(X), (s(X) ; t(X)))") == Disjunction(
        ((Positive(atom("r", X)),), (Positive(atom("q", X)), inner))
    )


def test_parentheses_around_a_conjunction_say_nothing():
    assert only_rule("p(X) :- (q(X), (r(X))), s(X).") == only_rule("p(X) :- q(X), r(X), s(X).")


def test_a_comparison_that_starts_with_parentheses():
    assert condition("(X + 1) < 3") == Comparison("<", Call("+", (X, Constant(1))), Constant(3))


def test_a_comparison_in_parentheses():
    assert condition("(X < 3)") == Comparison("<", X, Constant(3))


def test_the_conditions_true_and_false():
    assert condition("true") == Comparison("=", Constant(True), Constant(True))
    assert condition("false") == Comparison("=", Constant(False), Constant(True))


def test_a_boolean_function_is_an_atom():
    assert condition('contains("a", Y)') == Positive(atom("contains", Constant("a"), Y))


def test_a_compared_call_is_a_value():
    assert condition("distance(X,Y) < Z") == Comparison("<", Call("distance", (X, Y)), Z)


# ------------------------------------------------------------------ constants

UTC = datetime.timezone.utc


@pytest.mark.parametrize(
    "written, expected",
    [
        ("0", 0), ("42", 42), ("-7", -7), ("0x1F", 31), ("-0x10", -16), ("0b101", 5), ("7u", 7),
        ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)),
        ("2.5", 2.5), ("-0.25", -0.25), ("1e3", 1000.0), ("1.5E-3", 0.0015), ("2e+2", 200.0),
        ('"text"', "text"), ('""', ""), (r'"a\"b\\c\n\t"', 'a"b\\c\n\t'),
        (r'"\u00e9\x41"', "éA"), ('"// % #"', "// % #"),
        ("true", True), ("false", False), ("nil", ()), ("[]", ()), ('[1, [2, "c"], d]', (1, (2, "c"), "d")),
        ('date("2024-01-31")', datetime.date(2024, 1, 31)),
        ("2024-01-31", datetime.date(2024, 1, 31)), ("2000-10-10", datetime.date(2000, 10, 10)),
        ('timestamp("2024-01-31T10:00:00")', datetime.datetime(2024, 1, 31, 10, tzinfo=UTC)),
        ('timestamp("2024-01-31 10:00")', datetime.datetime(2024, 1, 31, 10, tzinfo=UTC)),
        ('timestamp("2024-01-31T10:00:00.25+02:00")', datetime.datetime(2024, 1, 31, 8, 0, 0, 250000, UTC)),
        ('timestamp_ntz("2024-01-31T10:00:00")', datetime.datetime(2024, 1, 31, 10)),
        ('timestamp_ntz("2024-01-31T10:00:00.123456789")', NanosecondDatetime.at(1706695200_123456789)),
        ('time("10:30:00.5")', datetime.time(10, 30, 0, 500000)), ('binary("00ff")', b"\0\xff"),
        ('interval("1 day 2 hours")', datetime.timedelta(days=1, hours=2)), ('interval_months("-P1Y")', Months(-12)),
        ('decimal("-12.50")', Decimal("-12.50")), ('{name: "ann", "a b": [1]}', Struct({"name": "ann", "a b": (1,)})),
        ('map("b", 2, "a", 1)', FrozenMap({"a": 1, "b": 2})), ("{}", Struct({})),
    ],
)  # fmt: skip
def test_constants(written, expected):
    assert value(written) == Constant(expected)
    assert type(value(written).value) is type(expected)
    assert only_rule(f"p({written}).").heads[0].args == (Constant(expected),)


@pytest.mark.parametrize("written", ["1000-50-25", "2024-1-1", "12-01-01", "2024 - 01 - 01"])
def test_differences_that_are_no_dates(written):
    assert isinstance(value(written), Call)


def test_records_are_made_and_read():
    assert value("{a: X, b: 1}") == Call('{"a", "b"}', (X, Constant(1)))
    assert value("X.home.city") == Call(".city", (Call(".home", (X,)),))
    assert value('field(X, "a b")') == Call(".a b", (X,))
    assert value("decimal(X, 12, 2)") == Call("decimal(12,2)", (X,))


def test_a_full_stop_before_a_clause_is_no_field():
    assert len(parse("p(X) :- q(X), X = Y.q(Z).r p(X) :- q(X), X=Y.r(1).").rules) == 4


def test_the_wildcard():
    assert only_rule("p(X) :- q(X,_).").body == (Positive(atom("q", X, Wildcard())),)


def test_a_list_of_variables_is_a_call():
    assert value("[X, 1]") == Call("list", (X, Constant(1)))


def test_a_date_of_a_variable_is_a_call():
    assert value("date(Y)") == Call("date", (Y,))


# ------------------------------------------------------------------ expressions


@pytest.mark.parametrize(
    "written, grouped",
    [
        ("X + Y * Z", "X + (Y * Z)"), ("X * Y + Z", "(X * Y) + Z"), ("X - Y - Z", "(X - Y) - Z"),
        ("X / Y % Z", "(X / Y) % Z"),
        ("X ^ Y ^ Z", "X ^ (Y ^ Z)"), ("-X ^ Y", "-(X ^ Y)"), ("-X * Y", "(-X) * Y"), ("X - -Y", "X - (-Y)"),
        ("X ^ -Y", "X ^ (-Y)"), ("X bor Y band Z", "X bor (Y band Z)"), ("X bshl Y + Z", "X bshl (Y + Z)"),
        ("--X", "-(-X)"),
    ],
)  # fmt: skip
def test_precedence(written, grouped):
    assert value(written) == value(grouped)


def test_operators_are_calls():
    assert value("-X + Y") == Call("+", (Call("neg", (X,)), Y))
    assert value("X band Y") == Call("band", (X, Y)) == value("band(X, Y)")
    assert value("bnot X") == Call("bnot", (X,)) == value("bnot(X)")


def test_a_minus_belongs_to_a_lone_number_only():
    assert value("X-1") == Call("-", (X, Constant(1)))
    assert value("X - -1") == Call("-", (X, Constant(-1)))
    assert value("-2^2") == Call("neg", (Call("^", (Constant(2), Constant(2))),))
    assert value("-(2)") == Call("neg", (Constant(2),))


def test_calls():
    assert value('cat("a", f(X), g())') == Call("cat", (Constant("a"), Call("f", (X,)), Call("g", ())))


def test_an_atom_as_an_argument_is_a_call():
    S, D = Variable("S", address=True), Variable("D", address=True)
    rule = only_rule("p(@S) :- link(@S,@D,C), X = f_concatPath(link(@S,@D,C), nil).")
    assert rule.body[1] == Comparison("=", X, Call("f_concatPath", (Call("link", (S, D, C)), Constant(()))))


def test_a_users_function():
    assert value("@f(X, 1)") == Call("f", (X, Constant(1)))


# ------------------------------------------------------------------ comments and layout


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X). // note", "% note\np(X) :- q(X).", "p(X) :- /* a\nb */ q(X). /**/",
        "p(X) :- % note\n  q(X).",
        "p(X) :- q(X). % it's \"quoted", "\ufeffp(X) :-\r\n\tq(X).\r\n", "p(X)\n:-\nq(X)\n.",
    ],
)  # fmt: skip
def test_comments_and_layout_do_not_matter(text):
    assert parse(text) == parse("p(X) :- q(X).")


def test_the_remainder_is_not_a_comment():
    assert value("Y % 2") == Call("%", (Y, Constant(2)))
    assert value("(Y + 1) %2") == Call("%", (Call("+", (Y, Constant(1))), Constant(2)))


def test_statements_may_share_a_line():
    assert len(parse("a(1).b(2).c(X) :- a(X).d(X) :- c(X).").rules) == 4


def test_souffle_identifiers_with_question_marks():
    assert only_rule("p(?x) :- q(?x).").body == (Positive(atom("q", Variable("?x"))),)


def test_the_grammar_has_no_conflicts(caplog):
    text = resources.files("headwater.language.datalog").joinpath("grammar.lark").read_text("utf-8")
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        lark.Lark(text, parser="lalr", debug=True)
    assert not [record for record in caplog.records if "conflict" in record.getMessage().lower()]


def test_nothing_slow_is_imported_before_it_is_needed():
    code = (
        "import sys, headwater.language.datalog, headwater.language.datalog.render;"
        " sys.exit('lark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_negated():
    def body(text: str) -> tuple[object, ...]:
        return parse(f"p(X) :- {text}.").rules[0].body

    assert body("!(q(X))") == body("!q(X)")
    assert body("!((X = Y)), !(X != Y)") == body("X != Y, X = Y")
    (comparison,) = body("!(X < 3)")  # which holds where X is null, as X >= 3 does not
    assert comparison == Comparison("!<", Variable("X"), Constant(3))
    assert body("!(!(X < 3))") == body("X < 3")
    assert body("!(X is null)") == body("X is not null")
    (group,) = body("!(q(X), r(X))")
    assert isinstance(group, NegatedGroup) and group.body == body("q(X), r(X)")
    (group,) = body("!(q(X) ; r(X))")
    assert isinstance(group, NegatedGroup) and group.body == body("(q(X) ; r(X))")
    (group,) = body("!(!q(X))")
    assert isinstance(group, NegatedGroup) and group.body == body("!q(X)")
    (group,) = body("!(X = range(0, 3))")
    assert isinstance(group, NegatedGroup)


# Souffle's precedences, loosest first; operators of one line bind alike and group to the left.
SOUFFLE_LEVELS = (
    ("lor",), ("lxor",), ("land",), ("bor",), ("bxor",), ("band",),
    ("bshl", "bshr", "bshru"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip


def test_operators_bind_as_in_souffle():
    def term(text: str) -> object:
        return parse(f".decl p(x: number)\np(a) :- q(a, b, c), a = {text}.").rules[0].body[-1].right

    ranked = [(op, level) for level, ops in enumerate(SOUFFLE_LEVELS) for op in ops]
    for left, left_level in ranked:
        for right, right_level in ranked:
            grouped = f"(a {left} b) {right} c" if left_level >= right_level else f"a {left} (b {right} c)"
            assert term(f"a {left} b {right} c") == term(grouped)
        for prefix in ("-", "bnot ", "lnot "):
            assert term(f"{prefix}a {left} b") == term(f"({prefix}a) {left} b")
            assert term(f"{prefix}a ^ b") == term(f"{prefix}(a ^ b)")
        assert term(f"a ^ b {left} c") == term(f"(a ^ b) {left} c")
    assert term("a ^ b ^ c") == term("a ^ (b ^ c)")


def test_null_is_a_value_and_never_a_name():
    program = parse(
        'p(1, null). p(X, null) :- q(null, X), X is null, X is  not\n null, X = null, X != "null".'
    )
    fact, rule = program.rules
    assert fact.heads[0].args[1] == Constant(None)
    assert rule.heads[0].args[1] == Constant(None)
    null = Constant(None)
    x = Variable("X")
    assert rule.body == (
        Positive(Atom("q", (null, x))), Comparison("is", x, null), Comparison("is not", x, null),
        Comparison("=", x, null), Comparison("!=", x, Constant("null")),
    )  # fmt: skip
    for dialect in (".decl q(x: int?) p(x) :- q(x), x = null.", "p(x) :- q(x, null).", "p(X) :- q(X, null)."):
        (rule,) = parse(dialect).rules
        assert any(arg == null for part in rule.body for arg in getattr(part, "atom", Atom("", ())).args) or (
            rule.body[-1] == Comparison("=", Variable("x"), null)
        )


def test_nullable_columns():
    (declaration,) = parse("p(a: int?, b: list[int]?, c: int, d: _?, e: list[int?]).").declarations
    assert [column.nullable for column in declaration.columns] == [True, True, False, True, False]
    types = [INT, list_of(INT), INT, None, list_of(INT)]
    assert [column.type for column in declaration.columns] == types


def test_labelled_nulls_are_values():
    (rule,) = parse("p(X, ?f(X, 1)) :- q(X), Y = ?g(?f(X)).").rules
    assert rule.heads[0].args[1] == Call("?f", (Variable("X"), Constant(1)))
    assert rule.body[1].right == Call("?g", (Call("?f", (Variable("X"),)),))
    (souffle,) = parse("p(?x) :- q(?x, ?y).").rules
    assert souffle.heads[0].args == (Variable("?x"),)
    for text in ("?f(X) :- q(X).", "p(X) :- q(X), ?f(X).", "p(X) :- q(X), !?f(X)."):
        with pytest.raises(LanguageError, match="labelled null"):
            parse(text)
