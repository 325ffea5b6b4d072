"""Values of terms, for many bindings at once: comparisons, computed columns, sums, functions with several values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.kernel import join
from headwater.language.program import Call, Constant, Term, Variable
from headwater.plan.steps import AddNumbers, Extend, Filter, Generate, Ints
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.generators import Expansion
from headwater.values.layout import constant_code
from headwater.values.types import FLOAT, INT, Type, type_of


class TermValues:
    """Computes terms over bindings, whose last column is the highest rank of their premises and stays the last."""

    def __init__(self, codec: Codec, functions: Functions):
        self.codec = codec
        self.functions = functions
        self._constants: dict[int, tuple[Constant, int, Type | None]] = {}

    def filtered(self, step: Filter, types: Mapping[str, Type | None], bindings: Ints) -> Ints:
        """The bindings for which a comparison holds."""
        left, left_type = self._term(step.left, step.columns, types, bindings)
        right, right_type = self._term(step.right, step.columns, types, bindings)
        good = self.functions.compare(step.op, left, right, left_type, right_type, self.codec)
        out = np.empty((bindings.shape[0], step.outputs.shape[0] + 1), np.int64)
        return out[: join.keep(bindings, good, step.outputs, out)]

    def extended(self, step: Extend, types: Mapping[str, Type | None], bindings: Ints) -> Ints:
        """Bindings with the value of a term as a further column."""
        value, _ = self._term(step.value, step.columns, types, bindings)
        return appended(step.outputs, bindings, value)

    def with_sum(self, step: AddNumbers, bindings: Ints) -> Ints:
        """Bindings with a sum or difference as a further column."""
        out = np.empty((bindings.shape[0], step.outputs.shape[0] + 2), np.int64)
        append = join.append_float_sum if step.floats else join.append_sum
        row = append(bindings, step.left, step.right, step.constants, step.subtract, step.outputs, out)
        return out if row < 0 else self._special_sums(step, bindings, out)

    def _special_sums(self, step: AddNumbers, bindings: Ints, out: Ints) -> Ints:
        """The same where some operand or result is not its own code, or overflows."""
        left, right = (
            bindings[:, source]
            if source >= 0
            else np.full(bindings.shape[0], step.constants[-source - 1], np.int64)
            for source in (step.left, step.right)
        )
        if not step.solves:
            types = [FLOAT if step.floats else INT] * 2
            op = "-" if step.subtract else "+"
            out[:, -2] = self.functions.apply(op, [left, right], types, self.codec)
            return out
        specials = self.codec.specials
        a, b = specials.numbers(left), specials.numbers(right)
        with np.errstate(over="ignore"):
            total = a - b if step.subtract else a + b
        fits = ((a ^ b) & (a ^ total) if step.subtract else (a ^ total) & (b ^ total)) >= 0
        there = fits & ~specials.nulls(left) & ~specials.nulls(right)
        out[:, -2] = specials.int_codes(total)
        return np.ascontiguousarray(out[there])

    def expanded(self, step: Generate, types: Mapping[str, Type | None], bindings: Ints) -> Expansion:
        """The values that a function gives for each binding, any number of them."""
        args = [self._term(arg, step.columns, types, bindings) for arg in step.args]
        columns, of_types = [column for column, _ in args], [type_ for _, type_ in args]
        return self.functions.expand(step.function, columns, of_types, self.codec)

    def _constant(self, term: Constant) -> tuple[Constant, int, Type | None]:
        """A constant with its code and type; by identity, since equal numbers may differ in type or scale."""
        known = self._constants.get(id(term))
        if known is None:
            code = constant_code(self.codec, term.value)
            known = self._constants[id(term)] = (term, code, type_of(term.value))
        return known

    def _term(
        self, term: Term, columns: Mapping[str, int], types: Mapping[str, Type | None], bindings: Ints
    ) -> tuple[Ints, Type | None]:
        """The codes of a term and their type; without a type, all of them are null."""
        if isinstance(term, Variable):
            return bindings[:, columns[term.name]], types.get(term.name)
        if isinstance(term, Constant):
            _, code, type_ = self._constant(term)
            return np.full(bindings.shape[0], code, np.int64), type_
        assert isinstance(term, Call)
        args = [self._term(arg, columns, types, bindings) for arg in term.args]
        call = self.functions.resolved(term.function, [type_ for _, type_ in args])
        return call.apply([column for column, _ in args], self.codec), call.result


def appended(outputs: Ints, bindings: Ints, value: Ints) -> Ints:
    """Bindings with a value as a further column."""
    k = outputs.shape[0]
    out = np.empty((bindings.shape[0], k + 2), np.int64)
    out[:, :k] = bindings[:, outputs]
    out[:, k] = value
    out[:, k + 1] = bindings[:, -1]
    return out
