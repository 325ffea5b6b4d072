"""Text to mappings and trust conditions, every part with its place.

>>> mappings = parse("m3: B(i, n) -> exists c U(n, c).  k: B(i, n), B(i, m) -> n = m.")
>>> mappings.tgds[0].existentials, mappings.tgds[0].frontier, mappings.egds[0].left
(('c',), ('n',), 'n')

All bare names are variables; strings are quoted. A mapping without a label is named by its place: `m1` is the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.errors import LanguageError, RuleError
from headwater.language.datalog import constants
from headwater.language.datalog.comments import blank_comments
from headwater.language.datalog.nesting import refuse_deep
from headwater.language.datalog.quoted import STRING, text_of
from headwater.language.datalog.terms import TermReader
from headwater.language.datalog.trees import end_of, is_word, start_of, trees, words
from headwater.language.mappings.grammar import mappings_grammar, policy_grammar
from headwater.language.mappings.mapping import Egd, Mappings, Tgd, variables, without_wildcards
from headwater.language.mappings.policy import HIGHEST_PRIORITY, TrustCondition
from headwater.language.mappings.rating import SIDES, Rating
from headwater.language.mappings.safety import check_egd, check_tgd
from headwater.language.program import Atom, Comparison, Constant, Literal, Positive, Variable, Wildcard
from headwater.language.source import SourceText
from headwater.spelling import did_you_mean
from headwater.values.clearance_levels import LEVELS

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

_BLANKS = re.compile(rf"({STRING})|\s+")
_MAPPING_FORM = "write m4: B(i, c), U(n, c) -> B(i, n), or m3: B(i, n) -> exists c U(n, c), and end with '.'"
_POLICY_FORM = (
    "write distrust B(i, n) from GUS if n >= 3, with from, by, through, below, if, priority, and '.'"
)


def parse(text: str, source: str = "<mappings>") -> Mappings:
    """The mappings that a text has; refuses what is not in the language, and unsafe mappings."""
    where, _, tree = _tree(text, source, mappings_grammar(), _MAPPING_FORM)
    reader = _MappingReader(where)
    for number, mapping in enumerate(trees(tree), start=1):
        reader.mapping(mapping, number)
    return Mappings(tuple(reader.tgds), tuple(reader.egds))


def parse_policy(text: str, source: str = "<trust>") -> tuple[TrustCondition, ...]:
    """The trust conditions that a text has."""
    where, blanked, tree = _tree(text, source, policy_grammar(), _POLICY_FORM)
    return tuple(
        _condition(where, statement, _plain(blanked[start_of(statement) : end_of(statement)]))
        for statement in trees(tree)
    )


def _plain(written: str) -> str:
    """A condition on one line: strings as they are, one blank for blanks and comments between."""
    return _BLANKS.sub(lambda found: found[1] or " ", written)


def _tree(text: str, source: str, grammar: Lark, form: str) -> tuple[SourceText, str, Tree[Token]]:
    """The text, the same with its comments blanked, and what it says."""
    from lark.exceptions import UnexpectedInput

    from headwater.language.datalog.stuck import find_stuck

    where = SourceText(source, text.removeprefix("\ufeff"))
    blanked = blank_comments(where)
    refuse_deep(where, blanked)
    try:
        return where, blanked, grammar.parse(blanked)
    except UnexpectedInput:
        stuck = find_stuck(where, blanked, grammar)
        found = stuck.found_in_words()
        arrow = " ('->' points from the body to the head)" if stuck.found in (":-", "<-", ":") else ""
        raise LanguageError(
            "syntax", f"{found} does not fit here{arrow}", place=stuck.place, hint=form
        ) from None


def _any_name(name: str) -> bool:
    return True


class _MappingReader:
    """Reads one mapping after another; their labels differ."""

    def __init__(self, source: SourceText):
        self.source = source
        self.terms = TermReader(source, _any_name)
        self.tgds: list[Tgd] = []
        self.egds: list[Egd] = []
        self._labels: set[str] = set()

    def mapping(self, node: Tree[Token], number: int) -> None:
        """Read a mapping: one that generates rows, or one that generates equalities."""
        parts = {part.data: part for part in trees(node)}
        label = "_".join(words(parts["label"])) if "label" in parts else f"m{number}"
        place = self.terms.place(node)
        if label in self._labels:
            raise RuleError(
                "duplicate-label",
                f"two mappings are called {label}",
                place=place,
                hint="label them differently",
            )
        self._labels.add(label)
        text = " ".join(self.source.text[start_of(node) : end_of(node)].split())
        body = without_wildcards(self._literals(parts["premises"]))
        conclusion = parts["conclusion"]
        existentials: tuple[str, ...] = ()
        heads: list[Atom] = []
        equal: list[Comparison] = []
        for child in conclusion.children:
            if not isinstance(child, str) and child.data == "exists":
                existentials = tuple(str(word) for word in words(child) if word.type == "IDENT")
                continue
            for literal in self.terms.literals(child):
                if isinstance(literal, Positive):
                    heads.append(self._head(literal.atom))
                elif isinstance(literal, Comparison) and literal.op == "=":
                    equal.append(literal)
                else:
                    raise LanguageError(
                        "syntax",
                        "behind '->' stand rows that must be there, or one equality",
                        place=self.terms.place(child),
                        hint=_MAPPING_FORM,
                    )
        if not equal:
            tgd = Tgd(label, body, tuple(heads), existentials, place, text)
            self._check_functions(tgd)
            self.tgds.append(check_tgd(tgd))
            return
        left, right = equal[0].left, equal[0].right
        if heads or len(equal) > 1 or not isinstance(left, Variable) or not isinstance(right, Variable):
            raise LanguageError(
                "syntax",
                "an equality stands alone behind '->', between two variables",
                place=equal[0].place,
                hint="write B(i, n), B(i, m) -> n = m. Several are several mappings",
            )
        self.egds.append(check_egd(Egd(label, body, left.name, right.name, place, text)))

    def _check_functions(self, tgd: Tgd) -> None:
        """Refuse new values that could not be told from those of another mapping: `m` with `c_d`, `m_c` with `d`."""
        for other in self.tgds:
            made = {other.skolem(name) for name in other.existentials}
            alike = next((name for name in tgd.existentials if tgd.skolem(name) in made), None)
            if alike is not None:
                raise RuleError(
                    "duplicate-label",
                    f"new values of {tgd.label} and of {other.label} would both be called {tgd.skolem(alike)}",
                    place=tgd.place,
                    hint=f"label a mapping differently, or rename {alike}",
                )

    def _literals(self, node: Tree[Token]) -> tuple[Literal, ...]:
        found: list[Literal] = []
        for child in node.children:
            for literal in self.terms.literals(child):
                if not isinstance(literal, (Positive, Comparison)):
                    raise LanguageError(
                        "syntax",
                        "a body has rows and comparisons, all of which must hold",
                        place=self.terms.place(child),
                        hint="mappings have no negation and no 'or': write several mappings",
                    )
                found.append(literal)
        return tuple(found)

    def _head(self, atom: Atom) -> Atom:
        for term in atom.args:
            if isinstance(term, Wildcard):
                raise LanguageError(
                    "syntax",
                    "'_' says nothing in a head",
                    place=term.place,
                    hint="a value that nobody knows is an existential: exists c U(n, c)",
                )
        return atom


def _condition(source: SourceText, node: Tree[Token], text: str) -> TrustCondition:
    terms = TermReader(source, _any_name)
    stance, *rest = node.children
    atom: Atom | None = None
    said: dict[str, object] = {}
    for part in rest:
        assert not isinstance(part, str)
        if part.data == "call":
            atom = terms.atom(part)
        elif part.data == "origin":
            key, value = _origin(terms, part)
            if key in said or (key != "by" and {"from_peer", "from_row", "through"} & set(said)):
                raise terms.refuse(part, "a condition has one origin", "state several conditions")
            said[key] = value
        elif part.data == "guard":
            literals = [literal for child in part.children[1:] for literal in terms.literals(child)]
            said["guard"] = tuple(literals)
        elif part.data == "rating":
            said["rating"] = _rating(terms, part)
        elif part.data == "bound":
            said["bound"] = _bound(terms, part)
        else:
            said["priority"] = _priority(terms, part)
    if said.get("guard"):
        _check_guard(terms, node, atom, said["guard"])
    if "priority" in said and stance == "distrust":
        raise terms.refuse(node, "only what is trusted has a priority", "leave it out")
    if "rating" in said:
        _check_rating(terms, node, str(stance), atom, said)
    if "bound" in said:
        _check_bound(terms, node, str(stance), said)
    return TrustCondition(
        "trust" if stance == "trust" else "distrust",
        atom,
        text=text,
        place=terms.place(node),
        **said,  # type: ignore[arg-type]
    )


def _priority(terms: TermReader, node: Tree[Token]) -> int:
    written = words(node)[-1]
    if int(written) > HIGHEST_PRIORITY:
        raise terms.refuse(
            written, f"{written} is above all priorities", f"the highest is {HIGHEST_PRIORITY:,}"
        )
    return int(written)


def _origin(terms: TermReader, node: Tree[Token]) -> tuple[str, object]:
    word, value = node.children
    if word == "from" and is_word(value, "IDENT"):
        return "from_peer", str(value)
    if word == "from":
        assert not isinstance(value, str)
        row = terms.atom(value)
        if not all(isinstance(term, Constant) for term in row.args):
            raise terms.refuse(value, "a row is written with values", "write from U(2, 5); or name a peer")
        return "from_row", row
    return str(word), str(value)


def _rating(terms: TermReader, node: Tree[Token]) -> Rating:
    scale, written = words(node)
    value = text_of(written) if written.type == "STRING" else str(written)
    if scale == "clearance":
        if value not in LEVELS:
            hint = did_you_mean(value, LEVELS) or "the levels are: " + ", ".join(
                f'"{level}"' for level in LEVELS
            )
            raise terms.refuse(written, f"{value} is no level of clearance", hint)
        return Rating("clearance", value)
    if written.type not in ("INT", "FLOAT") or not 0 <= float(constants.number(value)) <= 1:
        raise terms.refuse(written, f"{value} is no confidence", "write a number from 0 to 1")
    return Rating("confidence", float(constants.number(value)))


def _bound(terms: TermReader, node: Tree[Token]) -> Rating:
    side, rating = node.children
    assert not isinstance(rating, str)
    found = _rating(terms, rating)
    if side != SIDES[found.scale]:
        raise terms.refuse(
            node,
            f"what is {side} a {found.scale} is better than it",
            f"write {_side_of(found)}",
        )
    return found


def _check_rating(
    terms: TermReader, node: Tree[Token], stance: str, atom: Atom | None, said: Mapping[str, object]
) -> None:
    origins = {"from_peer", "from_row", "through"} & set(said)
    if stance == "distrust" or atom is not None or not origins or set(said) - origins - {"rating"}:
        raise terms.refuse(
            node,
            "a rating is of a peer, a row or a mapping, and of nothing else",
            "write trust from GUS confidence 0.6, from U(2, 5) or through m4; a bound is below confidence 0.7",
        )


def _check_bound(terms: TermReader, node: Tree[Token], stance: str, said: Mapping[str, object]) -> None:
    if stance == "trust":
        raise terms.refuse(
            node, "what is beyond a bound is distrusted", f"write distrust {_side_of(said['bound'])}"
        )
    if {"from_peer", "from_row", "through"} & set(said):
        raise terms.refuse(
            node,
            "a bound is about all that rows are derived from",
            "leave the origin out, or rate the origin: trust from GUS confidence 0.6",
        )


def _side_of(bound: object) -> str:
    assert isinstance(bound, Rating)
    return f"{SIDES[bound.scale]} {bound}"


def _check_guard(terms: TermReader, node: Tree[Token], atom: Atom | None, guard: object) -> None:
    known = set() if atom is None else set(variables(atom.args))
    assert isinstance(guard, tuple)
    for literal in guard:
        if not isinstance(literal, Comparison):
            raise terms.refuse(node, "a guard is made of comparisons", "write if n >= 3, n != 5")
        for side in (literal.left, literal.right):
            if isinstance(side, Variable) and side.name not in known:
                raise LanguageError(
                    "unsafe-variable",
                    f"{side.name} is not a column of what the condition names",
                    place=side.place,
                    hint="name the columns: distrust B(i, n) if n >= 3",
                )
