"""Parse trees of whole statements become a `Program`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.errors import HeadwaterWarning, LanguageError, Place
from headwater.language.datalog import constants
from headwater.language.datalog.active import conditions_of, read_active
from headwater.language.datalog.case import conditions, null_variables, small_variables
from headwater.language.datalog.declared_types import TypeNames
from headwater.language.datalog.dialect import Dialect, decide, fact_variables, has_body, variables_of
from headwater.language.datalog.facts import PlainFact, Word
from headwater.language.datalog.namespaces import (
    Namespace,
    has_paths,
    own_names,
    path_at,
    qualified,
    qualified_rules,
)
from headwater.language.datalog.render import render, render_column
from headwater.language.datalog.tables import read_table
from headwater.language.datalog.terms import TermReader
from headwater.language.datalog.trees import application, end_of, is_word, start_of, trees, words
from headwater.language.program import (
    ActiveRule,
    Atom,
    Column,
    Constant,
    Declaration,
    Directive,
    Materialize,
    Positive,
    Program,
    Query,
    Rule,
    Term,
)
from headwater.language.source import SourceText

if TYPE_CHECKING:
    from lark import Token, Tree

    from headwater.language.datalog.trees import Node

_SPACE = re.compile(r'("(?:\\.|[^"\\])*")|\s+')
_COLUMNS = "a declaration has only names and types: link(src: string, dst: string)."


_TRACES = {"watch": (1,), "watchmod": (2,), "watchfine": (1, 2)}
"""Statements that trace a relation, and how many arguments they take."""


class StatementReader:
    """Collects what each statement of a text says."""

    def __init__(
        self,
        source: SourceText,
        blanked: str,
        tree: Tree[Token],
        facts: list[PlainFact],
        spaces: Sequence[Namespace] = (),
    ):
        """Take the text, the text without comments, and what they hold: plain facts and all the rest; namespaces."""
        self.spaces = spaces
        self.source = source
        self.blanked = blanked
        self.tree = tree
        self.facts = facts
        self.dialect = decide(tree)
        self.any_rules = any(has_body(statement) for statement in trees(tree))
        self.fact_terms = TermReader(source, fact_variables(self.dialect))
        self.types = TypeNames(source, [child for child in trees(tree) if child.data == "type_alias"])
        declarations = [child for child in trees(tree) if child.data == "declaration"]
        self.declared = {str(name) for declaration in declarations for name in words(trees(declaration)[0])}
        self.rules: list[Rule] = []
        self.declarations: list[Declaration] = []
        self.tables: list[Materialize] = []
        self.directives: list[Directive] = []
        self.queries: list[Query] = []
        self.active: list[ActiveRule] = []
        self.slips: list[LanguageError | HeadwaterWarning] = []
        self.path = ""
        """The namespace of the statement that is read."""
        self.table_paths: dict[int, str] = {}
        self.directive_paths: dict[int, str] = {}

    def program(self) -> Program:
        """Everything the text says, in the order of the text."""
        paths: list[str] = []
        defined: dict[str, set[str]] = {}
        spaced = bool(self.spaces) or has_paths(self.blanked)
        for statement in self._in_order():
            if spaced:
                self._note(paths, defined)
                start = statement.start if isinstance(statement, PlainFact) else start_of(statement)
                self.path = path_at(self.spaces, start)
            if isinstance(statement, PlainFact):
                self._fact(statement)
            elif statement.data == "clause":
                self._clause(statement)
            elif statement.data == "active":
                self._active(statement)
            elif statement.data == "query":
                (body,) = trees(statement)
                self.queries.append(Query(self._terms(statement).body(body), self._place(body)))
            elif statement.data == "declaration":
                self._declaration(statement)
            elif statement.data == "directive":
                self._directive(statement)
            elif statement.data in ("kind", "drop", "rename"):
                self._edit(statement)
            elif statement.data in ("add_column", "drop_column"):
                self._column_edit(statement)
            elif statement.data == "drop_rule":
                _, *ids = words(statement)
                self.directives += [Directive("drop_rule", "", {"rule": str(i)}, self._place(i)) for i in ids]
        if spaced:
            self._note(paths, defined)
            self._qualify(paths, defined)
        return Program(
            tuple(self.rules),
            tuple(self.declarations),
            tuple(self.tables),
            tuple(self.directives),
            tuple(self.queries),
            self.source.name,
            self.source.text,
            self.dialect is Dialect.SOUFFLE,
            tuple(self.slips),
            tuple(self.active),
        )

    def _note(self, paths: list[str], defined: dict[str, set[str]]) -> None:
        """Take down in which namespace the last rules were, and what it defines by them and by tables."""
        for rule in self.rules[len(paths) :]:
            defined.setdefault(self.path, set()).update(head.relation for head in rule.heads)
            paths.append(self.path)
        for place, table in enumerate(self.tables[len(self.table_paths) :], len(self.table_paths)):
            defined.setdefault(self.path, set()).add(table.relation)
            self.table_paths[place] = self.path
        for place in range(len(self.directive_paths), len(self.directives)):
            self.directive_paths[place] = self.path

    def _qualify(self, paths: list[str], defined: dict[str, set[str]]) -> None:
        own_names(self.rules, paths, defined)
        self.rules = list(qualified_rules(self.rules, paths, defined))
        for place, path in self.table_paths.items():
            table = self.tables[place]
            self.tables[place] = replace(table, relation=qualified(table.relation, path, defined))
        for place, path in self.directive_paths.items():
            directive = self.directives[place]
            self.directives[place] = replace(directive, relation=qualified(directive.relation, path, defined))

    def _in_order(self) -> list[PlainFact | Tree[Token]]:
        return sorted(
            [*self.facts, *trees(self.tree)],
            key=lambda s: s.start if isinstance(s, PlainFact) else start_of(s),
        )

    def _place(self, node: Node) -> Place:
        return self.source.place(start_of(node), end_of(node))

    def _terms(self, statement: Tree[Token]) -> TermReader:
        return TermReader(self.source, variables_of(statement, self.dialect, self.any_rules))

    # -------------------------------------------------------------- clauses

    def _clause(self, clause: Tree[Token]) -> None:
        parts = {part.data: part for part in trees(clause)}
        heads = trees(parts["heads"])
        label, delete = self._prefix(parts.get("label"), words(clause))
        body = parts.get("body")
        terms = self._terms(clause)
        if body is None and len(heads) == 1 and not delete:
            (head,) = heads
            if label is None and self._is_special(head):
                return
            if label == "Query":
                self.queries.append(Query((Positive(terms.atom(head)),), self._place(head)))
                return
        atoms = tuple(terms.atom(head) for head in heads)
        literals = terms.body(body) if body is not None else ()
        start, end = start_of(clause), end_of(clause)
        rule = Rule(label, atoms, literals, delete, self._place(clause), self._text(start, end))
        self.rules.append(rule)
        if body is not None:
            conditioned = [*heads, *conditions(body)]
            self.slips += null_variables(rule, conditioned)
            self.slips += small_variables(rule, conditioned) if self.dialect is Dialect.NDLOG else ()

    def _active(self, statement: Tree[Token]) -> None:
        text = self._text(start_of(statement), end_of(statement))
        active = read_active(statement, self._terms(statement), text)
        self.active.append(active)
        like_rule = Rule(active.label, (), active.condition, False, active.place, text)
        parts = conditions_of(statement)
        self.slips += null_variables(like_rule, parts)
        self.slips += small_variables(like_rule, parts) if self.dialect is Dialect.NDLOG else ()

    def _prefix(self, written: Tree[Token] | None, before: list[Token]) -> tuple[str | None, bool]:
        """The label before a head, and whether `delete` is there."""
        label: str | None = None
        if written is not None:
            label = "-".join(words(written))
        elif before and before[0] != "delete":
            label = str(before.pop(0))
        if before and before != ["delete"]:
            raise LanguageError(
                "syntax",
                f"found '{before[-1]}', expected a relation and its arguments",
                place=self._place(before[-1]),
                hint="before a head stand a label and the word delete, nothing else; is ':-' missing?",
            )
        return label, bool(before)

    def _is_special(self, head: Tree[Token]) -> bool:
        """Reads a fact that is none: a declaration, `materialize(...)`, `watch(relation)`."""
        link, name, arguments = application(head)
        if link:
            return False
        if any(not isinstance(argument, str) and argument.data == "column" for argument in arguments):
            self.declarations.append(Declaration(name, self._columns(arguments), self._place(head)))
        elif name == "materialize":
            self.tables.append(read_table(self.source, head))
        elif name in _TRACES and name not in self.declared and _is_traced(name, arguments):
            self.directives.append(Directive("watch", str(arguments[0]), {}, self._place(head)))
        else:
            return False
        return True

    def _fact(self, fact: PlainFact) -> None:
        args = tuple(self._word(word) for word in fact.arguments)
        atom = Atom(fact.relation, args, False, self.source.place(fact.start, fact.end - 1))
        place = self.source.place(fact.start, fact.end)
        self.rules.append(Rule(None, (atom,), (), False, place, self._text(fact.start, fact.end)))

    def _word(self, word: Word) -> Term:
        place = self.source.place(word.start, word.end)
        if word.kind == "name":
            return self.fact_terms.name(word.text, place, word.mark == "@")
        constant = self.fact_terms.constant(word.kind, word.text, place, word.mark == "-")
        return Constant(constant.value, True, place) if word.mark == "@" else constant

    def _text(self, start: int, end: int) -> str:
        """What is written from `start` to `end`, in one line and without comments."""
        return _SPACE.sub(lambda match: match[1] or " ", self.blanked[start:end])

    # -------------------------------------------------------------- declarations and directives

    def _declaration(self, declaration: Tree[Token]) -> None:
        names, columns, *choice = trees(declaration)
        qualifiers = words(declaration)
        for word in qualifiers:
            if word == "eqrel":
                hint = "write its rules out: p(X, Y) :- p(Y, X).  p(X, Z) :- p(X, Y), p(Y, Z)."
                raise self._unsupported(word, "eqrel relations are not supported", hint)
        for part in choice:
            hint = "choose with an aggregate in a head, such as min<X>"
            raise self._unsupported(part, "choice-domain is not supported", hint)
        place = self._place(declaration)
        for name in words(names):
            self.declarations.append(Declaration(str(name), self._columns(columns.children), place))
            for word in qualifiers:
                if word in ("input", "output", "printsize"):
                    self.directives.append(Directive(str(word), str(name), {}, self._place(word)))

    def _unsupported(self, node: Node, message: str, hint: str) -> LanguageError:
        return LanguageError("unsupported", message, place=self._place(node), hint=hint)

    def _columns(self, nodes: list[Node]) -> tuple[Column, ...]:
        return tuple(self._column(node) for node in nodes)

    def _column(self, node: Node) -> Column:
        """A name and a type; among others that have types, a name alone leaves its type open."""
        place = self._place(node)
        if isinstance(node, str) and node.type == "IDENT":
            return Column(str(node), None, place=place)
        if isinstance(node, str) or node.data != "column":
            raise LanguageError("syntax", "expected a column's name and type", place=place, hint=_COLUMNS)
        (type_,) = trees(node)
        found, nullable = self.types.column(type_)
        return Column(str(words(node)[-1]), found, nullable, place)

    def _directive(self, directive: Tree[Token]) -> None:
        kind = str(directive.children[0])[1:]
        names, *rest = trees(directive)
        options: dict[str, str] = {}
        for option in (option for part in rest for option in trees(part)):
            key, value = words(option)
            options[str(key)] = self._option(value)
        for name in words(names):
            self.directives.append(Directive(kind, str(name), dict(options), self._place(directive)))

    def _edit(self, statement: Tree[Token]) -> None:
        """`.kind r virtual`, `.drop r`, `.rename r s`."""
        place, own = self._place(statement), [str(word) for word in words(statement)]
        kind = str(statement.data)
        if kind == "rename":
            self.directives.append(Directive(kind, own[0], {"to": own[1]}, place))
            return
        options = {"kind": own[0]} if kind == "kind" else {}
        (names,) = trees(statement)
        self.directives += [Directive(kind, str(name), dict(options), place) for name in words(names)]

    def _column_edit(self, statement: Tree[Token]) -> None:
        """`.add column r(c: int = 0)`, `.drop column r(c)`."""
        place, kind, parts = self._place(statement), str(statement.data), statement.children[1:]
        name = str(parts[0])
        if kind == "drop_column":
            options = {"column": str(parts[1])}
        else:
            column, *default = parts[1:]
            written = self._column(column)
            options = {"column": render_column(written)}
            if default:
                options["default"] = render(self.fact_terms.term(default[0]))
        self.directives.append(Directive(kind, name, options, place))

    def _option(self, token: Token) -> str:
        if token.type != "STRING":
            return str(token)
        try:
            return constants.string(token)
        except ValueError as error:
            raise LanguageError("constant", str(error), place=self._place(token)) from None


def _is_traced(name: str, arguments: list[Node]) -> bool:
    """`watch(relation)`, or P2's `watchmod(relation, "s")`, whose letters say what to trace: all is traced here."""
    return len(arguments) in _TRACES[name] and is_word(arguments[0], "IDENT")
