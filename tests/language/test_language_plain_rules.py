"""A text that is one plain rule is read as the grammar reads it, places and all."""

from __future__ import annotations

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
SPACE = st.sampled_from(("", "", " ", "\n", "\t "))


@st.composite
def atoms(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(("X", "Y", "Zed", "A_1", "NULL", "True")), min_size=1, max_size=3))
    commas = f"{draw(SPACE)},{draw(SPACE)}"
    return f"{draw(st.sampled_from(WORDS))}({draw(SPACE)}{commas.join(names)}{draw(SPACE)})"


@st.composite
def rules(draw: st.DrawFn) -> str:
    head, body = draw(atoms()), draw(st.lists(atoms(), min_size=1, max_size=3))
    commas = f"{draw(SPACE)},{draw(SPACE)}"
    return f"{draw(SPACE)}{head}{draw(SPACE)}:-{draw(SPACE)}{commas.join(body)}{draw(SPACE)}.{draw(SPACE)}"


def agree(text: str) -> bool:
    found = plain_rule(SourceText("<text>", text))
    if found is not None:
        assert repr(asdict(found)) == repr(asdict(_parsed(text, "<text>", None)))
    return found is not None


@given(rules())
@settings(max_examples=100, deadline=None)
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
        "p(X) :- q(X), X > 1.",
        "p(X) :- q(X, _).",
        "p(X) :- !q(X).",
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
