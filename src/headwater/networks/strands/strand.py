"""Strands: what a node does with a row that has come (loo-2006 section 3.1, figure 3).

A rule has a strand for each of its premises. It starts with a row of that premise, joins the others with what their
tables hold, tests and computes as soon as values are there, and ends with a row of the head. A strand that starts at
the *head* finds the derivations of a given row: for deriving again, and for explaining.

Strands are compiled once for a program, and run over the tables of any node. Each step is a function that calls the
next one for every binding that it finds.

*No inference twice* (theorem 2): each stored row has a stamp. A strand that starts at premise k with stamp s joins
rows older than s in the premises before k, and rows as old as s or older in those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from headwater.errors import EvaluationError
from headwater.language.program import Call, Constant, Term, Variable
from headwater.networks.runtime.row_table import Entry, Row, RowTable
from headwater.networks.strands.localisation import is_ready
from headwater.networks.strands.scalars import MOMENT, Evaluator, Moment, Registers
from headwater.rules.checked import Absent, CheckedRule, Compute, Item, Premise, Test, placed
from headwater.rules.terms import calls, part_terms
from headwater.values.volatile import VOLATILE

ALL_STAMPS = 1 << 62
"""Above every stamp."""
HEAD, GROUP = -1, -2
"""In the place of a premise's position: strands that start with a row of the head, or with a part of one."""


class Firing:
    """A strand while it runs: tables, registers with the values of variables, the rows joined so far.

    `found` is told of each row that follows; it may read `strand` and `news` off the firing.
    """

    __slots__ = ("entries", "found", "moment", "news", "registers", "stamp", "strand", "tables")

    def __init__(self, tables: Sequence[RowTable], found: Callable[[Row, list[Entry | None]], None]):
        self.tables = tables
        self.registers: Registers = []
        self.entries: list[Entry | None] = []
        self.stamp = ALL_STAMPS
        self.found = found
        self.strand: Strand | None = None
        self.news: Any = None
        self.moment: Moment | None = None
        """What the time, chance and the like are, where an event fires the strand."""


Step = Callable[[Firing], None]


@dataclass(frozen=True)
class Strand:
    """A rule from one of its premises (`position`), from its head, or from a part of that."""

    rule: int
    position: int
    registers: int
    premises: int
    start: Callable[[Row, Registers], bool]
    step: Step
    lookups: tuple[tuple[int, tuple[int, ...]], ...]
    """The tables, by number, that it looks rows up in, and by which columns."""
    of_moment: int | None
    """The register of the firing's moment, in strands of update rules."""
    checked: CheckedRule = field(compare=False, repr=False)
    """The rule itself, for those who must say which one it is."""

    def fire(self, firing: Firing, row: Row, entry: Entry | None, stamp: int) -> None:
        """Call `firing.found` with each row of the head that follows, and the entries it rests on."""
        firing.strand = self
        firing.registers = [None] * self.registers
        firing.entries = [None] * self.premises
        firing.stamp = stamp
        if self.of_moment is not None:
            firing.registers[self.of_moment] = firing.moment
        if self.start(row, firing.registers):
            if self.position >= 0:
                firing.entries[self.position] = entry
            try:
                self.step(firing)
            except EvaluationError as error:
                raise placed(error, self.checked) from error


class StrandMaker:
    """Compiles strands of one program."""

    def __init__(self, numbers: Mapping[str, int], evaluator: Evaluator):
        self.numbers = numbers
        self.evaluator = evaluator

    def from_premise(self, number: int, rule: CheckedRule, position: int) -> Strand:
        """The strand that starts with a row of the premise at this place of the body's premises."""
        premises = [item for item in rule.body if isinstance(item, Premise)]
        return _Making(self, number, rule, position, premises[position].args).strand()

    def from_head(self, number: int, rule: CheckedRule) -> Strand:
        """The strand that starts with a row of the head."""
        return _Making(self, number, rule, HEAD, rule.head).strand()

    def of_event(self, number: int, rule: CheckedRule, position: int) -> Strand:
        """The strand of an update rule that starts with a row of a premise, and knows the moment."""
        premises = [item for item in rule.body if isinstance(item, Premise)]
        return _Making(self, number, rule, position, premises[position].args, moment=True).strand()

    def of_group(self, number: int, rule: CheckedRule, group: Sequence[Term]) -> Strand:
        """The strand of an update rule that starts with the values of some terms, and gives rows of the head."""
        return _Making(self, number, rule, GROUP, group, moment=True).strand()


class _Making:
    def __init__(
        self,
        maker: StrandMaker,
        number: int,
        rule: CheckedRule,
        position: int,
        given: Sequence[Term],
        *,
        moment: bool = False,
    ):
        self.maker = maker
        self.number = number
        self.rule = rule
        self.position = position
        self.places: dict[str, int] = {MOMENT: 0} if moment else {}
        self.lookups: list[tuple[int, tuple[int, ...]]] = []
        self.premises = [item for item in rule.body if isinstance(item, Premise)]
        self.given = given

    def strand(self) -> Strand:
        start = _matcher(self.given, range(len(self.given)), self.places)
        steps: list[Callable[[Step], Step]] = []
        left: list[Item] = [
            item for item in self.rule.body if self.position < 0 or item is not self.premises[self.position]
        ]
        while left:
            item = self._next(left)
            left.remove(item)
            steps.append(self._step(item))
        step = self._end()
        for make in reversed(steps):
            step = make(step)
        return Strand(
            self.number,
            self.position,
            len(self.places),
            len(self.premises),
            start,
            step,
            tuple(self.lookups),
            self.places.get(MOMENT),
            self.rule,
        )

    def _next(self, left: Sequence[Item]) -> Item:
        """What can be decided now; else the premise with most values known, in the order of writing.

        What gives another value each time is asked for each binding of all that is written before it.
        """
        for item in left:
            ready = not isinstance(item, Premise) and is_ready(item, self.places)
            if ready and (item is left[0] or not _is_volatile(item)):
                return item
        premises = [item for item in left if isinstance(item, Premise)]
        assert premises, self.rule.label
        return max(premises, key=lambda item: len(self._bound(item)) - len(item.args) * 0.01)

    def _bound(self, item: Premise) -> tuple[int, ...]:
        return tuple(
            column
            for column, arg in enumerate(item.args)
            if isinstance(arg, Constant) or isinstance(arg, Variable) and arg.name in self.places
        )

    def _step(self, item: Item) -> Callable[[Step], Step]:
        if isinstance(item, Premise):
            return self._join(item)
        if isinstance(item, Test):
            holds = self.maker.evaluator.test(item.op, item.left, item.right, self.places, self.rule.types)
            return lambda following: _testing(holds, following)
        if isinstance(item, Absent):
            return self._lacks(item)
        return self._compute(item)

    def _lacks(self, item: Absent) -> Callable[[Step], Step]:
        """No such row, as the table is now: for update rules, whose tables do not change meanwhile."""
        table = self.maker.numbers[item.relation]
        read = _key(item.args, self.places)
        single = len(item.args) == 1
        return lambda following: _lacking(table, read, single, following)

    def _compute(self, item: Compute) -> Callable[[Step], Step]:
        evaluator = self.maker.evaluator
        if isinstance(item.value, Call) and evaluator.functions.is_generator(item.value.function):
            name = item.value.function
            parts = [evaluator.term(arg, self.places, self.rule.types) for arg in item.value.args]
            types = [evaluator.type_of(arg, self.rule.types) for arg in item.value.args]
            known = self.places.get(item.variable.name)
            place = self.places.setdefault(item.variable.name, len(self.places))

            def values(registers: Registers) -> list[Any]:
                return evaluator.generate(name, types, [part(registers) for part in parts])

            return lambda following: _generating(values, place, known is not None, following)
        value = evaluator.term(item.value, self.places, self.rule.types)
        if item.variable.name in self.places:
            place = self.places[item.variable.name]
            return lambda following: _testing(lambda regs: bool(value(regs) == regs[place]), following)
        place = self.places.setdefault(item.variable.name, len(self.places))
        return lambda following: _computing(value, place, following)

    def _join(self, item: Premise) -> Callable[[Step], Step]:
        table = self.maker.numbers[item.relation]
        bound = self._bound(item)
        self.lookups.append((table, bound))
        key = _key([item.args[column] for column in bound], self.places)
        rest = [column for column in range(len(item.args)) if column not in bound]
        match = _matcher([item.args[column] for column in rest], rest, self.places)
        place = next(number for number, one in enumerate(self.premises) if one is item)
        older = 0 <= place < self.position
        whole = len(bound) == len(item.args)
        return lambda following: _joining(table, bound, key, match, place, older, whole, following)

    def _end(self) -> Step:
        sources = [
            (self.places[term.name], None) if isinstance(term, Variable) else (-1, term.value)
            for term in self.rule.head
        ]
        if self.position == HEAD:
            return lambda firing: firing.found((), firing.entries)
        if sources and all(place >= 0 for place, _ in sources):
            if len(sources) == 1:
                only = sources[0][0]
                return lambda firing: firing.found((firing.registers[only],), firing.entries)
            read = itemgetter(*(place for place, _ in sources))
            return lambda firing: firing.found(read(firing.registers), firing.entries)

        def end(firing: Firing) -> None:
            registers = firing.registers
            row = tuple(registers[place] if place >= 0 else value for place, value in sources)
            firing.found(row, firing.entries)

        return end


def _is_volatile(item: Item) -> bool:
    return any(call.function in VOLATILE for term in part_terms(item) for call in calls(term))


# ------------------------------------------------------------------ steps


def _matcher(
    terms: Sequence[Term], columns: Sequence[int], places: dict[str, int]
) -> Callable[[Row, Registers], bool]:
    """What puts the values of a row into registers, and says whether it fits. New variables get registers."""
    puts: list[tuple[int, int]] = []
    equals: list[tuple[int, int]] = []
    constants: list[tuple[int, Any]] = []
    for column, term in zip(columns, terms, strict=True):
        if isinstance(term, Constant):
            constants.append((column, term.value))
        elif isinstance(term, Variable):
            if term.name in places:
                equals.append((column, places[term.name]))
            else:
                places[term.name] = len(places)
                puts.append((column, places[term.name]))

    def match(row: Row, registers: Registers) -> bool:
        for column, place in puts:
            registers[place] = row[column]
        for column, place in equals:
            if registers[place] != row[column]:
                return False
        return all(row[column] == value for column, value in constants) if constants else True

    return match


def _key(terms: Sequence[Term], places: Mapping[str, int]) -> Callable[[Registers], Any]:
    """The key to look rows up by: a value, or a tuple of several."""
    if len(terms) == 1 and isinstance(terms[0], Variable):
        return itemgetter(places[terms[0].name])
    if terms and all(isinstance(term, Variable) for term in terms):
        return itemgetter(*(places[term.name] for term in terms if isinstance(term, Variable)))
    sources = [
        (places[term.name], None) if isinstance(term, Variable) else (-1, getattr(term, "value", None))
        for term in terms
    ]
    if len(sources) == 1:
        (_, value), *_ = sources
        return lambda registers: value
    return lambda registers: tuple(registers[at] if at >= 0 else value for at, value in sources)


def _joining(
    table: int,
    bound: tuple[int, ...],
    key: Callable[[Registers], Any],
    match: Callable[[Row, Registers], bool],
    place: int,
    older: bool,
    whole: bool,
    following: Step,
) -> Step:
    def whole_row(firing: Firing) -> None:
        wanted = key(firing.registers)
        entry = firing.tables[table].rows.get(wanted if len(bound) != 1 else (wanted,))
        if entry is not None and (entry.stamp < firing.stamp or entry.stamp == firing.stamp and not older):
            firing.entries[place] = entry
            following(firing)

    def some(firing: Firing) -> None:
        registers, stamp = firing.registers, firing.stamp
        for entry in firing.tables[table].find(bound, key(registers)):
            fits = entry.stamp < stamp or entry.stamp == stamp and not older
            if fits and match(entry.row, registers):
                firing.entries[place] = entry
                following(firing)

    return whole_row if whole else some


def _lacking(table: int, read: Callable[[Registers], Any], single: bool, following: Step) -> Step:
    def step(firing: Firing) -> None:
        row = read(firing.registers)
        if ((row,) if single else row) not in firing.tables[table].rows:
            following(firing)

    return step


def _testing(holds: Callable[[Registers], bool], following: Step) -> Step:
    def step(firing: Firing) -> None:
        if holds(firing.registers):
            following(firing)

    return step


def _computing(value: Callable[[Registers], Any], place: int, following: Step) -> Step:
    def step(firing: Firing) -> None:
        firing.registers[place] = value(firing.registers)
        following(firing)

    return step


def _generating(values: Callable[[Registers], list[Any]], place: int, known: bool, following: Step) -> Step:
    def step(firing: Firing) -> None:
        registers = firing.registers
        for value in values(registers):
            if known and value != registers[place]:
                continue
            registers[place] = value
            following(firing)

    return step
