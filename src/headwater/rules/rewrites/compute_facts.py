"""What a fact computes is computed once, here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from headwater.errors import EvaluationError, RuleError
from headwater.language.program import Atom, Call, Constant, Term
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.rewrites.resolve_functions import resolve_term
from headwater.values.codec import Codec
from headwater.values.functions import FunctionMismatch, Functions, is_label
from headwater.values.special import is_untyped
from headwater.values.types import Type, type_of

MOST_FACTS = 100_000
"""How many facts one fact that computes may stand for."""


def compute_facts(draft: Draft) -> Draft:
    """Arguments of facts are constants from here on, where they have a value without a body.

    A generator gives a fact for each of its values. Variables, and aggregates, are left for `take_facts` to refuse.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import is_label, Functions
    >>> draft = begin(parse('p(cat("a", "b"), range(0, 2)).'), Functions())
    >>> [[arg.value for arg in rule.head.args] for rule in compute_facts(draft).rules]
    [['ab', 0], ['ab', 1]]
    """
    return draft.with_rules(computed for rule in draft.rules for computed in _compute(draft, rule))


def _compute(draft: Draft, rule: DraftRule) -> Iterator[DraftRule]:
    if rule.body or all(isinstance(arg, Constant) for arg in rule.head.args):
        yield rule
        return
    values = [_values(draft, arg) for arg in rule.head.args]
    _refuse_many(prod(map(len, values)), rule.head)
    for args in product(*values):
        yield rule.with_head(args)


def _refuse_many(count: int, at: Call | Atom) -> None:
    """Facts are part of the program, each with its place: so many of them belong into a rule."""
    if count > MOST_FACTS:
        raise EvaluationError(
            "range-too-long",
            f"a fact would stand for {count:,} rows",
            place=at.place,
            hint="write a rule, which is run over the rows themselves: p(X) :- X = range(...).",
        )


def _values(draft: Draft, term: Term) -> list[Term]:
    """The constants that a term stands for; the term itself where its value cannot be known."""
    if not isinstance(term, Call):
        return [term]
    term = resolve_term(draft, term)
    done: list[list[Constant]] = []
    todo: list[tuple[Term, bool]] = [(term, False)]
    while todo:
        inner, entered = todo.pop()
        if isinstance(inner, Constant):
            done.append([inner])
        elif not isinstance(inner, Call):
            return [term]
        elif not entered:
            todo.append((inner, True))
            todo += [(arg, False) for arg in reversed(inner.args)]
        else:
            first = len(done) - len(inner.args)
            _refuse_many(prod(map(len, done[first:])), inner)
            combinations = product(*done[first:])
            done[first:] = [[value for args in combinations for value in _call(draft.functions, inner, args)]]
    (values,) = done
    return list(values)


def _call(functions: Functions, call: Call, args: tuple[Constant, ...]) -> list[Constant]:
    try:
        types = [_type(arg) for arg in args]
        result = functions.result_type(call.function, types)
        if result is None and None not in types and not is_label(call.function):
            raise FunctionMismatch(f"the type of what {call.function} gives is not known")
        codec = Codec()
        columns = [
            np.array([codec.encode_value(arg.value, type_)]) for arg, type_ in zip(args, types, strict=True)
        ]
        if functions.is_generator(call.function):
            expansion = functions.expand(call.function, columns, types, codec)
            _refuse_many(expansion.largest, call)
            pieces = [codes for _, codes in expansion.pieces(MOST_FACTS)]
            codes = np.concatenate([np.empty(0, np.int64), *pieces])
        else:
            codes = functions.apply(call.function, columns, types, codec)
    except FunctionMismatch as mismatch:
        raise RuleError("function-mismatch", str(mismatch), place=call.place) from None
    except EvaluationError as error:
        raise EvaluationError(error.code, error.message, place=call.place, hint=error.hint) from None
    return [Constant(value, place=call.place) for value in codec.decode_column(codes, result)]


def _type(constant: Constant) -> Type | None:
    type_ = type_of(constant.value)
    if type_ is None and not is_untyped(constant.value):
        raise FunctionMismatch("the items of a list have one type")
    return type_
