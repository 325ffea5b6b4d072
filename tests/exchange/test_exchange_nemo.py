"""Random mappings beside Nemo, an independent engine for existential rules: the same certain rows.

Nemo's chase is restricted: it makes fewer nulls. The certain rows are the same as long as nobody rejects rows, so
edits here only insert and take back.
"""

from __future__ import annotations

import os
import random

import pytest
from exchange_chase import ChaseAtom, ChaseMapping
from exchange_support import COMMON
from hypothesis import given, settings
from hypothesis import strategies as st
from test_exchange_oracle import VALUES, random_mappings

import headwater as hw

nemo = pytest.importorskip("nmo_python", reason="nemo-python is not installed")
EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "6"))


def written(atom: ChaseAtom, existentials: list[str] = ()) -> str:
    terms = [f"{'!' if t in existentials else '?'}{t}" if isinstance(t, str) else str(t) for t in atom.terms]
    return f"{atom.name[0]}_{atom.name[1]}({', '.join(terms)})"


def rule(mapping: ChaseMapping) -> str:
    heads = ", ".join(written(head, mapping.existentials) for head in mapping.heads)
    body = ", ".join(map(written, mapping.body))
    if mapping.comparison is not None:
        name, compare, value = mapping.comparison
        body += f", ?{name} {compare} {value}"
    return f"{heads} :- {body} ."


def certain(mappings: list[ChaseMapping], base: dict, arities: dict) -> dict:
    """What Nemo derives and holds no null."""
    lines = [rule(mapping) for mapping in mappings]
    for (peer, name), rows in base.items():
        lines += [f"{peer}_{name}({', '.join(map(str, row))})." for row in rows]
        lines.append(f"@output {peer}_{name} .")
    engine = nemo.NemoEngine(nemo.load_string("\n".join(lines)))
    engine.reason()
    return {
        name: {
            tuple(row)
            for row in engine.result(f"{name[0]}_{name[1]}")
            if all(isinstance(v, int) for v in row)
        }
        for name in arities
    }


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_certain_rows_are_those_of_nemo(seed):
    chance = random.Random(seed)
    arities = {(f"P{i}", f"R{i}"): chance.randint(1, 3) for i in range(3)}
    mappings = [
        m for m in random_mappings(chance, arities) if m.comparison is None or m.comparison[1] == "!="
    ]
    peers = {n[0]: {n[1]: ", ".join(f"c{i}: int" for i in range(k))} for n, k in arities.items()}
    found = hw.exchange(peers=peers, mappings="\n".join(map(str, mappings)))
    base: dict = {name: set() for name in arities}
    for _ in range(5):
        name = chance.choice(list(arities))
        rows = {tuple(chance.choice(VALUES) for _ in range(arities[name])) for _ in range(3)}
        gone = set(chance.sample(sorted(base[name]), len(base[name]) // 2)) - rows
        found[name[0]].edit(insert={name[1]: list(rows)}, delete={name[1]: list(gone)} if gone else None)
        base[name] = (base[name] - gone) | rows
        found.exchange()
        expected = certain(mappings, base, arities)
        for viewer in found.values():
            assert {name: set(viewer[f"{name[0]}.{name[1]}"].rows()) for name in arities} == expected
