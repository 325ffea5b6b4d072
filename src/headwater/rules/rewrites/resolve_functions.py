"""What looks like a relation but is a function becomes a test; names of functions are checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.errors import EvaluationError, RuleError
from headwater.language.program import (
    Atom,
    BodyAggregate,
    Call,
    Comparison,
    Constant,
    Disjunction,
    Negated,
    Positive,
    Term,
)
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import Part, aggregate_hint, plain, plain_atom
from headwater.values.functions import FunctionMismatch
from headwater.values.types import INT
from headwater.values.volatile import VOLATILE

_OF_SEVERAL = ("min", "max")
_CONCAT_PATH = ("f_concatPath", "f_concatpath", "concat_path", "concatPath")


def resolve_functions(draft: Draft) -> Draft:
    """`contains(X, Y)` that no relation is named after becomes `contains(X, Y) = true`.

    The literal in `f_concatPath(link(@S,@D,C), P)` gives its two ends: `concat_path(S, D, P)`. A function
    that does not exist is refused, and so is a pattern that is none.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse('p(X) :- q(X), contains("a", X).'), Functions())
    >>> resolve_functions(draft).rules[0].body[1].right
    Constant(value=True, address=False)
    """
    return draft.with_rules(_resolve_rule(draft, rule) for rule in draft.rules)


def _resolve_rule(draft: Draft, rule: DraftRule) -> DraftRule:
    body = tuple(_resolve(draft, part) for part in rule.body)
    if all(plain(head.args) for head in rule.heads):
        return rule.with_body(body)
    heads = tuple(replace(head, args=_resolve_terms(draft, head.args)) for head in rule.heads)
    return replace(rule, heads=heads, body=body)


def _resolve(draft: Draft, part: Part) -> Part:
    if isinstance(part, (Positive, Negated)):
        is_relation = part.atom.relation in draft.taken or not draft.functions.has(part.atom.relation)
        if is_relation and plain_atom(part):
            return part
        atom = replace(part.atom, args=_resolve_terms(draft, part.atom.args))
        return replace(part, atom=atom) if is_relation else _as_test(draft, atom, isinstance(part, Positive))
    if isinstance(part, Comparison):
        left, right = _resolve_terms(draft, (part.left, part.right))
        return replace(part, left=left, right=right)
    if isinstance(part, Disjunction):
        return Disjunction(
            tuple(tuple(_resolve(draft, inner) for inner in a) for a in part.alternatives),  # type: ignore[misc]
            part.place,
        )
    return part


def _as_test(draft: Draft, atom: Atom, wanted: bool) -> Comparison:
    name, call = atom.relation, Call(atom.relation, atom.args, atom.place)
    if not draft.functions.is_test(name):
        raise RuleError(
            "not-a-test",
            f"{name} is a function that gives a value, not a condition",
            place=atom.place,
            hint=f"compare it, as in `X = {name}(...)`; a relation of this name must be declared",
        )
    if name in VOLATILE:
        return Comparison("=" if wanted else "!=", call, Constant(1), atom.place)
    _check_constants(draft, call)
    try:
        result = draft.functions.result_type(name, [None] * len(atom.args))
    except FunctionMismatch as mismatch:
        raise RuleError("function-mismatch", str(mismatch), place=atom.place) from None
    holds = Constant(1 if result == INT else True)  # NDlog's tests give 0 or 1
    return Comparison("=" if wanted else "!=", call, holds, atom.place)  # of nulls it does not hold


def _resolve_terms(draft: Draft, terms: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(resolve_term(draft, term) for term in terms)


def resolve_term(draft: Draft, term: Term) -> Term:
    """The term with its functions resolved; refuses one that does not exist.

    Calls may be nested more deeply than Python's own stack is deep.
    """
    done: list[Term] = []
    todo: list[tuple[Term, bool]] = [(term, False)]
    while todo:
        inner, entered = todo.pop()
        if isinstance(inner, BodyAggregate):
            target = None if inner.target is None else resolve_term(draft, inner.target)
            body = tuple(_resolve(draft, part) for part in inner.body)
            done.append(replace(inner, target=target, body=body))  # type: ignore[arg-type]
        elif not isinstance(inner, Call):
            done.append(inner)
        elif entered:
            first = len(done) - len(inner.args)
            resolved = Call(inner.function, tuple(done[first:]), inner.place)
            _check_constants(draft, resolved)
            done[first:] = [resolved]
        else:
            inner = _known(draft, inner)
            todo.append((inner, True))
            todo += [(arg, False) for arg in reversed(inner.args)]
    return done[0]


def _known(draft: Draft, call: Call) -> Call:
    """The call of a function that there is, with values only as arguments."""
    function, args = call.function, call.args
    if function in _CONCAT_PATH:
        function = "concat_path"
        if len(args) == 2 and isinstance(args[0], Call) and len(args[0].args) >= 2:
            args = (*args[0].args[:2], args[1])
    if not draft.functions.has(function):
        raise _unknown(draft, call)
    if function in _OF_SEVERAL and len(args) == 1:
        message = f"{function} of one value is that value"
        raise RuleError("function-mismatch", message, place=call.place, hint=aggregate_hint(function, args))
    return Call(function, args, call.place)


def _check_constants(draft: Draft, call: Call) -> None:
    """Refuse a call that its constants alone make fail, such as a pattern that is none."""
    constants = [arg.value if isinstance(arg, Constant) else None for arg in call.args]
    try:
        draft.functions.check_constants(call.function, constants)
    except EvaluationError as error:
        raise RuleError(error.code, error.message, place=call.place, hint=error.hint) from None


def _unknown(draft: Draft, term: Call) -> RuleError:
    name = term.function
    if (written := aggregate_hint(name, term.args)) is not None:
        message, hint = f"there is no function {name}", written
    elif name in draft.taken:
        message = f"{name} is a relation; it cannot stand where a value is needed"
        hint = f"make {name}(...) a premise of its own"
    else:
        message = f"there is no function {name}"
        close = draft.functions.suggest(name)
        hint = f"did you mean {' or '.join(close)}?" if close else "register it as a function first"
    return RuleError("unknown-function", message, place=term.place, hint=hint)
