"""A text that is no SQL: which word was probably meant to be a keyword.

sqlglot says where it could not go on, which is some words after a keyword that it took for a name.

>>> misspelled("SELEC brand FROM sales", 16)
(0, 'SELEC', 'SELECT')
>>> misspelled("SELECT brand FROM sales GROPU BY brand", 33)
(24, 'GROPU', 'GROUP')
>>> misspelled("SELECT brand FROM sales sales sales", 35)
"""

from __future__ import annotations

import difflib
import re

KEYWORDS = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "JOIN", "INNER", "LEFT",
    "RIGHT", "OUTER", "CROSS", "UNION", "EXCEPT", "INTERSECT", "WITH", "BETWEEN", "EXISTS", "USING", "LIKE", "NULL",
    "CASE",
    "WHEN", "THEN", "ELSE", "VALUES", "DESC",
)  # fmt: skip
"""Those of four letters and more: shorter ones are like too many words."""
WORDS_BEFORE = 3
"""So far before the place where a text cannot be read on, the word may be."""
LIKENESS = 0.75
"""How alike two words must be, at least, as `difflib` measures it."""


def misspelled(text: str, end: int) -> tuple[int, str, str] | None:
    """Where a word is, that word, and the keyword it looks like most: of the last words before `end`."""
    words = [found for found in re.finditer(r"'[^']*'|\"[^\"]*\"|[A-Za-z_]+", text) if found.start() < end]
    best: tuple[float, tuple[int, str, str]] | None = None
    for found in words[-WORDS_BEFORE - 1 :]:
        word = found.group()
        if word[0] in "'\"" or word.upper() in KEYWORDS:
            continue
        for keyword in difflib.get_close_matches(word.upper(), KEYWORDS, n=1, cutoff=LIKENESS):
            likeness = difflib.SequenceMatcher(None, word.upper(), keyword).ratio()
            if best is None or likeness > best[0]:
                best = likeness, (found.start(), word, keyword)
    return None if best is None else best[1]
