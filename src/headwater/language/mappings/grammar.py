"""The grammars of mappings and of trust conditions: values and conditions are those of Datalog.

Each is Datalog's grammar with other statements at the top; so terms are read by the same reader.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from headwater.language.datalog.grammar import TEXT, parser_of

if TYPE_CHECKING:
    from lark import Lark

_MAPPINGS = """
start: mapping*
mapping: label? premises ARROW conclusion _DOT
premises: _literal ("," _literal)*
conclusion: exists? _literal ("," _literal)*
exists: EXISTS IDENT ("," IDENT)* _COLON?
ARROW.4: /->|→/
EXISTS.4: /exists\\b(?=\\s*[^\\W\\d])|∃/
"""
_POLICY = """
start: condition*
condition: STANCE call? origin* bound? guard? (rank | rating)? _DOT
origin: FROM (IDENT | call) | VIA IDENT
guard: WHERE _literal ("," _literal)*
bound: SIDE rating
rating: SCALE (INT | FLOAT | IDENT | STRING)
rank: PRIORITY INT
STANCE.4: /(?:dis)?trust\\b/
FROM.4: /from\\b/
VIA.4: /(?:by|through)\\b/
WHERE.4: /if\\b/
PRIORITY.4: /priority\\b/
SIDE.4: /(?:below|above)\\b/
SCALE.4: /(?:confidence|clearance)\\b/
"""
_QUALIFIED = """
QUALIFIED.4: /[^\\W\\d]\\w*\\.[^\\W\\d]\\w*(?=\\s*\\()/
"""
_STATEMENTS = "start: _statement*"
_CALL = 'call: HASH? IDENT located? "("'


@cache
def mappings_grammar() -> Lark:
    """The parser of mappings."""
    return _with_statements(_MAPPINGS)


@cache
def policy_grammar() -> Lark:
    """The parser of trust conditions."""
    return _with_statements(_POLICY)


def _with_statements(statements: str) -> Lark:
    text = TEXT.read_text(encoding="utf-8")
    assert _STATEMENTS in text and _CALL in text
    text = text.replace(_STATEMENTS, statements).replace(_CALL, 'call: HASH? (IDENT | QUALIFIED) "("')
    return parser_of(text + _QUALIFIED)
