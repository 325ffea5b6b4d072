"""clingo as an independent engine: the one stable model of a stratified program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import clingo
from oracle_programs import RandomProgram

Row = tuple[Any, ...]
State = dict[str, frozenset[Row]]


def solve(program: RandomProgram, base: Mapping[str, Iterable[Row]]) -> State:
    """All relations of the program over these base rows."""
    facts = "".join(
        f"{name}({','.join(map(str, row))})." if row else f"{name}." for name in base for row in base[name]
    )
    found: dict[str, set[Row]] = {name: set() for name in program.relations}
    control = clingo.Control(["--warn=none"], message_limit=0)
    control.add("base", [], facts + program.asp())
    control.ground([("base", [])])
    models = 0
    with control.solve(yield_=True) as handle:
        for model in handle:
            models += 1
            for symbol in model.symbols(atoms=True):
                if symbol.name in found:
                    found[symbol.name].add(tuple(argument.number for argument in symbol.arguments))
    assert models == 1, "a stratified program has one stable model"
    for name in program.averages():
        found[name] = {(*row[:-2], float(Fraction(row[-2], row[-1]))) for row in found[name]}
    return {name: frozenset(rows) for name, rows in found.items()}
