"""The names of types in a text: the built-in ones and those that `.type` gives to others.

A name stands for one built-in type. Order does not matter: a name may be used above its definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.errors import LanguageError
from headwater.language.datalog import constants
from headwater.language.datalog.nesting import MOST_BRACKETS
from headwater.language.datalog.trees import end_of, start_of, trees, words
from headwater.language.source import SourceText
from headwater.values.types import INT, STRING, TYPES_IN_WORDS, Type, parse_type, struct_of

if TYPE_CHECKING:
    from lark import Token, Tree

NULLABLE = "?"
OPEN = ("_", "any")
"""Written in place of a type, these leave it open."""


class TypeNames:
    """Resolves the types of columns through the `.type` statements of a text."""

    def __init__(self, source: SourceText, aliases: list[Tree[Token]]):
        """Read the `.type` statements; refuse those that do not come down to a built-in type."""
        self.source = source
        self._parts: dict[str, list[Tree[Token]]] = {}
        self._resolved: dict[str, Type | None] = {}
        for alias in aliases:
            keyword, name = (str(child) for child in alias.children if isinstance(child, str))
            if keyword == ".number_type":
                self._resolved[name] = INT
            elif not trees(alias):
                self._resolved[name] = STRING
            else:
                self._parts[name] = trees(alias)
        for name, parts in self._parts.items():
            self._alias(name, parts[0], ())

    def column(self, node: Tree[Token]) -> tuple[Type | None, bool]:
        """The type of a column, and whether it is marked to take nulls, as `int?` is."""
        return self.resolve(node), str(node.children[-1]).endswith(NULLABLE)

    def resolve(self, node: Tree[Token], within: tuple[str, ...] = ()) -> Type | None:
        """The built-in type that a written type stands for; `None` where it is left open."""
        parts = trees(node)
        if parts and parts[0].data == "record_type":
            return self._record(parts[0], within)
        name, *digits = (word for word in words(node) if word.type != "NULLABLE")
        if parts:
            return self._of_parts(node, str(name), [self.resolve(part, within) for part in parts])
        if digits:
            return self._decimal(node, str(name), [str(each) for each in digits])
        return self._named(node, str(name).removesuffix(NULLABLE), within)

    def _named(self, node: Tree[Token], name: str, within: tuple[str, ...]) -> Type | None:
        if name in self._resolved:
            return self._resolved[name]
        if name in self._parts:
            return self._alias(name, node, within)
        if name in OPEN:
            return None
        builtin = parse_type(name)
        if builtin is None:
            raise self._refuse(
                node,
                f"there is no type {name}",
                f"types are {TYPES_IN_WORDS}; or define it: .type {name} <: symbol",
            )
        return builtin

    def _of_parts(self, node: Tree[Token], name: str, parts: list[Type | None]) -> Type:
        wanted = {"list": 1, "map": 2}.get(name)
        if wanted is None:
            raise self._refuse(node, f"{name} takes no type of elements", "only list and map do: list[int]")
        if wanted != len(parts):
            raise self._refuse(node, f"{name} takes {wanted} types", "write list[int] or map[string, int]")
        return Type(name, tuple(parts))

    def _decimal(self, node: Tree[Token], name: str, digits: list[str]) -> Type:
        found = parse_type(f"{name}({','.join(digits)})")
        if found is None:
            hint = "write decimal(12,2): 12 digits in all, at most 38, of which 2 after the point"
            raise self._refuse(node, f"there is no type {name}({','.join(digits)})", hint)
        return found

    def _record(self, node: Tree[Token], within: tuple[str, ...]) -> Type:
        fields: dict[str, Type | None] = {}
        for field in trees(node):
            word = words(field)[0]
            name = self._field_name(word)
            if name in fields:
                raise self._refuse(field, f"the field {name} is there twice", "fields have different names")
            fields[name] = self.resolve(trees(field)[0], within)
        return struct_of(fields)

    def _field_name(self, word: Token) -> str:
        try:
            return constants.string(word) if word.type == "STRING" else str(word)
        except ValueError as error:
            place = self.source.place(start_of(word), end_of(word))
            raise LanguageError("constant", str(error), place=place) from None

    def _alias(self, name: str, node: Tree[Token], within: tuple[str, ...]) -> Type | None:
        if name in within:
            raise self._refuse(node, f"the type {name} is defined by itself", "define it by a built-in type")
        if len(within) >= MOST_BRACKETS:
            message = f"{name} is a name of a name, and so on, more than {MOST_BRACKETS} times"
            raise self._refuse(node, message, "define it by a built-in type")
        first, *others = self._parts[name]
        type_ = self.resolve(first, (*within, name))
        for other in others:
            found = self.resolve(other, (*within, name))
            if found != type_:
                raise self._refuse(
                    other, f"{name} mixes {type_} and {found}", "the parts of a union share one built-in type"
                )
        self._resolved[name] = type_
        return type_

    def _refuse(self, node: Tree[Token], message: str, hint: str) -> LanguageError:
        place = self.source.place(start_of(node), end_of(node))
        return LanguageError("unknown-type", message, place=place, hint=hint)
