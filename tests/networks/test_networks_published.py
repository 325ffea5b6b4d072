"""What published programs of P2 write beside the common vocabulary: each way of writing in a small program that runs,
and what is refused by its name."""

from __future__ import annotations

import hashlib

import pytest

import headwater as hw
from headwater.errors import HeadwaterError

LINKS = [(one, other, 1) for one in "abc" for other in "abc" if one != other]
TABLES = "materialize(link, infinity, infinity, keys(1, 2)). "


def told(text, relation, until=3.0, **given):
    """What a traced event was, without repetition."""
    net = hw.network(f"{text} watch({relation}).", LINKS)
    for name, rows in given.items():
        net.insert(name, rows)
    net.run(until=until)
    return sorted({each.row for each in net.watched if each.relation == relation})


# ------------------------------------------------------------------ where rows live, before the arguments


def test_the_address_may_stand_behind_the_name():
    text = """materialize(known, infinity, infinity, keys(1, 2)).
      r1 known@Y(Y, X) :- hello@X(X), link@X(X, Y, C).
      r2 delete known@X(X, Y) :- forget@X(X, Y).
      r3 asked@X(X, X, Y) :- ask@X(X), known@X(X, Y)."""
    net = hw.network(TABLES + text + " watch(asked).", LINKS)
    net.insert("hello", [("a",), ("b",)])
    net.run(until=1)
    assert net["known"].rows() == [("a", "b"), ("b", "a"), ("c", "a"), ("c", "b")]
    net.insert("forget", [("c", "a")])
    net.insert("ask", [("c",)])
    net.run(until=2)
    assert [each.row for each in net.watched] == [("c", "c", "b")]


def test_an_aggregate_is_an_address_in_each_way_of_writing():
    for head in ("chosen@Y(min<Y>, X)", "chosen(@min<Y>, X)", "chosen(min<@Y>, X)"):
        text = f"{TABLES} r1 {head} :- choose(@X), link(@X, Y, C)."
        assert told(text, "chosen", choose=[("b",), ("a",)]) == [("a", "b"), ("b", "a")], head


def test_a_row_may_live_at_another_column_than_the_first():
    text = TABLES + "r1 sent@Y(X, Y) :- go@X(X), link@X(X, Y, C). r2 seen@Y(Y, X) :- sent@Y(X, Y)."
    assert told(text, "seen", go=[("a",)]) == [("b", "a"), ("c", "a")]


@pytest.mark.parametrize(
    ("rule", "code", "words"),
    [
        ("r1 p(@X, Y) :- q@Z(X, Y).", "syntax", "Z is no argument"),
        ("r1 p(@X, T) :- q(@X), T := f_now@X().", "unsupported", "f_now is computed at another node"),
    ],
)
def test_an_address_that_is_none_is_refused(rule, code, words):
    with pytest.raises(HeadwaterError) as refused:
        hw.network(TABLES + rule, LINKS)
    assert refused.value.code == code and words in refused.value.message and refused.value.hint


# ------------------------------------------------------------------ names


def test_names_outside_of_all_namespaces():
    text = """materialize(seen, infinity, infinity, keys(1, 2)). materialize(n::seen, infinity, infinity, keys(1, 2)).
      namespace n {
        r1 seen(@X, N) :- ::see(@X, N).
        r2 ::seen(@X, N) :- seen(@X, M), N := M + 1.
        r3 ::other::done(@X, N) :- seen(@X, N).
      }
      r4 all(@X, N) :- other::done(@X, N), ::seen(@X, N). watch(::all)."""
    net = hw.network(text, LINKS)
    net.insert("see", [("a", 1), ("a", 2)])
    net.run(until=1)
    assert net["n::seen"].rows() == [("a", 1), ("a", 2)] and net["seen"].rows() == [("a", 2), ("a", 3)]
    assert "n::see" not in net.relations and {each.relation for each in net.watched} <= {"all"}


def test_an_event_may_be_called_as_a_function_is():
    text = (
        "materialize(pending, infinity, infinity, keys(1)). r1 pending(@X, Y) :- join(@X, Y), contains(@X)."
    )
    with pytest.raises(HeadwaterError, match="no two of them happen at once"):
        hw.network(text, LINKS)
    net = hw.network(text.replace(", contains(@X)", ', contains("a", X)'), LINKS)
    net.insert("join", [("a", "b"), ("b", "c")])
    net.run(until=1)
    assert net["pending"].rows() == [("a", "b")], "join is an event, contains a function"


def test_the_last_definition_of_a_macro_holds():
    text = "#define LEAST 5\n#define LEAST 2\n" + TABLES + "\nr1 big(@X, N) :- see(@X, N), N > LEAST."
    assert told(text, "big", see=[("a", 1), ("a", 3)]) == [("a", 3)]


# ------------------------------------------------------------------ values


def written(number):
    return f"{number % (1 << 160):040x}"


IDENTIFIERS = """materialize(node, infinity, 1, keys(1)). materialize(before, infinity, 1, keys(1)).
  materialize(far, infinity, infinity, keys(1, 2)).
  node("a", 0x5I). node("b", 0xffffffffffffffffffffffffffffffffffffffffI).
  r1 before(@X, P, "-") :- start(@X), P := 0x0I.
  r2 far(@X, D) :- start(@X), node(@X, N), D := 0x7I - N.
  r3 far(@X, D) :- start(@X), node(@X, N), D := N >> 1.
  r4 least(@X) :- start(@X), node(@X, N), N == 0x5I.
  r5 far(@X, D) :- start(@X), node(@X, N), D := 0x1I << 159 + N.
  watch(least)."""


def test_identifiers_are_written_as_numbers_with_an_i():
    net = hw.network(IDENTIFIERS, LINKS)
    net.insert("start", [("a",), ("b",)])
    net.run(until=1)
    greatest = (1 << 160) - 1
    assert net["node"].rows() == [("a", written(5)), ("b", written(greatest))]
    assert net["before"].rows() == [("a", written(0), "-"), ("b", written(0), "-")]
    expected = {("a", written(n)) for n in (2, 5 >> 1, (1 << 159) + 5)}
    expected |= {("b", written(n)) for n in (7 - greatest, greatest >> 1, (1 << 159) + greatest)}
    assert set(net["far"].rows()) == expected
    assert [each.row for each in net.watched] == [("a",)]


def test_hashes_and_written_identifiers_are_the_same_kind():
    text = """materialize(node, infinity, 1, keys(1)). r1 node(@X, N) :- start(@X), N := f_sha1(X).
      r2 found(@X, D) :- start(@X), D := f_sha1(X) >> 4. r3 found(@X, N) :- other(@X), N := 0x3I."""
    digits = hashlib.sha1(b"a").hexdigest()
    assert told(text, "found", start=[("a",)], other=[("a",)]) == sorted(
        [("a", f"0{digits[:-1]}"), ("a", written(3))]
    )


def test_a_variable_of_a_table_is_assigned_again():
    text = """materialize(size, infinity, infinity, keys(1, 2)).
      r1 size(@X, N, C) :- count(@X), size(@X, N, C), C <= 0, C := N * 10."""
    net = hw.network(text, LINKS)
    net.insert("size", [("a", 1, 0), ("a", 2, 7), ("b", 3, 0)])
    net.insert("count", [("a",)])
    net.run(until=1)
    assert net["size"].rows() == [("a", 1, 10), ("a", 2, 7), ("b", 3, 0)]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (
            "materialize(t, infinity, infinity, keys()). r1 t(@X) :- e(@X).",
            "no-key",
            "as often as it is inserted",
        ),
        ("trace(lookup). r1 p(@X) :- periodic(@X, E, 1).", "p2-statement", "trace is a statement of P2"),
        ("r1 says(P, R) <t(@X, A)> :- q(@X, A).", "unsupported", "P2's secure dialect"),
        ("r1 new<@X, null, t(@X, A)> :- q(@X, A).", "unsupported", "rows that refer to others"),
        ("program synod;\ndefine(t, keys(0), {String});", "unsupported", "language of JOL"),
        ("define(t, keys(0), {String});", "unsupported", "language of JOL"),
    ],
)
def test_other_dialects_are_refused_by_their_names(text, code, words):
    with pytest.raises(HeadwaterError) as refused:
        hw.network(text, LINKS)
    assert refused.value.code == code and words in refused.value.message
    assert refused.value.place is not None and refused.value.hint


# ------------------------------------------------------------------ files, and lists


def test_files_with_macros_of_several_lines_and_includes(tmp_path):
    (tmp_path / "tables.olg").write_text(
        "materialize(link, infinity, infinity, keys(1, 2)).\n#define LEAST 2\n"
    )
    (tmp_path / "main.olg").write_text(
        '#include "tables.olg"\n#define FAR(N, M) N > LEAST, \\\n   N < LEAST + 5, \\\n   M := N * 10\n'
        "materialize(far, infinity, infinity, keys(1, 2)).\nr1 far(@Y, M) :- see(@X, N), link(@X, Y, C), FAR(N, M).\n"
    )
    net = hw.network(tmp_path / "main.olg", LINKS)
    net.insert("see", [("a", number) for number in (1, 3, 6, 7)])
    net.run(until=1)
    assert net["far"].rows() == [("b", 30), ("b", 60), ("c", 30), ("c", 60)]


@pytest.mark.parametrize("aggregate", ["a_LIST", "a_list", "a_MKLIST", "a_mklist", "list"])
def test_lists_of_an_event(aggregate):
    text = f"{TABLES} r1 beside(@X, {aggregate}<Y>) :- ask(@X), link(@X, Y, C)."
    assert told(text, "beside", ask=[("a",)]) == [("a", ("b", "c"))]
