"""A plan: how the bindings of one rule body are found, starting from given rows. Data only.

A plan starts from rows of one premise (a *delta*), from rows of the head (to ask what still derives them), or
from an absent premise's rows (a negated delta). Each step takes a matrix of bindings to the next; the last
column of every matrix is the highest rank among the recursion's premises joined so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from headwater.kernel.list_join import CONSTANT
from headwater.language.datalog.render import render
from headwater.language.program import Term

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Start:
    """Bindings from listed rows: constants the rows must have, columns that must be equal, what to keep.

    `outputs` are column numbers of the row; -1 stands for the row's own number (its *origin*).
    """

    relation: str
    position: int | None
    constants: Ints
    equalities: Ints
    outputs: Ints
    own: bool


@dataclass(frozen=True)
class Join:
    """Extend by matching rows of the premise at body `position`, found by an index on `key` columns.

    `whole` means that the key is the whole row; no key at all means that the relation is scanned.
    """

    relation: str
    position: int
    key: tuple[int, ...]
    whole: bool
    sources: Ints
    constants: Ints
    scan_constants: Ints
    equalities: Ints
    outputs: Ints
    own: bool


@dataclass(frozen=True)
class AntiJoin:
    """Keep bindings whose row, spelt out in full, is not in the absent premise's relation."""

    relation: str
    position: int
    sources: Ints
    constants: Ints
    outputs: Ints


@dataclass(frozen=True)
class Filter:
    """Keep bindings for which `left op right` holds. `columns` tells where each variable is."""

    op: str
    left: Term
    right: Term
    columns: Mapping[str, int]
    outputs: Ints


@dataclass(frozen=True)
class Extend:
    """Compute a term and add it as a column (after those kept)."""

    value: Term
    columns: Mapping[str, int]
    outputs: Ints


@dataclass(frozen=True)
class AddNumbers:
    """Add the sum (or difference) of two numbers as a column; operands are columns (>= 0) or constants (-s - 1).

    Both are ints, or both `floats`. `solves` is for an unknown int found backwards, from a total and the other
    operand. A binding for which no int is the unknown ends here: the result would not fit, or a null is asked for
    where the rule gives none.
    """

    left: int
    right: int
    constants: Ints
    subtract: bool
    outputs: Ints
    floats: bool = False
    solves: bool = False


@dataclass(frozen=True)
class Generate:
    """As `Extend`, for a function with several results per binding."""

    function: str
    args: tuple[Term, ...]
    columns: Mapping[str, int]
    outputs: Ints


Words = tuple[str | tuple[Term, ...], ...]
"""A line for people, put together when somebody reads it: texts, and terms to be rendered between them."""

Step = Join | AntiJoin | Filter | Extend | AddNumbers | Generate


@dataclass(frozen=True)
class Plan:
    """A start, steps, and what to make of the bindings in the end: columns (>= 0) or constants (-s - 1).

    `identity` means that the bindings are the result as they are.
    """

    start: Start
    steps: tuple[Step, ...]
    outputs: Ints
    constants: Ints
    identity: bool
    words: tuple[Words, ...] = field(repr=False)

    @cached_property
    def split(self) -> int:
        """The position of the premise from which the plan starts: those before it may see other rows than those after
        it. -1 if it starts from the head, which is before all of them."""
        return -1 if self.start.position is None else self.start.position

    @cached_property
    def first_join(self) -> Join | None:
        """The first step as a join of the start's rows themselves, which then need not be written out as bindings:
        what it takes from bindings it takes from columns of these rows. None where that is not possible."""
        step = self.steps[0] if self.steps else None
        columns = self.start.outputs
        if not isinstance(step, Join) or not step.key or step.whole:
            return None
        if self.start.constants.size or self.start.equalities.size or (columns < 0).any():
            return None
        return replace(step, sources=_through(step.sources, columns), outputs=_through(step.outputs, columns))

    @cached_property
    def chain(self) -> tuple[Join, ...]:
        """The steps as joins by keys one after the other, the first of the start's rows themselves, if they are
        nothing else; or that first one alone. Empty where there is none."""
        first = self.first_join
        joins = tuple(
            step for step in self.steps[1:] if isinstance(step, Join) and step.key and not step.whole
        )
        if first is None:
            return ()
        return (first, *joins) if len(joins) + 1 == len(self.steps) else (first,)

    @cached_property
    def results(self) -> tuple[Ints | None, Ints | None]:
        """What the first join, and the last step, have to write so that it is the result, and nothing is left to be
        made of it: a constant is `CONSTANT` and its place. None for one that is not the last step, or no join."""
        last = self.steps[-1] if self.steps else None
        first = self.first_join if len(self.steps) == 1 else None
        return (
            None if first is None else self._written_by(first),
            self._written_by(last) if isinstance(last, Join) else None,
        )

    @cached_property
    def gathered(self) -> Ints | None:
        """What the start has to write so that it is the result: None where there are steps, or constants."""
        if self.steps or (self.outputs < 0).any():
            return None
        return self.start.outputs if self.identity else self.start.outputs[self.outputs]

    @cached_property
    def fanning(self) -> tuple[Join, ...]:
        """The steps that may give several bindings for one."""
        return tuple(step for step in self.steps if isinstance(step, Join) and not step.whole)

    def _written_by(self, step: Join) -> Ints:
        if self.identity:
            return step.outputs
        constants = -self.outputs - 1 + CONSTANT
        if not step.outputs.size:
            return constants
        taken = step.outputs[np.maximum(self.outputs, 0)]
        return np.where(self.outputs >= 0, taken, constants)

    @cached_property
    def description(self) -> tuple[str, ...]:
        """The plan in words: the start, then a line for each step."""
        return tuple("".join(map(_said, words)) for words in self.words)


def _through(sources: Ints, columns: Ints) -> Ints:
    """Sources in bindings as sources in what the bindings were taken from; others stay."""
    if not columns.size:
        return sources
    return np.where(sources >= 0, columns[np.maximum(sources, 0)], sources)


def _said(word: str | tuple[Term, ...]) -> str:
    return word if isinstance(word, str) else ", ".join(map(render, word))
