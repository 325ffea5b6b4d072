"""Random confederations with keys beside a chase that merges values: clashes, certain rows, and certain answers."""

from __future__ import annotations

import os
import random
import re
from dataclasses import replace

import pytest
from exchange_chase import ChaseMapping, weakly_acyclic
from exchange_equal import ChaseEquality, Clash, EqualChase
from exchange_support import COMMON
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_exchange_oracle import VALUES, random_mapping

import headwater as hw
from headwater.exchange.border import Border
from headwater.exchange.instance import PeerInstance
from headwater.language.mappings import compile as compiler

EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "6"))


def random_setting(chance: random.Random):
    arities = {(f"P{i}", f"R{i}"): chance.randint(2, 3) for i in range(3)}
    mappings: list[ChaseMapping] = []
    for number in range(chance.randint(2, 4)):
        for _ in range(20):
            made = replace(random_mapping(chance, f"m{number}", list(arities), arities), comparison=None)
            if weakly_acyclic([*mappings, made]):
                mappings.append(made)
                break
    equalities = []
    for number, name in enumerate(chance.sample(list(arities), chance.randint(1, 2))):
        columns = list(range(arities[name]))
        column = chance.choice(columns)
        key = tuple(c for c in columns if c != column)[: chance.choice((1, 2))]
        made = None if chance.random() < 0.5 else random_equality(chance, f"k{number}", arities)
        equalities.append(made or ChaseEquality.key(f"k{number}", name, arities[name], key, column))
    return arities, mappings, equalities


def random_equality(chance: random.Random, label: str, arities) -> ChaseEquality | None:
    """Of any form: over several relations, along a chain, within one row, with constants."""
    body = random_mapping(chance, label, list(arities), arities).body
    if chance.random() < 0.4:
        body += random_mapping(chance, label, list(arities), arities).body[:1]
    names = sorted({term for atom in body for term in atom.terms if isinstance(term, str)})
    return ChaseEquality(label, body, *chance.sample(names, 2)) if len(names) > 1 else None


def decided(instance: PeerInstance) -> dict:
    names = instance.compiled.names
    return {name: set(instance.database[names.output(name)].rows()) for name in instance.schemas.columns}


def decided_anew(peer) -> dict:
    """What the peer would have if it took all at once, and had decided nothing yet."""
    beside = peer.instance.recomputed(decided=False)
    try:
        return decided(beside)
    finally:
        beside.close()


def compare(seed: int, steps: int = 8) -> int:
    chance = random.Random(seed)
    arities, mappings, equal = random_setting(chance)
    texts = [*map(str, mappings), *map(str, equal)]
    peers = {
        name[0]: {name[1]: ", ".join(f"c{i}: int" for i in range(arity))} for name, arity in arities.items()
    }
    peer = hw.exchange(peers=peers, mappings="\n".join(texts))
    base: dict = {name: set() for name in arities}
    compared = 0
    for _ in range(steps):
        name = chance.choice(list(arities))
        rows = {tuple(chance.choice(VALUES) for _ in range(arities[name])) for _ in range(2)}
        gone = set(chance.sample(sorted(base[name]), min(len(base[name]), chance.randint(0, 2)))) - rows
        peer[name[0]].edit(insert={name[1]: list(rows)}, delete={name[1]: list(gone)} if gone else None)
        base[name] = (base[name] - gone) | rows
        peer.exchange()
        chase = EqualChase(mappings, equal, base)
        seen = peer[chance.choice(list(peer))]
        clashed = any(
            len(seen.instance.database[seen.instance.compiled.names.clash(number)])
            for number in seen.instance.compiled.equalities.numbers
        ) or any(other.conflicts for other in peer.values())
        assert decided_anew(seen) == decided(seen.instance)
        try:
            chase.run()
        except Clash:
            assert clashed, texts
            continue
        assert not clashed, texts
        compared += 1
        for other in arities:
            assert set(seen[f"{other[0]}.{other[1]}"].rows()) == chase.certain(other), (texts, base)
        one, two = chance.choice(list(arities)), chance.choice(list(arities))
        atoms = [
            f"{name[0]}.{name[1]}({', '.join(['x', v, *['_'] * (arities[name] - 2)])})"
            for name, v in ((one, "y"), (two, "z"))
        ]
        expected = {
            (a[1], b[1])
            for a in chase.rows.get(one, ())
            for b in chase.rows.get(two, ())
            if a[0] == b[0] and not any(isinstance(v, hw.LabelledNull) for v in (a[1], b[1]))
        }
        assert set(seen.query(f"ans(y, z) :- {', '.join(atoms)}.")) == expected, (texts, atoms)
    return compared


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
@example(2757513)  # a row whose rival follows from it: neither can be let in, and that is told
def test_certain_rows_and_answers_are_those_of_a_chase_that_merges_values(seed):
    compare(seed)


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_what_users_see_is_followed_as_it_would_be_worked_out(seed):
    """Reports, previews and the border itself, beside one that looks at all there is; with rows that are rejected and
    reinstated as they are shown."""
    chance = random.Random(seed)
    arities, mappings, equal = random_setting(chance)
    peers = {
        name[0]: {name[1]: ", ".join(f"c{i}: int" for i in range(arity))} for name, arity in arities.items()
    }
    found = hw.exchange(peers=peers, mappings="\n".join([*map(str, mappings), *map(str, equal)]))
    for _ in range(7):
        owner, relation = chance.choice(list(arities))
        rows = [tuple(chance.choice(VALUES) for _ in range(arities[owner, relation])) for _ in range(2)]
        seen = sorted(found[owner][relation].rows(nulls=True), key=str)
        gone = chance.sample(seen, min(len(seen), chance.randint(0, 2)))
        found[owner].edit(insert={relation: rows}, delete={relation: gone} if gone else None)
        for peer in found.values():
            peer.publish()
        for (peer, name), _ in arities.items():
            viewer = found[peer]
            before = set(viewer[name].rows(nulls=True))
            supposed = viewer.preview()
            done = viewer.update()
            after = set(viewer[name].rows(nulls=True))
            for report in (supposed, done):
                assert set(report.inserted(name)) == after - before
                assert set(report.deleted(name)) == before - after
            instance = viewer.instance
            followed, anew = instance.border, Border(instance.database, instance.compiled, peer)
            assert followed._chosen == anew._chosen and followed._codes == anew._codes
            own = instance.schemas.named(f"{peer}.{name}")
            for row in before | after:
                assert followed.holds(own, row) == anew.holds(own, row) == (row in after)
    found.close()


def test_rows_are_not_all_looked_at_when_values_become_equal(monkeypatch):
    """Of many rows, one unknown value becomes known: the others are not shown anew."""
    found = hw.exchange(
        peers={"A": {"R": "i: int"}, "B": {"S": "i: int, n: int"}, "C": {"T": "i: int, n: int"}},
        mappings="m: R(i) -> exists n T(i, n). b: S(i, n) -> T(i, n). key: T(i, n), T(i, m) -> n = m.",
    )
    found["A"].edit(insert={"R": [(number,) for number in range(200)]})
    found["B"].edit(insert={"S": [(0, 7)]})
    found.exchange()
    viewer = found["C"]
    assert viewer["T"].rows() == [(0, 7)] and len(viewer["T"].rows(nulls=True)) == 200
    monkeypatch.setattr(Border, "shown", lambda *_: pytest.fail("all rows are shown"))
    monkeypatch.setattr(Border, "_choose_all", lambda *_: pytest.fail("all values are looked at"))
    found["B"].edit(insert={"S": [(1, 8)]})
    found.exchange()
    unknown = hw.LabelledNull("m_n", (1,))
    assert (1, 8) in viewer["T"] and (1, unknown) not in viewer["T"]
    found["B"].edit(delete={"S": [(1, 8)]})
    found["B"].publish()
    done = viewer.update()
    assert (done.inserted("T"), done.deleted("T")) == ([(1, unknown)], [(1, 8)])
    found.close()


def equalities(peer) -> list[set]:
    instance = peer.instance
    names, numbers = instance.compiled.names, instance.compiled.equalities.numbers
    return [
        set(instance.database[name(number)].rows())
        for number in numbers
        for name in (names.same, names.clash)
    ]


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_hubs_make_equal_what_pairs_make_equal(seed):
    """Also where constants clash: what is equal through a hub is what the pairs that are equated come to."""
    chance = random.Random(seed)
    arities, mappings, equal = random_setting(chance)
    texts = [*map(str, mappings), *map(str, equal)]
    text = re.sub(r"P\d\.", "P.", "\n".join(texts))
    schema = {name: ", ".join(f"c{i}: int?" for i in range(arity)) for (_, name), arity in arities.items()}
    hubs = hw.exchange(peers={"P": schema}, mappings=text)["P"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compiler, "sides_of", lambda egd: None)
        pairs = hw.exchange(peers={"P": schema}, mappings=text)["P"]
    within = any(each.left in atom.terms and each.right in atom.terms for each in equal for atom in each.body)
    assert "member_" in hubs.instance.compiled.program.text or within
    assert "member_" not in pairs.instance.compiled.program.text
    there: dict = {name: set() for name in arities}
    for _ in range(8):
        name = chance.choice(list(arities))
        rows = {tuple(chance.choice((*VALUES, None)) for _ in range(arities[name])) for _ in range(2)}
        gone = [row for row in sorted(there[name], key=str) if chance.random() < 0.3 and row not in rows]
        there[name] = there[name] - set(gone) | rows
        for peer in (hubs, pairs):
            peer.edit(insert={name[1]: list(rows)}, delete={name[1]: gone} if gone else None)
        assert equalities(hubs) == equalities(pairs), text
        assert decided(hubs.instance) == decided(pairs.instance), text
    hubs.close()
    pairs.close()


@pytest.mark.parametrize(
    "dependency",
    [
        "S(x, z), S(x, v) -> z = v.",
        "S(x, z), W(y, v) -> z = v.",
        "S(x, z), S(u, v), R(x, y), R(u, w) -> z = v.",
        "S(x, z), S(x, v), x < 5 -> z = v.",
    ],
)
def test_a_class_of_many_equal_values_costs_their_pairs(dependency):
    """Each pair has few derivations: adding a value to a class of k takes about k of them, and not k²."""
    found = hw.exchange(
        peers={"A": {"R": "x: int, y: int"}, "B": {"S": "x: int, z: int"}, "V": {"W": "y: int, z: int"}},
        mappings=f"m: R(x, y) -> exists z S(x, z), W(y, z). equal: {dependency}",
    )
    found["A"].edit(insert={"R": [(1, number) for number in range(80)]})
    found.exchange()
    database = found["B"].instance.database
    assert len(database["same_1_e"]) == 80 * 79
    report = database.apply(insert={"A_R_l": [(1, 100)]})
    assert len(database["same_1_e"]) == 81 * 80
    assert report.statistics.derivations < 12 * 81


def test_a_clash_does_not_make_two_keys_one():
    """The unknown value of P is 1 and 2, which cannot be; what stands beside 1 does not stand beside 2."""
    found = hw.exchange(
        peers={
            "A": {"I": "i: int", "Q": "i: int, x: int"},
            "B": {"P": "i: int, x: int", "R": "x: int, n: int"},
        },
        mappings="""
            p: I(i) -> exists x P(i, x).
            m: Q(i, x) -> exists n R(x, n).
            equal: P(i, x), Q(i, z) -> x = z.
            key: R(x, n), R(x, m) -> n = m.
        """,
    )
    found["A"].edit(insert={"I": [(0,)], "Q": [(0, 1), (0, 2)]})
    found["B"].edit(insert={"R": [(1, 7)]})
    found.exchange()
    viewer = found["B"]
    assert [str(clash) for clash in viewer.clashes] == ["1 = 2 by equal: cannot be"]
    beside_2 = hw.LabelledNull("m_n", (2,))
    assert set(viewer["R"].rows(nulls=True)) == {(1, 7), (2, beside_2)}
    assert set(viewer["Q"].rows()) == {(0, 1), (0, 2)} and viewer["P"].rows() == [(0, 1)]
    assert set(viewer.query("ans(x, n) :- R(x, n).", nulls=True)) == {(1, 7), (2, beside_2)}
    found.close()
