"""What is refused: with a code, a place where there is one, a hint, and nothing changed."""

from __future__ import annotations

import pytest
from exchange_support import PEERS, confederation, rows

import headwater as hw

MAPPINGS = {
    "m1: G(i, c, n) -> B(i, m).": "unsafe-variable",
    "m1: G(i, c) -> B(i, c).": "wrong-arity",
    "m1: H(i) -> B(i, i).": "unknown-relation",
    "B(i, n) :- G(i, c, n).": "syntax",
    "m1: G(i, c, n) -> B(i, n)": "syntax",
    "m1: G(i, c, n) -> !B(i, n).": "syntax",
    "m1: G(i, c, n), !B(i, n) -> B(i, n).": "syntax",
    "m1: G(i, c, n) -> exists i B(i, n).": "unsafe-variable",
    "m1: G(i, c, n) -> exists z B(i, n).": "unsafe-variable",
    "m1: G(i, c, n) -> B(i, n). m1: G(i, c, n) -> U(n, c).": "duplicate-label",
    "m1: G(i, c, n) -> B(i, _).": "syntax",
    "m1: G(i, c, n) -> B(i, n), n = c.": "syntax",
    'm1: G(i, c, n) -> B(i, "x").': "type-clash",
    'm1: G(i, c, n), c > "a" -> B(i, n).': "type-clash",
    "m1: G(i, c, n), c > q -> B(i, n).": "unsafe-variable",
    "m1: c > 1 -> B(c, c).": "unsafe-variable",
    "m1: G(i, c, n) -> B(i, n + 1).": "unsafe-variable",
    "m1: G(i, c, n -> B(i, n).": "syntax",
    "k: B(i, n), B(i, m) -> n = q.": "unsafe-variable",
    "m: B(i, n) -> exists c B(n, c).": "not-weakly-acyclic",
}
CONDITIONS = {
    "distrust": "syntax",
    "distrust B(i, n) from GSU.": "unknown-peer",
    "distrust B(i, n) by m9.": "unknown-mapping",
    "distrust U(n, c).": "not-yours",
    "distrust B(i, n) if q > 3.": "unsafe-variable",
    "distrust B(i).": "wrong-arity",
    "distrust B(i, n) from GUS from uBio.": "syntax",
    "trust B(i, n) priority -1.": "syntax",
    "distrust B(i, n) priority 3.": "syntax",
    "distrust from U(2, x).": "syntax",
    'distrust B(i, n) if n > "a".': "type-clash",
    "distrust from U(2).": "wrong-arity",
    'distrust from U(2, "x").': "wrong-type",
}


@pytest.mark.parametrize("text", MAPPINGS)
def test_mappings_that_are_refused(text):
    with pytest.raises(hw.HeadwaterError) as caught:
        hw.exchange(peers=PEERS, mappings=text)["GUS"]
    assert caught.value.code == MAPPINGS[text]
    assert caught.value.place is not None and caught.value.place.source == "<mappings>"
    assert "_t" not in caught.value.message


SCHEMAS = (
    {"A": {"R": "x"}},
    {"A": {"R": "x: foo"}},
    {"A": {"R s": "x: int"}},
    {"A": {"R": "x: int, x: int"}},
    {"A": {"R": "x: int"}, "b c": {}},
    {},
)


@pytest.mark.parametrize("schemas", SCHEMAS)
def test_schemas_that_are_refused(schemas):
    with pytest.raises(hw.ExchangeError) as caught:
        hw.exchange(peers=schemas)["A"]
    assert caught.value.code == "bad-schema" and caught.value.hint


OPTIONS = {
    "run": "sparc",
    "nodes": 0,
    "nod": 2,
    "mode": "r",
    "version": 1,
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_are_refused_before_a_peer_is_opened(option, tmp_path):
    with pytest.raises(hw.HeadwaterError) as caught:
        hw.exchange(peers=PEERS, **{option: OPTIONS[option]})
    assert caught.value.code == "unknown-option" and caught.value.hint
    file = tmp_path / "bio.toml"
    value = OPTIONS[option] if isinstance(OPTIONS[option], int) else f'"{OPTIONS[option]}"'
    file.write_text(f'[peer.A]\nrelations.R = "x: int"\n\n[options]\n{option} = {value}\n')
    with pytest.raises(hw.HeadwaterError) as caught:
        hw.exchange(file)
    assert caught.value.code == "unknown-option" and caught.value.place.line == 5


def test_nodes_serve_one_peer():
    with (
        hw.start_nodes(2, run="threads") as nodes,
        hw.exchange(peers=PEERS, run="threads", nodes=nodes) as found,
    ):
        found["GUS"].edit(insert={"G": [(1, 2, 3)]})
        with pytest.raises(hw.DataError) as caught:
            found["BioSQL"]
        assert caught.value.code == "nodes-in-use" and rows(found["GUS"], "G") == {(1, 2, 3)}


def test_conditions_that_are_refused_change_nothing(tmp_path):
    found = confederation(path=tmp_path)
    bio = found["BioSQL"]
    before = rows(bio, "B")
    for text, code in CONDITIONS.items():
        with pytest.raises(hw.HeadwaterError) as caught:
            bio.trust(text)
        assert caught.value.code == code, text
        assert bio.trust() == () and rows(bio, "B") == before and not bio.unpublished
    found.close()
    assert rows(hw.exchange(peers=PEERS, mappings="", path=tmp_path)["BioSQL"], "B") == {(3, 5)}


def test_edits_that_are_refused_change_nothing():
    bio = confederation()["BioSQL"]
    before = rows(bio, "B")
    for edit, code in [
        ({"insert": {"U": [(1, 2)]}}, "not-yours"),
        ({"insert": {"B": [(7, 7), (1, "x")]}}, "wrong-type"),
        ({"insert": {"B": [(1,)]}}, "wrong-arity"),
        ({"insert": {"B": [(1, None)]}}, "null-value"),
        ({}, "no-edits"),
        ({"insert": {"X": [(1,)]}}, "unknown-relation"),
        ({"insert": {"B": [(1, 2)]}, "depends": ["foo"]}, "transaction-id"),
    ]:
        with pytest.raises(hw.HeadwaterError) as caught:
            bio.edit(**edit)
        assert caught.value.code == code
        assert rows(bio, "B") == before and not bio.unpublished


def test_questions_that_are_refused():
    bio = confederation()["BioSQL"]
    for text, code in [("ans(x) :- Q(x).", "unknown-relation"), ("U(x)", "wrong-arity"), ("", "syntax")]:
        with pytest.raises(hw.HeadwaterError) as caught:
            bio.query(text)
        assert caught.value.code == code
        assert caught.value.place is None or caught.value.place.line == 1
    for ask in (
        lambda: bio["Zed"],
        lambda: bio.why("B", (9, 9)),
        lambda: bio.trust(remove="distrust from GUS."),
    ):
        with pytest.raises(hw.HeadwaterError):
            ask()


def test_a_confederation_may_grow(tmp_path):
    """Another mapping, another peer: what is there follows."""
    found = hw.exchange(peers=PEERS, mappings="m1: G(i, c, n) -> B(i, n).", path=tmp_path)
    found["GUS"].edit(insert={"G": [(3, 5, 2)]})
    found.exchange()
    found.close()
    more = {**PEERS, "New": {"N": "nam: int"}}
    mappings = "m1: G(i, c, n) -> B(i, n). m2: G(i, c, n) -> U(n, c). m9: B(i, n) -> N(n)."
    found = hw.exchange(peers=more, mappings=mappings, path=tmp_path)
    assert rows(found["BioSQL"], "U") == {(2, 5)}
    found["New"].update()
    assert rows(found["New"], "N") == {(2,)}
    found.close()


def test_conditions_that_need_too_many_copies_are_refused():
    names = [f"P{i}" for i in range(7)]
    peers = {name: {f"R{name}": "x: int"} for name in names}
    mappings = "\n".join(f"m{a}{b}: R{a}(x) -> R{b}(x)." for a in names for b in names if a != b)
    trust = {a: f"distrust from {b}." for a, b in zip(names, names[1:], strict=False)}
    with pytest.raises(hw.RuleError) as caught:
        hw.exchange(peers=peers, mappings=mappings, trust=trust)["P0"]
    assert caught.value.code == "too-many-copies" and "by m1" in str(caught.value.hint)
