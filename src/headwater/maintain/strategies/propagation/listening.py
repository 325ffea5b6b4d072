"""Who hears of a watched view, and of which of its rows: what nobody hears of need not be propagated.

`db.watch("alarm(X, 'high')", on="added", when="X > 3")` is told of rows that come, have `high` in their second column
and more than 3 in their first. As long as all who listen to a view hear of some of its changes only, no others are
computed. Where actions change, within a version, what the view depends on, a row may come and go again before anybody
is told: rows of either type are then followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from headwater.language.program import Constant, Term, Variable
from headwater.maintain.strategies.propagation.sides import Rules
from headwater.rules.checked import Checked, Kind, Test


def column_variable(column: int) -> Variable:
    """What stands for a column in the tests of a listener.

    >>> column_variable(2).name
    'c2'
    """
    return Variable(f"c{column}")


@dataclass(frozen=True)
class Listening:
    """Rows of a view that somebody hears of: those that come (`+`), go (`-`) or both (`±`), have these constants by
    column, and pass these tests over column variables."""

    relation: str
    sign: str = "±"
    constants: tuple[tuple[int, Constant], ...] = ()
    tests: tuple[Test, ...] = ()

    @property
    def part(self) -> str:
        """What it restricts the view to, in words; empty if that is nothing."""
        return shown_part(self.constants, self.tests)


@dataclass(frozen=True)
class Audience:
    """All who listen. `acted` are the base relations that actions change within a version."""

    listening: frozenset[Listening] = frozenset()
    acted: frozenset[str] = frozenset()

    def of(self, checked: Checked, parity: bool) -> Heard:
        """What is heard of the watched views of a program. Without `parity`, those who hear of one type of rows are
        taken to hear of both."""
        rules = Rules.of(checked)
        found: dict[str, dict[str, Listening]] = {}
        for one in sorted(self.listening, key=lambda one: (one.relation, one.part, one.sign)):
            info = checked.unstored.relations.get(one.relation)
            if info is None or info.kind is not Kind.WATCHED:
                continue
            known = found.setdefault(one.relation, {})
            sign = together((one.sign, known[one.part].sign if one.part in known else one.sign))
            if not parity or not self.acted.isdisjoint(rules.below(one.relation)):
                sign = "±"
            known[one.part] = Listening(one.relation, sign, one.constants, one.tests)
        for name, info in checked.unstored.relations.items():
            alone = info.kind is Kind.WATCHED and info.told != "±" and name not in found
            if alone and not self.acted.isdisjoint(rules.below(name)):
                found[name] = {"": Listening(name)}
        return Heard({name: tuple(known.values()) for name, known in found.items()})


@dataclass(frozen=True)
class Heard:
    """For each view that somebody listens to, the parts of it that are heard of."""

    parts: dict[str, tuple[Listening, ...]] = field(default_factory=dict)

    def of(self, relation: str) -> tuple[Listening, ...]:
        """What is heard of a view: nothing is said of one to which nobody listens."""
        return self.parts.get(relation, ())

    def plainly(self) -> Heard:
        """The same without the parts: of a view that somebody listens to in part, all rows."""
        return Heard({
            name: (Listening(name, together(one.sign for one in parts)),) for name, parts in self.parts.items()
        })  # fmt: skip


def together(signs: Iterable[str]) -> str:
    """The types of rows that several hear of.

    >>> together(["+", "+"]), together(["+", "-"])
    ('+', '±')
    """
    found = set(signs)
    return found.pop() if len(found) == 1 else "±"


def shown_part(constants: Iterable[tuple[int, Constant]], tests: Collection[Test] = ()) -> str:
    """Constants by column, and tests, as the name of a restricted relation has them."""
    parts = [f"{column}={_shown(constant)}" for column, constant in constants]
    parts += sorted(f"{_shown(test.left)} {test.op} {_shown(test.right)}" for test in tests)
    return ", ".join(parts)


def _shown(term: Term) -> str:
    if isinstance(term, Constant):
        return f"{type(term.value).__name__} {term.value!r}"
    assert isinstance(term, Variable)
    return term.name.removeprefix("c")
