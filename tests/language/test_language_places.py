"""Every node knows where it was written."""

from dataclasses import fields, is_dataclass

from headwater.errors import Place
from headwater.language.datalog import parse
from headwater.language.program import Negated, Positive, Program

TEXT = """\
.decl path(src: symbol, cost: number)
materialize(link, 10, 5, keys(1)).  // a table
.output path
link("a", -1).
link([1, 2], 3) .
sp1: path(x, min<c>) :-
    link(x, c0), !bad(@x, _),
    c = c0 + f(c0) * 2,   /* cost */
    (c < 9 ; n = sum c : { link(x, c) }).
?- path(x, c).
"""
PROGRAM = parse(TEXT, "p.dl")


def stretch(place: Place | None) -> str:
    assert place is not None
    assert place.source == "p.dl"
    assert place.text == TEXT.split("\n")[place.line - 1]
    return place.text[place.column - 1 :][: place.length]


def nodes(node):
    yield node
    if isinstance(node, (tuple, list)):
        for item in node:
            yield from nodes(item)
    elif is_dataclass(node):
        for field in fields(node):
            if field.name != "place":
                yield from nodes(getattr(node, field.name))


def test_every_node_has_a_place():
    for node in nodes(PROGRAM):
        if (
            is_dataclass(node)
            and not isinstance(node, (Program, Positive, Negated))
            and "Type" not in str(type(node))
        ):
            assert stretch(node.place)


def test_lines_and_columns_count_from_one():
    fact = PROGRAM.rules[0].heads[0]
    assert (fact.place.line, fact.place.column, fact.place.length) == (4, 1, 13)


def test_atoms_reach_from_their_name_to_their_parenthesis():
    sp1 = PROGRAM.rules[2]
    assert stretch(sp1.heads[0].place) == "path(x, min<c>)"
    assert stretch(sp1.body[0].atom.place) == "link(x, c0)"
    assert stretch(sp1.body[1].atom.place) == "bad(@x, _)"
    assert stretch(PROGRAM.queries[0].place) == "path(x, c)"
    assert stretch(PROGRAM.rules[0].heads[0].place) == 'link("a", -1)'


def test_terms():
    assert [stretch(term.place) for term in PROGRAM.rules[0].heads[0].args] == ['"a"', "-1"]
    assert [stretch(term.place) for term in PROGRAM.rules[1].heads[0].args] == ["[1, 2]", "3"]
    head, body = PROGRAM.rules[2].heads[0], PROGRAM.rules[2].body
    assert [stretch(term.place) for term in head.args] == ["x", "min<c>"]
    assert stretch(head.args[1].argument.place) == "c"
    assert [stretch(term.place) for term in body[1].atom.args] == ["@x", "_"]
    assert stretch(body[2].right.place) == "c0 + f(c0) * 2"
    assert stretch(body[2].right.args[1].place) == "f(c0) * 2"
    assert stretch(body[2].right.args[1].args[0].place) == "f(c0)"


def test_conditions():
    body = PROGRAM.rules[2].body
    assert stretch(body[2].place) == "c = c0 + f(c0) * 2"
    choice = body[3].alternatives
    assert stretch(choice[0][0].place) == "c < 9"
    assert stretch(choice[1][0].right.place) == "sum c : { link(x, c) }"


def test_rules_start_at_their_label():
    assert stretch(PROGRAM.rules[2].place) == "sp1: path(x, min<c>) :-"
    assert stretch(PROGRAM.rules[1].place) == "link([1, 2], 3) ."


def test_declarations_and_directives():
    assert stretch(PROGRAM.declarations[0].place) == ".decl path(src: symbol, cost: number)"
    assert stretch(PROGRAM.declarations[0].columns[1].place) == "cost: number"
    assert stretch(PROGRAM.tables[0].place) == "materialize(link, 10, 5, keys(1))"
    assert stretch(PROGRAM.directives[0].place) == ".output path"


def test_places_do_not_take_part_in_comparison():
    assert parse("p(X):-q(X).") == parse("  p( X )\n :- q(X) .")
