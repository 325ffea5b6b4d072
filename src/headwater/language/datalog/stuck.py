"""Where the parser stood when it could not go on, and what it would have taken, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from headwater.errors import Place
from headwater.language.source import SourceText

if TYPE_CHECKING:
    from lark import Lark, Token

_FOUND = re.compile(
    r"(?:(?<=\s)|\A)\.[A-Za-z_]\w*"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|[\w?]+"
    r"|<-+|-+>|=+>|=<|=\\=|\\=+|\\\+|/=|:-|:=|<=|>=|<>|!=|==|<:|\?-|&&|\|\||--+"
    r"|\S"
)
_STARTERS = {"DECL", "DIRECTIVE", "TYPE", "OLD_TYPE", "FUNCTOR", "PRAGMA", "PLAN"}
_BRACKETS = {"OPEN_ROUND": "CLOSE_ROUND", "OPEN_SQUARE": "CLOSE_SQUARE", "OPEN_CURLY": "CLOSE_CURLY"}
_VALUES = {"IDENT", "INT", "FLOAT", "DATE", "STRING", "OPEN_ROUND", "OPEN_SQUARE", "OPEN_CURLY"}
_WORDS = {
    "OPEN_ROUND": "'('", "CLOSE_ROUND": "')'", "OPEN_SQUARE": "'['", "CLOSE_SQUARE": "']'",
    "OPEN_CURLY": "'{'", "CLOSE_CURLY": "'}'",
    "COMMA": "','", "SEMICOLON": "';'", "_COLON": "':'", "EQUAL": "'='", "SUBTYPE": "'<:'", "BAR": "'|'",
    "IF": "':-'", "_DOT": "'.'", "COMPARE": "a comparison", "IDENT": "a name", "INT": "a number",
    "STRING": "a string", "DATE": "a date", "FIELD": "the name of a field", "WORD": "the rest of a label",
    "DO": "'do'", "ROWS_ACTION": "an action",
}  # fmt: skip


@dataclass(frozen=True)
class Stuck:
    """The words read before, the word found (empty at the end of the text), the terminals that would do."""

    source: SourceText
    read: tuple[Token, ...]
    found: str
    start: int
    accepts: frozenset[str]

    @cached_property
    def statement(self) -> tuple[Token, ...]:
        """What was read of the statement that went wrong."""
        for index in range(len(self.read) - 1, -1, -1):
            if self.read[index].type == "_DOT":
                return self.read[index + 1 :]
            if self.read[index].type in _STARTERS:
                return self.read[index:]
        return self.read

    @cached_property
    def open_brackets(self) -> tuple[Token, ...]:
        """The brackets of this statement that were opened and not closed, outermost first."""
        stack: list[Token] = []
        for token in self.statement:
            if token.type in _BRACKETS:
                stack.append(token)
            elif stack and token.type == _BRACKETS[stack[-1].type]:
                stack.pop()
        return tuple(stack)

    @property
    def previous(self) -> Token | None:
        """The last word read of this statement."""
        return self.statement[-1] if self.statement else None

    @property
    def on_new_line(self) -> bool:
        """Whether the word found starts a line, or there is none."""
        if not self.read:
            return False
        return not self.found or "\n" in self.source.text[self.read[-1].end_pos : self.start]

    @property
    def at_head(self) -> bool:
        """Whether the heads of a clause were just read: `:-` would do."""
        return "IF" in self.accepts

    @property
    def place(self) -> Place:
        """The word found."""
        return self.source.place(self.start, self.start + max(1, len(self.found)))

    @property
    def place_behind(self) -> Place:
        """Just behind the last word read."""
        end = (self.read[-1].end_pos if self.read else None) or 0
        return self.source.place(end, end + 1)

    def starts_value(self) -> bool:
        """Whether the word found could start a value or a condition."""
        return re.match(r'[\w?"!@#(\[]', self.found) is not None

    def message(self) -> str:
        """What was found and what was expected."""
        return f"found {self.found_in_words()}, expected {self.expected()}"

    def found_in_words(self) -> str:
        """The word found, in quotes."""
        if not self.found:
            return "the end of the text"
        found = self.found if len(self.found) <= 30 else self.found[:27] + "..."
        return found if found.startswith('"') else f"'{found}'"

    def expected(self) -> str:
        """What would do, in words."""
        if "DECL" in self.accepts:
            return "the next statement" if self.statement else "a rule, a fact or a declaration"
        left = set(self.accepts)
        if self.previous is not None and self.previous.type == "IDENT":
            left.discard("AT")  # `p@X(X)`, a rare way to say where rows live
        if len(left) > 1 and self.previous is not None and self.previous.type == "IDENT":
            left.discard("OPEN_ROUND")
        words = []
        if left >= _VALUES:
            words.append("a condition" if "NOT" in left else "a value")
            left -= {*_VALUES, "MINUS", "AT", "HASH"}
        words += [word for terminal, word in _WORDS.items() if terminal in left]
        if "OPERATOR" in left and not self.at_head and len(words) < 3:
            words.append("an operator")
        if not words:
            return "something else"
        return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def find_stuck(source: SourceText, blanked: str, grammar: Lark) -> Stuck:
    """Parses a text that does not parse, up to the first word that does not fit."""
    read: list[Token] = []
    start = len(blanked)
    parser = grammar.parse_interactive(blanked)
    try:
        for token in parser.iter_parse():
            read.append(token)
        parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        if error.token.type != "$END":
            start = error.token.start_pos or 0
    except UnexpectedCharacters as error:
        start = error.pos_in_stream or 0
    # The last word may be the one refused, and the parser has then moved: go there again, without it.
    read = [token for token in read if (token.end_pos or 0) <= start]
    parser = grammar.parse_interactive("")
    for token in read:
        parser.feed_token(token)
    while start < len(blanked) and blanked[start].isspace():
        start += 1
    match = _FOUND.match(blanked, start)
    accepts = frozenset(parser.accepts())  # type: ignore[no-untyped-call]
    return Stuck(source, tuple(read), match.group() if match else "", start, accepts)
