"""Syntax errors in plain words, with a hint for each common slip.

`SLIPS` is tried in order; each is a function from where the parser was stuck to an error or `None`. A text
that fits none gets what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.errors import LanguageError
from headwater.language.datalog.network_slips import of_networks
from headwater.language.datalog.operators import AGGREGATES
from headwater.language.datalog.stuck import Stuck, find_stuck
from headwater.language.source import SourceText
from headwater.spelling import did_you_mean

if TYPE_CHECKING:
    from lark import Lark

_UNSUPPORTED = {
    ".comp": ("components", "write the relations and rules of the component out"),
    ".init": ("components", "write the relations and rules of the component out"),
    ".limitsize": (
        "limits of size",
        "leave it out; materialize(relation, infinity, size, keys(...)) bounds a table",
    ),
    ".lattice": ("lattices", "use min<X> or max<X> in the head"),
    ".override": ("components", "write the relations and rules of the component out"),
}
_SPELLINGS = {
    "=<": "<=",
    "=>": ">=",
    "\\=": "!=",
    "\\==": "!=",
    "=\\=": "!=",
    "/=": "!=",
    "is": "=",
    "IS": "is",
    "&": ",",
    "and": ",",
    "AND": ",",
    "|": ";",
    "or": ";",
    "OR": ";",
    "~": "!",
}
_ACTIVE = "on +alarm(X, Y), X > 3 do insert ticket(X, Y)."
_ACTIONS = ("insert", "delete", "call", "append", "run", "refuse")
_SQL = ("select", "create", "insert", "with", "update", "alter")
_ARROWS = ("<-", "<--", "->", "-->", "=>", "<=", "=", ":", "==>", "←", "⇐", ":=", "if", "where")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def explain(source: SourceText, blanked: str, grammar: Lark) -> LanguageError:
    """The error to show for a text that the grammar does not take."""
    stuck = find_stuck(source, blanked, grammar)
    for slip in SLIPS:
        error = slip(stuck)
        if error is not None:
            return error
    return _error(stuck)


def _error(
    stuck: Stuck, hint: str | None = None, message: str | None = None, code: str = "syntax"
) -> LanguageError:
    return LanguageError(code, message or stuck.message(), place=stuck.place, hint=hint)


def unsupported(stuck: Stuck) -> LanguageError | None:
    """Parts of Souffle and NDlog that are known and not read."""
    found, statement = stuck.found, stuck.statement
    if found in _UNSUPPORTED:
        what, hint = _UNSUPPORTED[found]
        return _error(stuck, hint, f"{what} ({found}) are not supported", "unsupported")
    if statement and statement[0].type == "TYPE" and found in ("[", "{"):
        what, hint = ("records", "give the relation a column for each field")
        if found == "{":
            what, hint = ("algebraic data types", "use a relation for each of the branches")
        return _error(stuck, hint, f"{what} are not supported", "unsupported")
    if found == "$":
        hint = "number rows with data of your own; use a relation for each branch of a data type"
        return _error(stuck, hint, "counters and branches ($) are not supported", "unsupported")
    if found == "in" and "COMPARE" in stuck.accepts:
        return _error(stuck, "an interval of a ring is written K in (N, S], with ( or [ and ) or ]")
    if found == "<=" and stuck.at_head:
        hint = "to keep the best row of a group use min<X> or max<X> in the head"
        return _error(stuck, hint, "subsumption (head <= head) is not supported", "unsupported")
    return None


def active(stuck: Stuck) -> LanguageError | None:
    """An active rule without its words, or with others."""
    previous, kinds = stuck.previous, [token.type for token in stuck.statement]
    if "ROWS_ACTION" in stuck.accepts:
        meant = did_you_mean(stuck.found, _ACTIONS)
        hint = f"an action is one of {', '.join(_ACTIONS)}"
        return _error(stuck, hint if meant is None else f"{meant} {hint[0].upper()}{hint[1:]}")
    if previous is not None and previous.type == "TEXT_ACTION":
        return _error(stuck, f"{previous} takes a text: do {previous} '...'")
    if previous is not None and stuck.found in ("+", "-") and len(kinds) == 1 and previous.type == "IDENT":
        return _error(stuck, f"an active rule is written: {_ACTIVE}")
    if stuck.at_head and stuck.found == "do":
        return _error(stuck, f"an active rule is written: {_ACTIVE}")
    if "ON" not in kinds or "DO" in kinds:
        return None
    if previous == "," and stuck.found in ("+", "-"):
        return _error(stuck, "a rule has one event; what follows are conditions, without a sign")
    if previous is not None and stuck.found in (*_ACTIONS, ":-", "then", "=>", "->", "if", "when", "where"):
        hint = f"conditions follow after commas, and the action after 'do': {_ACTIVE}"
        return _error(stuck, hint)
    return None


def directive(stuck: Stuck) -> LanguageError | None:
    """A directive that does not exist, has a full stop, or declares columns without types."""
    statement = stuck.statement
    if not statement and stuck.found.startswith(".") and len(stuck.found) > 1:
        known = ".decl, .input, .output, .printsize and .type"
        return _error(stuck, f"there are {known}", f"there is no directive {stuck.found}")
    if not statement or not statement[0].startswith("."):
        return None
    if stuck.found == "." and not stuck.open_brackets:
        return _error(stuck, f"{statement[0]} ends without a full stop: leave it out")
    if statement[0].type == "DECL" and "_COLON" in stuck.accepts:
        return _error(stuck, "give each column a type: .decl link(src: symbol, cost: number)")
    return None


def sql(stuck: Stuck) -> LanguageError | None:
    """Another language altogether."""
    first = stuck.statement[0] if stuck.statement else stuck.found
    if first.lower() in _SQL and stuck.found != "(":
        return _error(stuck, "rules are Datalog: reach(X, Y) :- link(X, Y).")
    return None


def comment(stuck: Stuck) -> LanguageError | None:
    """A comment in another language's way."""
    statement = stuck.statement
    if not statement and stuck.found.startswith("--"):
        return _error(stuck, "comments start with // or %")
    if statement and statement[0].type == "HASH" and "OPEN_ROUND" in stuck.accepts:
        return _error(stuck, "comments start with // or %; # marks a link literal, as in #link(@S, @D)")
    percent = next((token for token in reversed(statement) if token == "%"), None)
    if percent is not None and stuck.source.line_of(percent.start_pos or 0) == stuck.source.line_of(
        stuck.start
    ):
        return _error(stuck, "after a value % is the remainder; for a comment here use //")
    return None


def arrow(stuck: Stuck) -> LanguageError | None:
    """Something else where `:-` belongs."""
    if stuck.at_head and stuck.found in _ARROWS:
        return _error(stuck, f"between head and body write ':-', not '{stuck.found}'")
    return None


def brackets(stuck: Stuck) -> LanguageError | None:
    """A bracket that is not closed, or not open."""
    opened = stuck.open_brackets
    if stuck.found in _CLOSED_BY.values() and not opened:
        return _error(stuck, f"nothing is open that this '{stuck.found}' could close")
    if not opened:
        return None
    line, column = stuck.source.place(opened[-1].start_pos or 0, 0).line, opened[-1].column
    closing = _CLOSED_BY[opened[-1]]
    if stuck.found in _CLOSED_BY.values() and stuck.found != closing:
        return _error(stuck, f"the '{opened[-1]}' of line {line}, column {column} is closed by '{closing}'")
    if stuck.found in ("", ".", ":-", "?-"):
        return _error(
            stuck,
            f"the '{opened[-1]}' of line {line}, column {column} is not closed: is a '{closing}' missing?",
        )
    return None


def aggregate(stuck: Stuck) -> LanguageError | None:
    """An aggregate of more than a variable in a head, or one of a head's in a body."""
    previous = stuck.previous
    if stuck.found == "*" and [token.lower() for token in stuck.statement[-2:]] == ["count", "("]:
        return _error(stuck, "an aggregate of a head is written count<*>, in a body N = count : { ... }")
    if previous is None or stuck.found not in ("<", "<>", ">") or "COMPARE" in stuck.accepts:
        return None
    if "IF" in (token.type for token in stuck.statement):
        if previous.lower().removeprefix("a_") in AGGREGATES:
            return _error(stuck, "min<X> stands in a head; in a body write N = min X : { ... }")
        return None
    if stuck.open_brackets:
        return _error(
            stuck, "an aggregate in a head is count<*>, or sum, min, max, avg, list of one variable: min<C>"
        )
    return None


def spelling(stuck: Stuck) -> LanguageError | None:
    """Another language's word for something that exists here."""
    previous = stuck.previous
    joined = f"{previous}{stuck.found}"
    if previous is not None and previous.end_pos == stuck.start and joined in _SPELLINGS:
        error = _error(stuck, f"write '{_SPELLINGS[joined]}'")
        error.message = f"found '{joined}', expected a comparison"
        error.place = stuck.source.place(previous.start_pos or 0, stuck.start + len(stuck.found))
        return error
    if stuck.found in _SPELLINGS:
        return _error(stuck, f"write '{_SPELLINGS[stuck.found]}' instead of '{stuck.found}'")
    return None


def relation(stuck: Stuck) -> LanguageError | None:
    """A relation without parentheses, or with its location in front of them."""
    previous = stuck.previous
    if previous is None or previous.type != "IDENT" or "OPEN_ROUND" not in stuck.accepts:
        return None
    if stuck.found == "@":
        return _error(stuck, f"the location is the first argument: {previous}(@S, ...)")
    if len(stuck.statement) == 1 and stuck.found in (":-", ".", ",", ""):
        return _error(stuck, f"a relation without columns is written {previous}()")
    return None


def number(stuck: Stuck) -> LanguageError | None:
    """Digits that run into letters."""
    if stuck.found[:1].isdigit():
        return _error(
            stuck, "names start with a letter, numbers have only digits; is this a string without quotes?"
        )
    return None


def full_stop(stuck: Stuck) -> LanguageError | None:
    """A statement that runs into the next, or into the end."""
    if "_DOT" not in stuck.accepts or not stuck.on_new_line or (stuck.found and not _new_statement(stuck)):
        return None
    what = "fact" if stuck.at_head else "rule"
    hint = f"end the {what} with '.'" + (
        ", or put ':-' before its body" if stuck.at_head and stuck.found else ""
    )
    error = _error(stuck, hint)
    error.place = stuck.place_behind
    return error


def _new_statement(stuck: Stuck) -> bool:
    """Whether the word found, first on its line, is no further in than the statement before it."""
    first = stuck.source.place(stuck.statement[0].start_pos or 0, 0)
    return stuck.place.column <= first.column


def missing_word(stuck: Stuck) -> LanguageError | None:
    """Two things side by side that a `:-` or a comma should part."""
    if not stuck.starts_value():
        return None
    if stuck.at_head:
        return _error(stuck, "put ':-' between the head and the body, or '.' after a fact")
    if "COMMA" in stuck.accepts:
        return _error(stuck, "is a ',' missing before it?")
    return None


def surplus_comma(stuck: Stuck) -> LanguageError | None:
    """A comma with nothing behind it."""
    if stuck.previous == "," and stuck.found in (")", ".", "]", "}", ":-", ";", ","):
        return _error(stuck, "leave out the ',' before it, or write what is missing")
    return None


def second_arrow(stuck: Stuck) -> LanguageError | None:
    """A rule that runs into the next over a comma."""
    if stuck.found == ":-" and "IF" in (token.type for token in stuck.statement):
        return _error(stuck, "a rule has one ':-'; does the rule before this one end with '.'?")
    return None


def unfinished(stuck: Stuck) -> LanguageError | None:
    """A text that ends in the middle."""
    if not stuck.found and stuck.statement:
        return _error(stuck, "the last statement is not finished")
    return None


SLIPS: tuple[Callable[[Stuck], LanguageError | None], ...] = (
    unsupported,
    of_networks,
    active,
    sql,
    directive,
    comment,
    arrow,
    brackets,
    aggregate,
    spelling,
    relation,
    full_stop,
    second_arrow,
    surplus_comma,
    missing_word,
    number,
    unfinished,
)
