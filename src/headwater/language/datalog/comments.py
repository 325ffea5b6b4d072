"""Comments are blanked, so that every other character keeps its line and column.

`//` and `/* */` always start a comment. `%` does, unless a value ends just before it on the same line: there
it is the remainder, as in `X % 2`. So `%` after a full stop, a comma, or first on its line starts a comment.

>>> blank_comments(SourceText("t", 'even(X) :- n(X), 0 = X % 2.  % two'))
'even(X) :- n(X), 0 = X % 2.       '
>>> blank_comments(SourceText("t", 'a("// no"). // yes'))
'a("// no").       '

`#line` lines, which say where the next line came from, are blanked too. What can only be seen at this level is
refused here: a string or comment that does not end, strings in single quotes outside of active rules.
"""

from __future__ import annotations

import re

from headwater.errors import LanguageError
from headwater.language.datalog.quoted import STRING, ActiveStatements
from headwater.language.source import SourceText

_INTERESTING = re.compile(
    rf"(?P<string>{STRING})"
    r'|(?P<open_string>")'
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)"
    r"|(?P<open_block>/\*)"
    r"|(?P<percent>%[^\n]*)"
    r"|(?P<quote>'(?:(?:\\.|[^'\\\n])*')?)"
    r"|(?P<marker>^\#(?:line)?[ \t]+\d[^\n]*)"
    r"|(?P<message>^[ \t]*\#[ \t]*(?:error|pragma)\b(?!\s*\()[^\n]*)",
    re.DOTALL | re.MULTILINE,
)
_VALUE_ENDS = re.compile(r"[\w)\]}\"?]")


def blank_comments(source: SourceText, *, directives: bool = False) -> str:
    """The text with every comment turned into spaces; lines stay as they are.

    With `directives`, it is for the preprocessor: `#line`, `#error` and `#pragma` lines stay.
    """
    text = source.text
    characters = list(text)
    position = 0
    active = ActiveStatements()
    while (match := _INTERESTING.search(text, position)) is not None:
        kind = match.lastgroup
        position = match.end()
        if kind == "string" or (directives and kind in ("marker", "message")):
            continue
        if kind == "percent" and _value_ends_before(characters, match.start()):
            position = match.start() + 1
            continue
        if kind in ("line", "block", "percent", "marker"):
            characters[match.start() : match.end()] = re.sub(r"[^\n]", " ", match.group())
            continue
        if kind == "quote" and len(match[0]) > 1 and active.has(characters, match.start()):
            continue
        if kind != "message":
            raise _refusal(source, kind or "", match)
    return "".join(characters)


def _value_ends_before(characters: list[str], position: int) -> bool:
    """Whether a value ends before `position` on its line, with at most blanks and comments between."""
    while position > 0 and characters[position - 1] in " \t":
        position -= 1
    return position > 0 and _VALUE_ENDS.match(characters[position - 1]) is not None


def _refusal(source: SourceText, kind: str, match: re.Match[str]) -> LanguageError:
    start = match.start()
    if kind == "open_string":
        end = source.text.find("\n", start)
        place = source.place(start, end if end >= 0 else len(source.text))
        return LanguageError(
            "syntax",
            "this string does not end on its line",
            place=place,
            hint='close it with " on the same line; write \\n for a line break and \\" for a quote inside it',
        )
    if kind == "open_block":
        return LanguageError(
            "syntax",
            "this comment does not end",
            place=source.place(start, start + 2),
            hint="close it with */",
        )
    return LanguageError(
        "syntax",
        "found a single quote, expected a value",
        place=source.place(start, match.end()),
        hint='strings are written in double quotes: "..."',
    )
