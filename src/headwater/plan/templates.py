"""Rows put together from bindings, and atoms as codes: what every plan and every search says alike.

An atom's columns are codes: those of its constants, or the columns of bindings that hold the codes of its variables.
A *source* says where a code comes from: from a column of the bindings (0 and up), or from a list of constants (-1 is
the first of them, -2 the second). The kernel reads sources the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headwater.language.program import Constant, Term, Variable, Wildcard
from headwater.plan.steps import Ints
from headwater.rules.checked import CheckedRule, Premise
from headwater.values.codec import Codec
from headwater.values.layout import constant_code

Code = int | str | None
"""What stands in a code column: a code, (the name of) a variable, or anything."""


def atom_codes(args: Sequence[Term], codec: Codec) -> list[Code]:
    """What stands in each code column of an atom."""
    return [
        constant_code(codec, arg.value)
        if isinstance(arg, Constant)
        else arg.name
        if isinstance(arg, Variable)
        else None
        for arg in args
    ]


class Sources:
    """The sources of codes, one after the other, over bindings with the given columns."""

    def __init__(self, columns: Mapping[str, int]):
        self.columns = columns
        self.constants: list[int] = []

    def of(self, code: Code) -> int:
        """The source of a constant's code, or of one of a variable's."""
        if isinstance(code, int):
            self.constants.append(code)
            return -len(self.constants)
        assert code is not None, "anything"
        return self.columns[code]


@dataclass(frozen=True)
class Template:
    """How rows of a relation are read off bindings: a source for each code, and the constants."""

    relation: str
    sources: tuple[int, ...]
    constants: tuple[int, ...]

    @classmethod
    def of(cls, relation: str, codes: Sequence[Code], columns: Mapping[str, int]) -> Template:
        """The template of an atom without wildcards."""
        sources = Sources(columns)
        return cls(relation, tuple(sources.of(code) for code in codes), tuple(sources.constants))

    def matrix(self, bindings: Ints) -> Ints:
        """The row under each of the bindings."""
        rows = np.empty((bindings.shape[0], len(self.sources)), np.int64)
        for column, source in enumerate(self.sources):
            rows[:, column] = bindings[:, source] if source >= 0 else self.constants[-source - 1]
        return rows

    def rows(self, bindings: Ints) -> list[tuple[int, ...]]:
        """The same as tuples."""
        return list(map(tuple, self.matrix(bindings).tolist()))


def with_named_wildcards(rule: CheckedRule) -> CheckedRule:
    """The rule with a variable for each wildcard of its premises: `~1.0` is column 0 of item 1 of the body."""
    return replace(
        rule,
        body=tuple(
            replace(
                item,
                args=tuple(
                    Variable(f"~{position}.{column}") if isinstance(arg, Wildcard) else arg
                    for column, arg in enumerate(item.args)
                ),
            )
            if isinstance(item, Premise)
            else item
            for position, item in enumerate(rule.body)
        ),
    )
