"""Random goals: a relation with some columns bound, in some way; and what full evaluation says about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from oracle_programs import RandomProgram, Term
from oracle_strategies import DOMAIN

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Goal:
    """`relation(args)`: constants, variables (which may stand twice) and wildcards."""

    relation: str
    args: tuple[Term, ...]

    @property
    def text(self) -> str:
        args = ", ".join("_" if arg is None else str(arg) for arg in self.args)
        return f"{self.relation}({args})"

    @property
    def variables(self) -> list[str]:
        return list(dict.fromkeys(arg for arg in self.args if isinstance(arg, str)))

    def answers(self, rows: Iterable[Row]) -> set[Row]:
        """The bindings of the variables, from all rows of the relation."""
        found = set()
        for row in rows:
            values: dict[str, Any] = {}
            for arg, value in zip(self.args, row, strict=True):
                wanted = values.setdefault(arg, value) if isinstance(arg, str) else arg
                if wanted is not None and wanted != value:
                    break
            else:
                found.add(tuple(values[name] for name in self.variables))
        return found


def joined(first: Goal, second: Goal, negated: bool, state: Mapping[str, Iterable[Row]]) -> set[Row]:
    """The bindings of the first goal's variables (and the second's) for which both hold, or only the first."""
    found = set()
    others = [dict(zip(second.variables, row, strict=True)) for row in second.answers(state[second.relation])]
    for row in first.answers(state[first.relation]):
        values = dict(zip(first.variables, row, strict=True))
        agreeing = [other for other in others if all(values.get(name, v) == v for name, v in other.items())]
        if negated and not agreeing:
            found.add(row)
        elif not negated:
            names = dict.fromkeys((*first.variables, *second.variables))
            found |= {tuple({**values, **other}[name] for name in names) for other in agreeing}
    return found


def goals(program: RandomProgram) -> st.SearchStrategy[Goal]:
    """Goals for relations that the program derives."""
    derived = {name: arity for stratum in program.strata for name, arity in stratum.relations.items()}
    argument = st.one_of(
        st.integers(0, DOMAIN), st.integers(0, DOMAIN), st.sampled_from(["P", "Q", "R", "S"]), st.none()
    )
    averages = program.averages()  # no variable stands for an average and an int at once

    def goal(name: str, args: tuple[Term, ...]) -> Goal:
        if name in averages:
            args = tuple(f"P{i}" if isinstance(arg, str) else arg for i, arg in enumerate(args[:-1]))
            args = (*args, f"P{len(args)}")
        return Goal(name, args)

    return st.sampled_from(sorted(derived)).flatmap(
        lambda name: st.tuples(*[argument] * derived[name]).map(lambda args: goal(name, args))
    )
