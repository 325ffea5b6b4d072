"""Datalog text to `Program`: NDlog as in Loo et al. 2006 section 2, and the everyday core of Souffle.

>>> program = parse("reach(X, Y) :- link(X, Z), reach(Z, Y).")
>>> program.rules[0].heads[0].relation
'reach'

The text is only read. Whether its rules are safe, well typed and stratified is for `headwater.rules` to say.
"""

from __future__ import annotations

from pathlib import Path

from headwater.language.datalog.comments import blank_comments
from headwater.language.datalog.facts import take_facts
from headwater.language.datalog.grammar import grammar
from headwater.language.datalog.namespaces import take_namespaces
from headwater.language.datalog.nesting import refuse_deep
from headwater.language.datalog.plain_rules import plain_rule
from headwater.language.datalog.preprocess import preprocess
from headwater.language.datalog.quoted import double_quoted
from headwater.language.datalog.statements import StatementReader
from headwater.language.program import Program
from headwater.language.source import SourceText


def parse(text: str, source: str = "<text>", *, folder: Path | None = None) -> Program:
    """What `text` says; `source` names it in errors, and files that it includes are looked for in `folder`.

    The program's text is the one after `preprocess`: it needs no other file. Raises `LanguageError` at the first
    thing that is not in the language.
    """
    plain = plain_rule(SourceText(source, text))
    return _parsed(text, source, folder) if plain is None else plain


def _parsed(text: str, source: str, folder: Path | None) -> Program:
    """What any text says, by the grammar."""
    # Imported here: reading lark takes longer than all else in this package.
    from lark.exceptions import UnexpectedInput

    from headwater.language.datalog.slips import explain

    text = preprocess(text.removeprefix("\ufeff"), source, folder=folder)
    where = SourceText(source, text)
    blanked = blank_comments(where)
    flat, spaces = take_namespaces(double_quoted(blanked))
    rest, facts = take_facts(flat)
    refuse_deep(where, rest)
    try:
        tree = grammar().parse(rest)
    except UnexpectedInput:
        raise explain(where, rest, grammar()) from None
    return StatementReader(where, blanked, tree, facts, spaces).program()
