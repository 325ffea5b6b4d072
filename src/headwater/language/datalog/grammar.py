"""The grammar as a parser: made once for a version of the grammar and of lark, then read from the user's cache."""

from __future__ import annotations

import hashlib
import io
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cache import cache_folder, write_whole

if TYPE_CHECKING:
    from lark import Lark

TEXT = Path(__file__).with_name("grammar.lark")


@cache
def grammar() -> Lark:
    """The parser, got when the first text is read."""
    return parser_of(TEXT.read_text(encoding="utf-8"))


def parser_of(text: str) -> Lark:
    """The parser of a grammar, from the cache if it was made before."""
    import lark

    versions = f"{lark.__version__} {sys.version}\n"
    name = f"grammar-{hashlib.sha256((versions + text).encode()).hexdigest()[:16]}"
    return saved_grammar(cache_folder() / name) or made_grammar(text, cache_folder() / name)


def saved_grammar(path: Path) -> Lark | None:
    """The parser as it was saved, which takes a tenth of the time; `None` if it was not, or not well."""
    from lark import Lark

    try:
        with path.open("rb") as stream:
            return Lark.load(stream)
    except Exception:  # whatever a damaged file may lead to, another can be made
        return None


def made_grammar(text: str, path: Path) -> Lark:
    """The parser made from the grammar, and saved where that is possible."""
    from lark import Lark

    made = Lark(text, parser="lalr", propagate_positions=True, maybe_placeholders=False)
    contents = io.BytesIO()
    made.save(contents)
    with suppress(OSError):
        write_whole(path, contents.getvalue())
    return made
