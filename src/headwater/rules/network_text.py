"""A text as networks read it: timers, conditions and names of P2 and RapidNet made into what rules know.

- each `periodic(@N, E, T, ...)` becomes an event relation of its own, beside a `Timer`;
- a negated group of conditions, `!(A < B, C == D)`, becomes alternatives: one of them does not hold;
- a name that occurs with several numbers of columns is a relation for each: `ping`, and `ping/3` for the others;
- an address of a head that is bound nowhere is that of the node where the body is, as RapidNet's programs have it
  (`@Local`); `@Broadcast` is that of all neighbours;
- `+` of a text and anything is a text, as in `f_sha1("link" + S + D)`; of identifiers see `network_identifiers`.

Nothing here knows of stored rows; `roles` says what each relation is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from headwater.errors import RuleError
from headwater.language.datalog.operators import OPPOSITES
from headwater.language.program import (
    Atom,
    Call,
    Comparison,
    Constant,
    Disjunction,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Program,
    Rule,
    Term,
    Variable,
)
from headwater.rules.checked import Timer
from headwater.rules.network_identifiers import with_identifiers
from headwater.rules.roles import PERIODIC
from headwater.rules.terms import atoms, names, rebuild_literal

_TIMER_HINT = "write periodic(@N, E, T), with a number of seconds, and how often: periodic(@N, E, T, 3)"
_LEAST, _MOST = 2, 6
BROADCAST = "Broadcast"
"""The address of all neighbours."""
CAT_ALL = "f_catAll"
_TRACED = "watch(relation) traces its rows and events; `headwater net trace` records all messages"
_STATEMENTS = {
    "trace": ("that keeps which rules made a tuple; it is not known here", _TRACED),
    "traceTable": ("that logs a table's rows into another; it is not known here", _TRACED),
    "tracetable": ("that logs a table's rows into another; it is not known here", _TRACED),
    "stage": (
        "that calls an operator written in C++; it is not known here",
        "insert the operator's tuples as events: net.insert(relation, rows), or write a function for rules",
    ),
}
"""Statements of P2 that look like facts: what they do, and what to do instead."""
_TEXTS = (CAT_ALL, "f_sha1", "f_tostr")


@dataclass(frozen=True)
class NetworkText:
    """A program, and its timers."""

    program: Program
    timers: tuple[Timer, ...]


def network_text(program: Program, is_function: Callable[[str], bool]) -> NetworkText:
    """The program with timers' relations and one number of columns for each name."""
    _refuse_statements(program)
    _refuse_bags(program)
    program = with_identifiers(_apart(program, is_function))
    timers: list[Timer] = []
    rules: list[Rule] = []
    for number, rule in enumerate(program.rules):
        rule = _texts(_addressed(replace(rule, body=tuple(map(_alternatives, rule.body)))))
        rules.append(_timed(rule, number, timers))
    return NetworkText(replace(program, rules=tuple(rules)), tuple(timers))


def relations_at_addresses(program: Program) -> frozenset[str]:
    """What lives at an address is a relation, even if a function has the same name: `join(@N, E)`."""
    return frozenset(
        atom.relation
        for atom in _mentioned(program)
        if any(isinstance(term, Variable | Constant) and term.address for term in atom.args)
    )


def _refuse_statements(program: Program) -> None:
    """P2 writes some statements as facts: where nothing reads such a relation, that is what is meant."""
    derived = [rule for rule in program.rules if rule.body]
    known = {head.relation for rule in derived for head in rule.heads}
    known |= {atom.relation for rule in derived for atom, _ in atoms(rule.body)}
    known |= {table.relation for table in program.tables} | {each.relation for each in program.declarations}
    for rule in program.rules:
        name = rule.heads[0].relation
        if not rule.body and name in _STATEMENTS and name not in known:
            what, hint = _STATEMENTS[name]
            raise RuleError(
                "p2-statement", f"{name} is a statement of P2 {what}", place=rule.place, hint=hint
            )


def _refuse_bags(program: Program) -> None:
    """P2's tables with `keys()` hold a row as often as rules insert it; those here hold it once."""
    written = {head.relation for rule in program.rules if rule.body for head in rule.heads}
    for table in program.tables:
        if not table.keys and table.relation in written:
            raise RuleError(
                "no-key",
                f"{table.relation} has no key: P2 holds a row as often as it is inserted, which is not supported",
                place=table.place,
                hint="name the columns that tell rows apart: keys(1, 2); to count insertions, give each a number",
            )


# ------------------------------------------------------------------ timers


def _timed(rule: Rule, number: int, timers: list[Timer]) -> Rule:
    body: list[Literal] = []
    for part in rule.body:
        if isinstance(part, Positive) and part.atom.relation.partition("/")[0] == PERIODIC:
            name = f"{rule.label or rule.heads[0].relation}~timer{number}"
            timers.append(_timer(part.atom, name))
            part = Positive(replace(part.atom, relation=name))
        body.append(part)
    return replace(rule, body=tuple(body))


def _timer(atom: Atom, name: str) -> Timer:
    if not _LEAST <= len(atom.args) <= _MOST:
        message = f"periodic takes {_LEAST} to {_MOST} arguments, given {len(atom.args)}"
        raise RuleError("timer", message, place=atom.place, hint=_TIMER_HINT)
    numbered = len(atom.args) > _LEAST
    rest = [_figure(atom, place) for place in range(2 if numbered else 1, len(atom.args))]
    period, times, first, *_ = (*rest, *(None,) * 3)
    assert period is not None
    if period <= 0 and not times:
        message = "a timer without a period fires all the time"
        raise RuleError("timer", message, place=atom.place, hint="write periodic(@N, E, 0, 1) for once")
    return Timer(
        name, period, int(times) if times else None, period if first is None else first, numbered, tuple(rest)
    )


def _figure(atom: Atom, place: int) -> int | float:
    term = atom.args[place]
    value = term.value if isinstance(term, Constant) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        message = f"argument {place + 1} of periodic is a number from 0 up: timers are set when a node begins"
        raise RuleError("timer", message, place=term.place or atom.place, hint=_TIMER_HINT)
    return value


# ------------------------------------------------------------------ conditions and addresses


def _alternatives(part: Literal) -> Literal:
    if not isinstance(part, NegatedGroup):
        return part
    opposites: list[tuple[Literal, ...]] = []
    for inner in part.body:
        if not isinstance(inner, Comparison) or inner.op not in OPPOSITES:
            return part
        opposites.append((replace(inner, op=OPPOSITES[inner.op]),))
    return opposites[0][0] if len(opposites) == 1 else Disjunction(tuple(opposites), part.place)


def _addressed(rule: Rule) -> Rule:
    bound = names(rule.body)
    here = next(
        (term for atom, positive in atoms(rule.body) if positive for term in atom.args[:1]
         if isinstance(term, Variable)), None,
    )  # fmt: skip

    def address(term: Term) -> Term:
        if not isinstance(term, Variable) or not term.address or term.name in bound or not rule.body:
            return term
        if term.name == BROADCAST or here is None:
            return Constant(term.name, True, term.place)
        return replace(here, address=True)

    def named(head: Atom) -> Atom:
        return replace(head, args=tuple(map(address, head.args)))

    return replace(rule, heads=tuple(map(named, rule.heads)))


def _texts(rule: Rule) -> Rule:
    """`+` where one side is a text: a string, what a string was assigned to, or such a sum."""
    texts: set[str] = set()

    def is_text(term: Term) -> bool:
        if isinstance(term, Variable):
            return term.name in texts
        return isinstance(term, Constant) and isinstance(term.value, str) and not term.address or (
            isinstance(term, Call) and term.function in _TEXTS
        )  # fmt: skip

    def joined(term: Term) -> Term:
        if isinstance(term, Call) and term.function == "f_sha1" and isinstance(term.args[0], Call):
            inner = term.args[0]
            if inner.function == "+":
                return replace(term, args=(replace(inner, function=CAT_ALL),))
        if isinstance(term, Call) and term.function == "+" and any(map(is_text, term.args)):
            return replace(term, function=CAT_ALL)
        return term

    body: list[Literal] = []
    for part in rule.body:
        part = rebuild_literal(part, joined)
        if isinstance(part, Comparison) and isinstance(part.left, Variable) and is_text(part.right):
            texts.add(part.left.name)
        body.append(part)
    return replace(rule, body=tuple(body))


# ------------------------------------------------------------------ numbers of columns


def _apart(program: Program, is_function: Callable[[str], bool]) -> Program:
    """Relations of one name and several arities: the stored one, or the first, keeps the name."""
    arities: dict[str, dict[int, None]] = {}
    for atom in _mentioned(program):
        if atom.relation == PERIODIC or not is_function(atom.relation):
            arities.setdefault(atom.relation, {})[len(atom.args)] = None
    keys = {table.relation: max(table.keys, default=-1) for table in program.tables}
    kept: dict[str, int] = {}
    for name, found in arities.items():
        fitting = [arity for arity in found if arity > keys.get(name, -1)]
        kept[name] = (fitting or list(found))[0]
    if all(len(found) == 1 for found in arities.values()):
        return program

    def renamed(atom: Atom) -> Atom:
        arity = len(atom.args)
        if kept.get(atom.relation, arity) == arity:
            return atom
        return replace(atom, relation=f"{atom.relation}/{arity}")

    def literal(part: Literal) -> Literal:
        if isinstance(part, Positive | Negated):
            return replace(part, atom=renamed(part.atom))
        if isinstance(part, NegatedGroup):
            return replace(part, body=tuple(map(literal, part.body)))
        if isinstance(part, Disjunction):
            return replace(part, alternatives=tuple(tuple(map(literal, a)) for a in part.alternatives))
        return part

    rules = tuple(
        replace(rule, heads=tuple(map(renamed, rule.heads)), body=tuple(map(literal, rule.body)))
        for rule in program.rules
    )
    return replace(program, rules=rules)


def _mentioned(program: Program) -> Iterator[Atom]:
    for rule in program.rules:
        yield from rule.heads
        for atom, _ in atoms(rule.body):
            yield atom
