"""Comments are blanked, so that every other character keeps its line and column.

`//` and `/* */` always start a comment. `%` does, unless a value ends just before it on the same line: there
it is the remainder, as in `X % 2`. So `%` after a full stop, a comma, or first on its line starts a comment.

>>> blank_comments(Source("t", 'even(X) :- n(X), 0 = X % 2.  % two'))
'even(X) :- n(X), 0 = X % 2.       '
>>> blank_comments(Source("t", 'a("// no"). // yes'))
'a("// no").       '

What can only be seen at this level is refused here: a string or comment that does not end, strings in single
quotes, and the C preprocessor's lines.
"""

from __future__ import annotations

import re

from headwater.errors import LanguageError
from headwater.language.source import Source

_INTERESTING = re.compile(
    r'(?P<string>"(?:\\.|[^"\\\n])*")'
    r'|(?P<open_string>")'
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)"
    r"|(?P<open_block>/\*)"
    r"|(?P<percent>%[^\n]*)"
    r"|(?P<quote>'(?:[^'\n]*')?)"
    r"|(?P<preprocessor>^[ \t]*\#[ \t]*"
    r"(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|error|line|pragma)\b(?!\s*\()[^\n]*)",
    re.DOTALL | re.MULTILINE,
)
_VALUE_ENDS = re.compile(r"[\w)\]}\"?]")


def blank_comments(source: Source) -> str:
    """The text with every comment turned into spaces; lines stay as they are."""
    text = source.text
    characters = list(text)
    position = 0
    while (match := _INTERESTING.search(text, position)) is not None:
        kind = match.lastgroup
        position = match.end()
        if kind == "string":
            continue
        if kind == "percent" and _value_ends_before(characters, match.start()):
            position = match.start() + 1
            continue
        if kind in ("line", "block", "percent"):
            characters[match.start() : match.end()] = re.sub(r"[^\n]", " ", match.group())
            continue
        raise _refusal(source, kind or "", match)
    return "".join(characters)


def _value_ends_before(characters: list[str], position: int) -> bool:
    """Whether a value ends before `position` on its line, with at most blanks and comments between."""
    while position > 0 and characters[position - 1] in " \t":
        position -= 1
    return position > 0 and _VALUE_ENDS.match(characters[position - 1]) is not None


def _refusal(source: Source, kind: str, match: re.Match[str]) -> LanguageError:
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
    if kind == "quote":
        return LanguageError(
            "syntax",
            "found a single quote, expected a value",
            place=source.place(start, match.end()),
            hint='strings are written in double quotes: "..."',
        )
    line = match.group()
    start += len(line) - len(line.lstrip())
    return LanguageError(
        "unsupported",
        f"{line.split('#', 1)[1].split()[0]!r} is a line for the C preprocessor, which is not run here",
        place=source.place(start, match.end()),
        hint="run the preprocessor first (cpp -P program.dl), or write the rules out in this text; "
        "a link literal is #link(...)",
    )
