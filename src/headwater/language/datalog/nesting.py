"""How deeply a text may nest brackets.

Below this bound, everything that follows a text may call itself once or a few times a bracket. Chains of operators
are not nested, and may have any length.
"""

from __future__ import annotations

import re

from headwater.errors import LanguageError
from headwater.language.source import SourceText

MOST_BRACKETS = 64

_BRACKET = re.compile(r'"(?:\\.|[^"\\\n])*"|[(\[{]|[)\]}]|\.(?=\s)')


def refuse_deep(source: SourceText, blanked: str) -> None:
    """Raise `LanguageError` at the first bracket that is inside too many others. A full stop closes all."""
    depth = 0
    for match in _BRACKET.finditer(blanked):
        found = match[0]
        if found == ".":
            depth = 0
        elif found in ")]}":
            depth = max(0, depth - 1)
        elif found in "([{":
            depth += 1
            if depth > MOST_BRACKETS:
                raise LanguageError(
                    "too-deep",
                    f"brackets are nested too deeply: more than {MOST_BRACKETS} are open here",
                    place=source.place(match.start(), match.end()),
                    hint="name the inner parts with variables, or relations, of their own",
                )
