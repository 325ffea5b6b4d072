"""What other dialects of NDlog write, refused by its name: SeNDlog, JOL, P2 with secrets and references, weights of
rules, deletions as events."""

from __future__ import annotations

import re

from headwater.errors import LanguageError
from headwater.language.datalog.stuck import Stuck

_SAID = ("says", "encrypts", "signs")
_NUMBER = re.compile(r"\d+(\.\d+)?")


def of_networks(stuck: Stuck) -> LanguageError | None:
    """Parts of other dialects of NDlog."""
    found, previous, statement = stuck.found, stuck.previous, stuck.statement
    said = next((word for word in (found, previous) if word is not None and str(word) in _SAID), None)
    if said is not None:
        hint = "write who says it as a column, and where it lives with @: advertise(@Z, X, Y, P)"
        return _refused(stuck, f"who says something ({said}, of SeNDlog) is not supported", hint)
    written = [str(word) for word in statement]
    if found == "<" and "says" in written:
        hint = "write who says it as a column: parent(@N, A, Who)"
        return _refused(
            stuck, "who says something (says(...) <...>, of P2's secure dialect) is not supported", hint
        )
    if found == "<" and previous is not None and str(previous) == "new":
        hint = "make a number for the new row, and write it as a column: Id := f_idgen()"
        return _refused(stuck, "rows that refer to others (new<...>, of P2) are not supported", hint)
    begins = found == ";" and written[:1] == ["program"] and len(written) == 2
    if begins or written[:2] == ["define", "("] and "{" in written:
        hint = "write materialize(t, infinity, infinity, keys(1)). for define, and end rules with full stops"
        return _refused(stuck, "this is the language of JOL (program x; define(t, keys(0), {...});)", hint)
    if found == ":" and [str(word) for word in statement][:1] == ["At"] and len(statement) == 2:
        hint = "mark the address in every atom: route(@Z, X, P)"
        return _refused(stuck, f"a context for rules (At {previous}:, of SeNDlog) is not supported", hint)
    if previous is not None and str(previous) == "delete" and any(word.type == "IF" for word in statement):
        hint = "state that a row expires or is deleted by an event of its own, which deletes it and says so"
        return _refused(stuck, "a deletion as an event (delete in a body) is not supported", hint)
    if len(statement) == 1 and statement[0].type == "IDENT" and _NUMBER.fullmatch(found) and _weighs(stuck):
        hint = "leave the weight out; db.evaluate(view, annotation) gives rows what their derivations weigh"
        return _refused(stuck, "a weight of a rule, behind its label, is not supported", hint)
    return None


def _weighs(stuck: Stuck) -> bool:
    """Whether a head follows behind a number."""
    behind = stuck.source.text[stuck.start :]
    return re.match(r"\d+(\.\d+)?\s+[A-Za-z_]\w*\s*\(", behind) is not None


def _refused(stuck: Stuck, message: str, hint: str) -> LanguageError:
    return LanguageError("unsupported", message, place=stuck.place, hint=hint)
