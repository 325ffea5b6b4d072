"""A text that is being read: where its nodes stand, and refusing what stands there."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.errors import Place, SqlError
from headwater.language.source import SourceText
from headwater.language.sql.needed import exp


class SqlText:
    """A text in a dialect, and the places of the nodes that sqlglot made of it."""

    def __init__(self, source: SourceText, dialect: str):
        self.source = source
        self.dialect = dialect

    def place(self, node: exp.Expr | None) -> Place | None:
        """From the first to the last word of a node; of nodes without words of their own, what is above them."""
        while node is not None:
            words = [each.meta for each in node.walk() if "start" in each.meta]
            if words:
                start = min(word["start"] for word in words)
                return self.source.place(start, max(word["end"] for word in words) + 1)
            node = node.parent
        return None

    def words(self, node: exp.Expr) -> str:
        """A node as the dialect writes it."""
        return node.sql(dialect=self.dialect)

    def refuse(self, code: str, message: str, node: exp.Expr | None, hint: str | None = None) -> SqlError:
        """The error that points at a node."""
        return SqlError(code, message, place=self.place(node), hint=hint)

    def unsupported(self, what: str, node: exp.Expr | None, hint: str | None = None) -> SqlError:
        """The error about what is SQL and not known here."""
        return self.refuse("unsupported-sql", f"{what} is not supported", node, hint)

    def only(self, node: exp.Expr, known: Iterable[str]) -> None:
        """Refuse a node that has other parts than the known ones, so that none is passed over."""
        for name, value in node.args.items():
            if value and name not in known and not name.startswith("_"):
                at = value if isinstance(value, exp.Expr) else node
                if isinstance(value, list) and value and isinstance(value[0], exp.Expr):
                    at = value[0]
                said = at.key if at is not node else name
                raise self.unsupported(said.strip("_").replace("_", " ").upper(), at)
