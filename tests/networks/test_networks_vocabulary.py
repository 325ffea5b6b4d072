"""The vocabulary of published P2 and RapidNet programs: a small program for each function and each spelling."""

import gc
import hashlib

import pytest

import headwater as hw
from headwater.errors import RuleError

LINE = [("a", "b", 2), ("b", "a", 2)]
TABLES = "materialize(link, infinity, infinity, keys(1, 2)). "


def asked(expression, *values, text=TABLES):
    """What a rule that an event fires computes."""
    net = hw.network(f"{text} watch(out). r1 out(@X, V) :- ask(@X, A, B), V := {expression}.", LINE)
    net.insert("ask", [("a", *(values or (1, 2)))])
    net.run(until=1)
    (told,) = [each for each in net.watched if each.relation == "out"]
    return told.row[1]


SHA1 = hashlib.sha1(b"ab").hexdigest()


@pytest.mark.parametrize(
    ("expression", "values", "found"),
    [
        ("f_append(A)", ("x", "y"), ("x",)),
        ("f_concat(f_append(A), f_append(B))", ("x", "y"), ("x", "y")),
        ("f_member(f_append(A), B)", ("x", "y"), 0),
        ("f_member(f_append(A), A)", ("x", "y"), 1),
        ("f_size(f_append(A))", ("x", "y"), 1),
        ("f_last(f_concat(f_append(A), f_append(B)))", ("x", "y"), "y"),
        ("f_removeLast(f_concat(f_append(A), f_append(B)))", ("x", "y"), ("x",)),
        ("f_item(f_concat(f_append(A), f_append(B)), 1)", ("x", "y"), "y"),
        ("f_sha1(A + B)", ("a", "b"), SHA1),
        ('f_sha1("" + A + B)', ("a", "b"), SHA1),
        ("f_cons(A, f_append(B))", ("x", "y"), ("x", "y")),
        ("f_car(f_concat(f_append(A), f_append(B)))", ("x", "y"), "x"),
        ("f_cdr(f_concat(f_append(A), f_append(B)))", ("x", "y"), ("y",)),
        ("f_indexof(f_concat(f_append(A), f_append(B)), B)", ("x", "y"), 1),
        ("f_modulo(A, B)", (7, 4), 3),
        ("f_tostr(A)", (7, 4), "7"),
        ("f_tovar(A)", (7, 4), "7"),
        ("f_getattr(f_concat(f_append(A), f_append(B)), 1)", ("x", "y"), "y"),
        ("f_pEDB(A, B)", ("x", "y"), "xy"),
        ("f_pIDB(f_concat(f_append(A), f_append(B)), A)", ("x", "y"), "(x + y)@x"),
        ("f_pRULE(f_concat(f_append(A), f_append(B)), A, B)", ("x", "y"), "y(x * y)@x"),
        ("A + 2U", (7, 4), 9),
        ("A + 0x1I", (7, 4), 8),
    ],
)
def test_functions(expression, values, found):
    assert asked(expression, *values) == found


@pytest.mark.parametrize("expression", ["f_now()", "f_rand()", "f_coinFlip(0.5)", "f_idgen()", "f_hashIp(X)"])
def test_functions_of_the_moment_and_of_addresses(expression):
    assert asked(expression) is not None and asked(expression) == asked(expression), "the seed is the same"


def rows(text, relation, until=2.0, links=LINE, **given):
    net = hw.network(text, links)
    for name, each in given.items():
        net.insert(name, each)
    net.run(until=until)
    return net[relation].rows()


def test_keys_with_types_and_a_variable_that_is_assigned_again():
    text = """materialize(link, infinity, infinity, keys(1, 2)). materialize(path, infinity, infinity, keys(3:list)).
      r1 path(@X, Y, L) :- start(@X), link(@X, Y, C), L := f_append(X), L := f_concat(L, f_append(Y))."""
    assert rows(text, "path", start=[("a",)]) == [("a", "b", ("a", "b"))]


def test_macros_alternatives_and_negated_groups():
    text = """#define LEAST 3
#define MOST LEAST + 4
      materialize(seen, infinity, infinity, keys(1, 2)).
      r1 seen(@X, N) :- see(@X, N), (N == LEAST) || (N > MOST && N < 10).
      r2 seen(@X, N) :- see(@X, N), N > 20, !(N < 30, N != 25)."""
    given = [("a", number) for number in (1, 3, 7, 8, 12, 22, 25, 31)]
    assert rows(text, "seen", see=given) == [("a", 3), ("a", 8), ("a", 25), ("a", 31)]


def test_timers_of_all_lengths_in_one_program():
    text = """materialize(beat, infinity, infinity, keys(1, 2)).
      r1 beat(@X, 2) :- periodic(@X, 1).  r2 beat(@X, 3) :- periodic(@X, E, 1).
      r3 beat(@X, 4) :- periodic(@X, E, 0, 1).  r4 beat(@X, 5) :- periodic(@X, E, 1, 0, 0.5).
      r5 beat(@X, 6) :- periodic(@X, E, 1, 0, 0.5, 3)."""
    assert {row[1] for row in rows(text, "beat")} == {2, 3, 4, 5, 6}


def test_labels_that_occur_twice_and_intervals_of_a_ring():
    text = """materialize(near, infinity, infinity, keys(1, 2)).
      r1 near(@X, K) :- key(@X, K), K in (8, 2].  r1 near(@X, K) :- key(@X, K), K in [5, 6)."""
    given = [("a", number) for number in range(10)]
    assert rows(text, "near", key=given) == [("a", number) for number in (0, 1, 2, 5, 9)]


def test_every_statement_that_traces():
    text = TABLES + 'watch(p). watchmod(q, "s"). watchfine(r, "i"). watchfine(s).'
    rules = "".join(f" {name}(@X) :- go(@X)." for name in "pqrs")
    net = hw.network(text + rules, LINE)
    net.insert("go", [("a",)])
    net.run(until=1)
    assert {told.relation for told in net.watched} == set("pqrs")


@pytest.mark.parametrize("statement", ["traceTable(link, linkLog).", 'stage("Sorter", in, out).'])
def test_statements_of_p2_that_are_not_known_are_refused_by_their_names(statement):
    with pytest.raises(RuleError) as refused:
        hw.network(f"{TABLES} {statement} r1 p(@X, Y) :- #link(@X, Y, C).", LINE)
    assert refused.value.code == "p2-statement" and statement.split("(")[0] in refused.value.message
    assert refused.value.place is not None and refused.value.hint
    used = '.decl stage(X: string, N: int) stage(@"a", 1). r1 p(@X, N) :- stage(@X, N).'
    assert rows(used, "p") == [("a", 1)], "a relation of this name that rules read is a relation"


def test_what_rows_carry_if_nothing_is_said():
    small, large = hw.network("reachable", "grid:10"), hw.network("reachable", "grid:101x1")
    assert "rows carry: absorption" in small.explain() and "rows carry: ranked" in large.explain()
    kept = hw.network("reachable", "grid:101x1", deletions_along_links=True)
    assert "rows carry: absorption" in kept.explain()


def test_a_run_leaves_the_search_for_garbage_as_it_was():
    before = gc.get_threshold()
    hw.network("reachable", "grid:3").run()
    assert gc.get_threshold() == before and gc.isenabled()


IDENTIFIERS = """materialize(node, infinity, 1, keys(1)). materialize(at, infinity, infinity, keys(1, 2)).
  materialize(nearest, infinity, infinity, keys(1)). materialize(finger, infinity, infinity, keys(1, 2)).
  r1 node(@X, I) :- start(@X), I := f_sha1(X).
  r2 at(@X, Y, D) :- look(@X, Y), node(@X, N), I := f_sha1(Y), D := I - N - 1.
  r3 nearest(@X, a_MIN<D>) :- at(@X, Y, D).
  r4 finger(@X, I, K) :- fix(@X, I), node(@X, N), K := 0x1I << I + N.
  r5 inside(@X, K) :- fix(@X, J), node(@X, N), finger(@X, I, K), K in (N, N).
  watch(inside)."""


def test_identifiers_are_added_and_subtracted_round_their_ring():
    def number(text):
        return int(hashlib.sha1(text.encode()).hexdigest(), 16)

    def written(value):
        return f"{value % (1 << 160):040x}"

    net = hw.network(IDENTIFIERS, LINE)
    for relation, given in {
        "start": [("a",)],
        "look": [("a", name) for name in "abcde"],
        "fix": [("a", power) for power in (0, 63, 64, 159)],
    }.items():
        net.insert(relation, given)
        net.run(until=net.now + 1)
    far = {name: written(number(name) - number("a") - 1) for name in "abcde"}
    assert dict(row[1:] for row in net["at"].rows()) == far
    assert net["nearest"].rows() == [("a", min(far.values()))]
    assert net["finger"].rows() == [("a", i, written(number("a") + (1 << i))) for i in (0, 63, 64, 159)]
    assert net.watched, "an interval of the ring knows them"


def test_a_text_with_an_identifier_is_a_text():
    text = """materialize(node, infinity, 1, keys(1)). r1 node(@X, I) :- start(@X), I := f_sha1(X).
      watch(out). r2 out(@X, H, T) :- ask(@X), node(@X, I), H := f_sha1(I + X), T := "id " + I."""
    net = hw.network(text, LINE)
    net.insert("start", [("a",)])
    net.insert("ask", [("a",)])
    net.run(until=1)
    hashed = hashlib.sha1(b"a").hexdigest()
    (told,) = net.watched
    assert told.row[1:] == (hashlib.sha1(f"{hashed}a".encode()).hexdigest(), f"id {hashed}")
