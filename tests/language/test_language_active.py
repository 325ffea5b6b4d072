"""Active rules as they are written: what they say, what they leave alone, and hints for slips."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.language.datalog import parse
from headwater.language.datalog.render import render
from headwater.language.program import (
    ActiveRule,
    Atom,
    Comparison,
    Constant,
    Negated,
    Program,
    RuleAction,
    Variable,
    Wildcard,
)

X, Y = Variable("X"), Variable("Y")


def only(text: str) -> ActiveRule:
    (rule,) = parse(text).active
    return rule


def test_event_condition_and_action():
    rule = only("on +alarm(X, Y), X > 3, !quiet(X, _) do insert ticket(X, Y).")
    assert rule == ActiveRule(
        None,
        "+",
        Atom("alarm", (X, Y)),
        (Comparison(">", X, Constant(3)), Negated(Atom("quiet", (X, Wildcard())))),
        (RuleAction("insert", "now", Atom("ticket", (X, Y))),),
    )
    assert rule.text == "on +alarm(X, Y), X > 3, !quiet(X, _) do insert ticket(X, Y)."
    assert rule.place is not None and rule.place.column == 1
    assert rule.actions[0].place is not None and rule.actions[0].place.column == 41


@pytest.mark.parametrize(
    "written, sign", [("+", "+"), ("-", "-"), ("", "±"), ("+-", "±"), ("±", "±"), ("+ ", "+")]
)
def test_signs(written, sign):
    assert only(f"on {written}a(X) do insert b(X).").sign == sign


@pytest.mark.parametrize("label", ["a1: ", "a1 ", "a-1: "])
def test_labels(label):
    assert only(f"{label}on +a(X) do insert b(X).").label == label.strip(" :")


def test_actions_and_when_they_are_done():
    rule = only(
        "on -a(X) do insert b(X), after delete b(X), call f(X, 1), now call g(),"
        " append 'a.parquet', run \"say\", refuse 'no {X}', now run 'x'."
    )
    assert [(action.kind, action.coupling) for action in rule.actions] == [
        ("insert", "now"),
        ("delete", "after"),
        ("call", "after"),
        ("call", "now"),
        ("append", "after"),
        ("run", "after"),
        ("refuse", "now"),
        ("run", "now"),
    ]
    assert [action.text for action in rule.actions[4:]] == ["a.parquet", "say", "no {X}", "x"]


@pytest.mark.parametrize(
    "written, text",
    [
        ("'plain'", "plain"),
        ("''", ""),
        ("'it\\'s'", "it's"),
        ("'say \"hi\"'", 'say "hi"'),
        ("'// no comment, % nor /* this */'", "// no comment, % nor /* this */"),
        ("'ends. here(1). '", "ends. here(1). "),
        ("'((((('", "((((("),
        ("'do insert b(X)'", "do insert b(X)"),
        ("'a\\nb'", "a\nb"),
        ('"it\'s"', "it's"),
    ],
)
def test_texts_of_actions(written, text):
    program = parse(f"on +a(X) do run {written}. // 'comment'\nb(1).")
    assert program.active[0].actions[0].text == text
    assert len(program.rules) == 1
    assert parse(render(program)) == program


@pytest.mark.parametrize(
    "text",
    [
        "on(X, Y) :- p(X), do(Y).",
        "on(1, 2). do(on).",
        "on reach(X, Y) :- link(X, Y).",
        "on: reach(X, Y) :- link(X, Y).",
        "do p(X) :- on(X).",
        "p(on, do) :- q(on), on(do), after(now), insert(on).",
        "p(X) :- q(X), X = on.",
        "insert(X) :- delete(X), call(X), append(X), run(X), refuse(X).",
        "materialize(on, infinity, infinity, keys(1)). on(X) :- now(X).",
        ".decl on(do: number)\n.decl do(on: number)\non(do) :- do(do).",
        "on p(X), q(X) :- r(X).",
    ],
)
def test_the_words_are_names_elsewhere(text):
    program = parse(text)
    assert program.active == ()
    assert program.rules


def test_relations_and_variables_may_be_called_as_the_words():
    rule = only("on +on(do), on(do) do insert do(do).")
    assert (rule.event.relation, len(rule.condition)) == ("on", 1)
    assert rule.actions[0].atom is not None and rule.actions[0].atom.relation == "do"
    assert only("on on(X), do(X) do delete insert(X).").sign == "±"


def test_bare_names_go_by_the_dialect():
    assert only("on +p(x), q(x) do insert r(x).").event.args == (Variable("x"),)
    assert only("on +p(x), q(X) do insert r(X).").event.args == (Constant("x"),)
    assert only(".decl p(a: symbol)\non +p(x) do insert r(x).").event.args == (Variable("x"),)
    assert parse("on +p(X), q(x) do insert r(x).").slips


@pytest.mark.parametrize(
    "text",
    [
        "on +alarm(X, Y), X > 3 do insert ticket(X, Y).",
        'a1: on -alarm(X, _), (X > 3 ; !q(X)), Y = X - 1.5 do delete t(X, _, "a"), after run \'x "y"\'.',
        "on p(@X, null) do now call f(X, -1, [1, 2]).",
        ".decl p(a: symbol)\non +p(x), N = count : { p(_) } do refuse 'no {x} {{}}'.\n",
        "q(x) :- p(x). on +q(x) do insert r(x).",
    ],
)
def test_rendered_rules_read_back_as_the_same(text):
    program = parse(text)
    assert parse(render(program)) == program


@pytest.mark.parametrize(
    "text, hint",
    [
        ("on +alarm(X) insert t(X).", "after 'do'"),
        ("on +alarm(X) then insert t(X).", "after 'do'"),
        ("on +alarm(X) if X > 3 do insert t(X).", "after commas"),
        ("on +alarm(X) :- foo(X).", "after 'do'"),
        ("on +alarm(X) do t(X).", "insert, delete, call, append, run, refuse"),
        ("on +alarm(X) do insrt t(X).", "did you mean insert?"),
        ("on +alarm(X) do update t(X).", "insert, delete, call"),
        ("on +alarm(X) do refuse.", "do refuse '...'"),
        ("on +alarm(X) do append t(X).", "do append '...'"),
        ("on +a(X), +b(X) do insert t(X).", "one event"),
        ("when +alarm(X) do insert t(X).", "on +alarm(X, Y)"),
        ("on alarm(X) do insrt t(X).", "on +alarm(X, Y)"),
        ("on +alarm(X) do insert t(X)", "end the rule"),
        ("on +alarm(X) do insert t(X) and delete u(X).", "write ','"),
        ("on +alarm(X) do after refuse 'no'.", "leave out after"),
        ("p(X) :- q(X, 'a').", "double quotes"),
    ],
)
def test_slips_have_hints(text, hint):
    with pytest.raises(hw.LanguageError) as error:
        parse(text)
    assert error.value.hint is not None and hint in error.value.hint
    assert error.value.place is not None


def test_a_text_without_them_has_none():
    assert parse("p(X) :- q(X).") == Program(parse("p(X) :- q(X).").rules)


def test_strings_of_active_rules_in_single_quotes():
    text = """
    // it's a comment
    q("it's").
    watch: on +alarm(X, 'high. "so"'), X != 'it\\'s', !calm(X, "don't") do insert t(X, ' '), refuse 'no {X}'.
    on calm('a', _) /* isn't it */ do delete t('b', _).
    q("\ue000"). p(X) :- q(X).
    """
    program = parse(text)
    first, second = program.active
    assert first.event == Atom("alarm", (X, Constant('high. "so"')))
    assert first.condition[0] == Comparison("!=", X, Constant("it's"))
    assert first.actions[0].atom == Atom("t", (X, Constant(" "))) and first.actions[1].text == "no {X}"
    assert second.event == Atom("calm", (Constant("a"), Wildcard()))
    assert second.actions[0].atom == Atom("t", (Constant("b"), Wildcard()))
    assert parse(render(program)) == program


@pytest.mark.parametrize(
    "text", ["on('a').", "p(X) :- on(X), q('a').", "on +a(X) do run 'x'. q('a').", "p('a)."]
)
def test_strings_of_others_stand_in_double_quotes(text: str):
    with pytest.raises(hw.LanguageError, match="double quotes"):
        parse(text)
