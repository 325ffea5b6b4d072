"""A text that is one plain rule is read as the grammar reads it, places and all."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater.language.datalog as datalog
from headwater.language.datalog.parser import _parsed
from headwater.language.datalog.plain_rules import plain_rule
from headwater.language.source import SourceText

GRAMMAR = (Path(datalog.__file__).parent / "grammar.lark").read_text(encoding="utf-8")
WORDS = sorted({*re.findall(r"[a-z_]+", GRAMMAR), "materialize", "watch", "date", "reach"} - {"_"})
"""Names, those among them that mean something to the grammar."""
EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", 150))
SPACE = st.sampled_from(("", "", " ", "\n", "\t "))


VARIABLES = ("X", "Y", "Zed", "A_1", "NULL", "True")
CONSTANTS = (
    "0",
    "007",
    "3",
    "12345678901234567890",
    "2024-01-02",
    "2024",
    "1.5",
    "0.10",
    "1e3",
    "0x1F",
    "7u",
    "-2",
)
STRINGS = ('"a"', '"two  words"', '""', '"é"', r'"tab\t"', '"it\'s"', '"#x"', '"a//b"', '"end."')
OTHERS = ("_", "_x", "x", "@X", "null", "true", "f(X)", "[X]", "X.name", "?x")
TERMS = (*VARIABLES, *VARIABLES, *CONSTANTS, *STRINGS, *OTHERS)


@st.composite
def atoms(draw: st.DrawFn, names_of: tuple[str, ...] = TERMS) -> str:
    names = draw(st.lists(st.sampled_from(names_of), min_size=1, max_size=3))
    commas = f"{draw(SPACE)},{draw(SPACE)}"
    return f"{draw(st.sampled_from(WORDS))}({draw(SPACE)}{commas.join(names)}{draw(SPACE)})"


@st.composite
def values(draw: st.DrawFn) -> str:
    terms = draw(st.lists(st.sampled_from(TERMS), min_size=1, max_size=4))
    signs = [draw(SPACE) + draw(st.sampled_from(("+", "-", "*", "*", "^", "%"))) + draw(SPACE) for _ in terms]
    return terms[0] + "".join(sign + term for sign, term in zip(signs, terms[1:], strict=False))


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    compared = draw(st.sampled_from(("=", "!=", "<", "<=", ">", ">=", "==", "<>", ":=", "<<", "is")))
    return f"{draw(values())}{draw(SPACE)}{compared}{draw(SPACE)}{draw(values())}"


@st.composite
def literals(draw: st.DrawFn) -> str:
    negation = st.sampled_from(("", "", "!", "! ", "not "))
    return draw(st.one_of(atoms(), atoms(), comparisons(), st.builds(str.__add__, negation, atoms())))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Rules of variables alone, and of everything."""
    plain = draw(st.booleans())
    head = draw(atoms(VARIABLES if plain or draw(st.booleans()) else TERMS))
    body = draw(st.lists(atoms(VARIABLES) if plain else literals(), min_size=1, max_size=4))
    commas = f"{draw(SPACE)},{draw(SPACE)}"
    return f"{draw(SPACE)}{head}{draw(SPACE)}:-{draw(SPACE)}{commas.join(body)}{draw(SPACE)}.{draw(SPACE)}"


def agree(text: str) -> bool:
    """Whether the text is read without the grammar; then it means the same with it."""
    found = plain_rule(SourceText("<text>", text))
    if found is not None:
        assert repr(asdict(found)) == repr(asdict(_parsed(text, "<text>", None)))
    return found is not None


@given(rules())
@settings(max_examples=EXAMPLES, deadline=None)
def test_plain_rules_are_read_as_the_grammar_reads_them(text: str) -> None:
    agree(text)


def test_every_word_of_the_grammar_as_a_name() -> None:
    for word in WORDS:
        agree(f"{word}(X, Y) :- q(X, Y).")
        agree(f"p(X, Y) :- {word}(X, Y), q(X, Y).")


@pytest.mark.parametrize(
    "text",
    (
        "p(x) :- q(x).",
        "p(X) :- q(X), X > -1.",
        "p(X) :- q(X); r(X).",
        "p(X) :- q(X), X = 2024-01-02.",
        "p(X) :- q(X), X = 1-1.",
        "p(X) :- q(X), X = f(X).",
        "p(min<X>) :- q(X).",
        "p(3) :- q(X).",
        'p(X) :- q(X, "a\\n").',
        "p(X) :- q(X), 1 < X < 3.",
        'p("a") :- q("a").',
        "p(X) :- q(x).",
        "r1 p(X) :- q(X).",
        "p(X) :- q(X). p(Y) :- r(Y).",
        "p(X) :- q(X) % as it is\n.",
        "p(@X) :- q(@X).",
        "p(X) :- not(X).",
        "p(X) :- q(NULL).",
        "p(X).",
        "p(X) :- q(X)",
    ),
)
def test_all_else_is_left_to_the_grammar(text: str) -> None:
    assert plain_rule(SourceText("<text>", text)) is None


def test_a_rule_over_lines() -> None:
    assert agree("reach(X, Z) :-\n  link(X, Y),\n  reach(Y, Z).\n")


@pytest.mark.parametrize(
    "text",
    (
        "p(X) :- q(X), X > 1.",
        "p(X) :- q(X, _), !r(X, 3), X != 4.5.",
        'p(X) :- q(X, "a b"), ! r(X).',
        'p(X) :-\n  q(X, "two  words", "a\tb"),  X !=  "".',
        "p(X, Z) :- q(X, Y), Z = X + 2 * Y - 1, Z >= X * 3 * Y.",
        "p(X) :-\n  q(X),\n  !r(X),\n  X<3.\n",
    ),
)
def test_tests_negation_and_arithmetic_are_read_without_the_grammar(text: str) -> None:
    assert agree(text)
