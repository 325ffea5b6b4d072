"""Parse trees of values, atoms and conditions become terms and literals.

What the grammar leaves open is settled here: which names are variables, whether a group in parentheses is a
value or a condition, and which calls are constants (`date("2024-01-31")`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.errors import LanguageError, Place
from headwater.language.datalog import constants
from headwater.language.datalog.dialect import HEAD_AGGREGATE, IsVariable
from headwater.language.datalog.expressions import Expression
from headwater.language.datalog.operators import AGGREGATES, COMPARISONS, OPPOSITES
from headwater.language.datalog.quoted import text_of
from headwater.language.datalog.trees import application, end_of, is_word, located, start_of, trees, words
from headwater.language.program import (
    Atom,
    BodyAggregate,
    Call,
    Comparison,
    Constant,
    Disjunction,
    HeadAggregate,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.source import SourceText
from headwater.spelling import misspelt
from headwater.values.literals import LITERALS
from headwater.values.record import FrozenMap, Struct, field_function, record_function
from headwater.values.types import parse_type

if TYPE_CHECKING:
    from lark import Token, Tree

    from headwater.language.datalog.trees import Node

_OTHER_AGGREGATES = {"average": "avg", "total": "sum", "minimum": "min", "maximum": "max", "number": "count"}
_KEYS = "only materialize has such: materialize(path, infinity, infinity, keys(1, 4:list))."
_WORDS: dict[str, object] = {"true": True, "false": False, "nil": (), "null": None}
_CONDITIONS = ("call", "comparison", "nullness", "within", "either", "both", "group", "negation")


@dataclass(frozen=True)
class TermReader:
    """Reads the values and conditions of one statement, whose variables `is_variable` knows."""

    source: SourceText
    is_variable: IsVariable

    def place(self, node: Node) -> Place:
        """Where a node was written."""
        return self.source.place(start_of(node), end_of(node))

    def refuse(self, node: Node, message: str, hint: str = "", code: str = "syntax") -> LanguageError:
        """An error at a node."""
        return LanguageError(code, message, place=self.place(node), hint=hint or None)

    # -------------------------------------------------------------- atoms and conditions

    def atom(self, node: Tree[Token]) -> Atom:
        """`#? relation(terms)`, of a head or a body."""
        link, name, arguments = application(node)
        if name.startswith("?"):
            hint = f"name it: X = {name}(...), or put it among the arguments of a head"
            raise self.refuse(node, f"{name}(...) is a labelled null, which is a value", hint)
        terms = tuple(term for argument in arguments for term in self._argument(argument))
        where = located(node)
        if where is not None:
            terms = self._located(name, where, terms)
        return Atom(name, terms, link, self.place(node))

    def _located(self, name: str, where: Tree[Token], terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """`succ@N(N, S)`: the first argument of this name is the address."""
        address = str(words(where)[1])
        for number, term in enumerate(terms):
            named = term.argument if isinstance(term, HeadAggregate) else term
            if isinstance(named, Variable) and named.name == address:
                assert isinstance(term, HeadAggregate | Variable)
                return (*terms[:number], replace(term, address=True), *terms[number + 1 :])
        hint = f"a row lives at one of its columns, mostly the first argument: {name}(@S, ...)"
        raise self.refuse(where, f"found '@{address}', and {address} is no argument", hint)

    def _argument(self, node: Node) -> tuple[Term, ...]:
        """The terms of an argument: one, but for an aggregate that brings along what belongs to its value."""
        if isinstance(node, str) and node.type == "HEAD_AGGREGATE":
            return self._head_aggregate(node)
        if not isinstance(node, str) and node.data == "aggregate_address":
            (token,) = (word for word in words(node) if word.type == "HEAD_AGGREGATE")
            first, *others = self._head_aggregate(token)
            assert isinstance(first, HeadAggregate)
            return (replace(first, address=True), *others)
        return (self.term(node),)

    def body(self, node: Tree[Token]) -> tuple[Literal, ...]:
        """A conjunction; alternatives become one `Disjunction`."""
        alternatives = tuple(
            tuple(literal for child in conjunction.children for literal in self.literals(child))
            for conjunction in trees(node)
        )
        if len(alternatives) == 1:
            return alternatives[0]
        return (Disjunction(alternatives, self.place(node)),)

    def literals(self, node: Node) -> tuple[Literal, ...]:
        """One condition of a body: mostly one literal, several for a conjunction in parentheses."""
        place = self.place(node)
        if isinstance(node, str):
            if node in ("true", "false"):
                left, right = Constant(node == "true", place=place), Constant(True, place=place)
                return (Comparison("=", left, right, place),)
            hint = f"a relation without columns is written {node}()" if node.type == "IDENT" else ""
            raise self.refuse(node, f"found '{node}', expected a condition", hint)
        if node.data == "call":
            return (Positive(self.atom(node)),)
        if node.data == "group":
            return self.body(trees(node)[0])
        if node.data == "both":
            return tuple(literal for child in node.children for literal in self.literals(child))
        if node.data == "either":
            return (Disjunction(tuple(self.literals(child) for child in node.children), place),)
        if node.data == "within":
            return (self._within(node, place),)
        if node.data == "comparison":
            left_node, op, right_node = node.children
            return (
                Comparison(
                    COMPARISONS.get(str(op), str(op)), self.term(left_node), self.term(right_node), place
                ),
            )
        if node.data == "nullness":
            value, is_null = node.children
            test = "is not" if "not" in str(is_null).split() else "is"
            return (Comparison(test, self.term(value), Constant(None, place=self.place(is_null)), place),)
        if node.data == "negation":
            return (self._negated(node.children[1], place),)
        hint = "compare it with something, or bind it: X = ..."
        raise self.refuse(node, "found a value, expected a condition", hint)

    def _within(self, node: Tree[Token], place: Place) -> Literal:
        """`K in (N, S]`: K is met on the way round the ring from N to S."""
        value, _, opened, low, high, closed = node.children
        ends = Constant(f"{opened}{closed}", place=place)
        terms = (self.term(value), self.term(low), self.term(high), ends)
        return Comparison("=", Call("in_ring", terms, place), Constant(True, place=place), place)

    def _negated(self, node: Node, place: Place) -> Literal:
        """`!atom`; a comparison turned round; or a group, of which no values make all hold."""
        inner = self._ungroup(node)
        if isinstance(inner, str) or inner.data not in _CONDITIONS:
            hint = "negate an atom, or conditions in parentheses: !(a(X), X < 3)"
            raise self.refuse(node, "found a value, expected a condition to negate", hint)
        if inner.data == "call":
            return Negated(self.atom(inner))
        literals = self.body(trees(inner)[0]) if inner.data == "group" else self.literals(inner)
        first = literals[0]
        if len(literals) == 1 and isinstance(first, Comparison) and _is_plain(first):
            return replace(first, op=OPPOSITES[first.op], place=place)
        return NegatedGroup(literals, place)

    def _ungroup(self, node: Node) -> Node:
        """What is inside parentheses that hold one thing."""
        while not isinstance(node, str) and node.data == "group":
            body = trees(node)[0]
            conjunction = trees(body)[0]
            if len(body.children) > 1 or len(conjunction.children) > 1:
                return node
            node = conjunction.children[0]
        return node

    # -------------------------------------------------------------- values

    def term(self, node: Node) -> Term:
        """A value."""
        if isinstance(node, str):
            return self.name(str(node), self.place(node)) if node.type == "IDENT" else self._constant(node)
        if node.data == "call":
            return self._call(node)
        if node.data == "typed_key":
            raise self.refuse(node, "a column's number with a type stands among values", _KEYS)
        if node.data == "expression":
            return Expression(self.source, node.children, self.term, self._negative).read()
        if node.data == "address":
            return self._address(node)
        if node.data == "list":
            return self._list(node)
        if node.data == "record":
            return self._record(node)
        if node.data == "field_of":
            return self._field_of(node)
        if node.data == "aggregate":
            return self._body_aggregate(node)
        if node.data == "group":
            inner = self._ungroup(node)
            if isinstance(inner, str) or inner.data == "call" or inner.data not in _CONDITIONS:
                return self.term(inner)
            raise self.refuse(inner, "found a condition, expected a value")
        hint = "a declaration has only names and types: link(src: string, dst: string)."
        raise self.refuse(node, "a column with a type stands among values", hint)

    def name(self, name: str, place: Place, address: bool = False) -> Term:
        """A bare name: a variable, a string, or one of the words for a value."""
        if name == "_":
            return Wildcard(place)
        if name in _WORDS and not address:
            return Constant(_WORDS[name], place=place)
        return (Variable if self.is_variable(name) else Constant)(name, address, place)

    def constant(self, kind: str, text: str, place: Place, negative: bool = False) -> Constant:
        """A string or a number as it is written."""
        identifier = kind == "number" and text[-1] in "iI"
        try:
            if identifier and not negative:
                return Constant(constants.identifier(text), place=place, identifier=True)
            value = text_of(text) if kind == "string" else constants.number(text, negative)
        except ValueError as error:
            raise LanguageError("constant", str(error), place=place) from None
        return Constant(value, place=place)

    def _constant(self, token: Token) -> Constant:
        if token.type == "DATE":
            return self._typed("date", str(token), token, self.place(token))
        return self.constant("string" if token.type == "STRING" else "number", token, self.place(token))

    def _negative(self, token: Token, start: int) -> Constant:
        return self.constant("number", token, self.source.place(start, end_of(token)), negative=True)

    def _address(self, node: Tree[Token]) -> Term:
        """`@S`, `@"10.0.0.1"`. Before a call it is Souffle's mark of a user's function, and says no more."""
        operand = node.children[1]
        if not isinstance(operand, str):
            return self.term(operand)
        if operand.type == "IDENT":
            return self.name(str(operand), self.place(node), True)
        return Constant(self._constant(operand).value, True, self.place(node))

    def _call(self, node: Tree[Token]) -> Term:
        _, name, arguments = application(node)
        where = located(node)
        if where is not None:
            hint = f"a rule computes where it is: {name}(...)"
            raise self.refuse(where, f"{name} is computed at another node", hint, "unsupported")
        if name == "as":
            hint = "convert with to_number or to_string"
            raise self.refuse(node, "type casts are not supported", hint, "unsupported")
        terms = tuple(self.term(argument) for argument in arguments)
        if name in LITERALS and len(arguments) == 1 and is_word(arguments[0], "STRING"):
            (written,) = terms
            assert isinstance(written, Constant)
            return self._typed(name, str(written.value), arguments[0], self.place(node))
        known = [term.value for term in terms if isinstance(term, Constant) and not term.address]
        if name == "map" and len(known) == len(terms):
            return self._map(node, known)
        if name == "field" and len(arguments) == 2 and is_word(arguments[1], "STRING"):
            assert isinstance(terms[1], Constant)
            return Call(field_function(str(terms[1].value)), terms[:1], self.place(node))
        if name == "decimal" and len(arguments) == 3:
            return self._to_decimal(node, terms)
        return Call(name, terms, self.place(node))

    def _typed(self, name: str, written: str, node: Node, place: Place) -> Constant:
        try:
            return Constant(constants.typed(name, written), place=place)
        except ValueError as error:
            raise self.refuse(node, str(error), code="constant") from None

    def _to_decimal(self, node: Tree[Token], terms: tuple[Term, ...]) -> Term:
        """`decimal(X, 12, 2)`: the function is named after the type it gives."""
        digits = [term.value for term in terms[1:] if isinstance(term, Constant)]
        type_ = parse_type(f"decimal({','.join(map(str, digits))})") if len(digits) == 2 else None
        if type_ is None:
            hint = "write decimal(X, precision, scale) with two numbers: decimal(X, 12, 2)"
            raise self.refuse(node, "a decimal has a precision of 1 to 38 and a scale of 0 up to it", hint)
        return Call(str(type_), terms[:1], self.place(node))

    def _record(self, node: Tree[Token]) -> Term:
        """`{name: X, age: 3}`: a constant when all its fields are. The function is named after the fields."""
        fields: dict[str, Term] = {}
        for field in trees(node):
            word, value = field.children
            assert isinstance(word, str)
            name = str(self._constant(word).value) if word.type == "STRING" else str(word)
            if name in fields:
                raise self.refuse(
                    word, f"the field {name} is there twice", "a record has one value for each field"
                )
            fields[name] = self.term(value)
        known = {
            name: term.value
            for name, term in fields.items()
            if isinstance(term, Constant) and not term.address
        }
        if len(known) == len(fields):
            return Constant(Struct(known), place=self.place(node))
        return Call(record_function(fields), tuple(fields.values()), self.place(node))

    def _map(self, node: Tree[Token], items: list[object]) -> Constant:
        """`map("a", 1, "b", 2)` of constants."""
        made = dict(zip(items[::2], items[1::2], strict=False))
        if 2 * len(made) < len(items):
            raise self.refuse(node, "a key is there twice, or has no value", 'write map("a", 1, "b", 2)')
        return Constant(FrozenMap(made), place=self.place(node))

    def _field_of(self, node: Tree[Token]) -> Term:
        """`R.name`, `R.home.city`."""
        first, *fields = words(node)
        term = self.name(str(first), self.place(first))
        if not isinstance(term, Variable):
            raise self.refuse(first, f"{first} is no variable here", "a field is taken of a variable: R.name")
        for field in fields:
            term = Call(str(field), (term,), self.source.place(start_of(node), end_of(field)))
        return term

    def _list(self, node: Tree[Token]) -> Term:
        """`[a, b]`: a constant when all its items are."""
        items = tuple(self.term(child) for child in node.children)
        known = [item for item in items if isinstance(item, Constant) and not item.address]
        if len(known) == len(items):
            return Constant(tuple(item.value for item in known), place=self.place(node))
        return Call("list", items, self.place(node))

    # -------------------------------------------------------------- aggregates

    def _head_aggregate(self, token: Token) -> tuple[Term, ...]:
        """`min<C>`; `min<C, A>` is two columns, of which the second belongs to the best of the first."""
        match = HEAD_AGGREGATE.fullmatch(token)
        assert match is not None
        written, address, name, more = match.groups()
        function = AGGREGATES.get(written.lower().removeprefix("a_"))
        if function is None:
            meant = _OTHER_AGGREGATES.get(written.lower()) or next(
                (name for name in AGGREGATES if misspelt(written.lower(), name)), None
            )
            hint = "there are count, sum, min, max and avg; for others, read the rows and compute them there"
            hint = hint if meant is None else f"did you mean {meant}?"
            raise self.refuse(token, f"{written} is not an aggregate", hint, "aggregate")
        if name is None or name == "_":
            if function != "count":
                raise self.refuse(token, f"{function} needs a variable", f"write {function}<X>", "aggregate")
            return (HeadAggregate(function, None, self.place(token)),)
        others = [part.strip() for part in more.split(",")[1:]]
        if others and function not in ("min", "max"):
            hint = "min<X, Y> and max<X, Y> have a Y that belongs to the best X"
            raise self.refuse(token, f"{function} takes one variable", hint, "aggregate")
        found = [
            self._aggregated(token, function, name, bool(address), match.start(3)),
            *(
                self._aggregated(token, "witness", other.lstrip("@ "), other.startswith("@"), match.start(4))
                for other in others
            ),
        ]
        return tuple(found)

    def _aggregated(
        self, token: Token, function: str, name: str, address: bool, offset: int
    ) -> HeadAggregate:
        if not self.is_variable(name):
            hint = "in this text variables start upper-case"
            raise self.refuse(token, f"{name} is a string here, not a variable", hint, "aggregate")
        start = start_of(token) + offset
        variable = Variable(name, address, self.source.place(start, start + len(name)))
        return HeadAggregate(function, variable, self.place(token))

    def _body_aggregate(self, node: Tree[Token]) -> Term:
        name, *target, body = node.children
        assert isinstance(name, str) and not isinstance(body, str)
        function = AGGREGATES[name]
        if target and function == "count":
            raise self.refuse(name, "count takes no value", "write count : { ... }", "aggregate")
        if not target and function != "count":
            raise self.refuse(name, f"{name} needs a value", f"write {name} X : {{ ... }}", "aggregate")
        literals = self.literals(body) if body.data == "call" else self.body(body)
        return BodyAggregate(function, self.term(target[0]) if target else None, literals, self.place(node))


def _is_plain(comparison: Comparison) -> bool:
    """Whether the opposite holds where it does not: what is computed may have several values, or none."""
    sides = (comparison.left, comparison.right)
    return comparison.op in OPPOSITES and all(isinstance(side, (Variable, Constant)) for side in sides)
