"""What a node runs for an update rule: strands from what fires it, and from the groups of its aggregates.

- With an event, one strand starts there. Its aggregates range over the join of that one event; a second strand, of
  what the event alone tells, names the group that there is even where the join is empty.
- Without one, a strand starts at each premise. An aggregate is then that of the whole group: the strand only says
  which groups a row belongs to, and another one goes over all bindings of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headwater.language.program import Constant, Variable
from headwater.networks.strands.localisation import is_ready
from headwater.networks.strands.strand import Strand, StrandMaker
from headwater.rules.checked import Item, Premise, UpdateAggregate, UpdateKind, UpdateRule
from headwater.rules.terms import part_variables


@dataclass(frozen=True)
class UpdateStrands:
    """An update rule, compiled. `relation` is that of its head, by number.

    `fired` are the strands by the relation that fires them. Of a rule with aggregates their rows are the group's
    terms, then the arguments of the aggregates; `empty` gives the group of an event whose join is empty, `whole` all
    bindings of a group.
    """

    number: int
    relation: int
    kind: UpdateKind
    head: tuple[Variable | Constant | UpdateAggregate, ...]
    event: bool
    fired: tuple[tuple[int, Strand], ...]
    empty: Strand | None = None
    whole: Strand | None = None
    recursive: frozenset[int] = frozenset()
    """The relations whose refreshed rows do not fire it: it depends on its own head through them."""

    @property
    def aggregates(self) -> tuple[UpdateAggregate, ...]:
        """The aggregates, in the order of the head."""
        return tuple(term for term in self.head if isinstance(term, UpdateAggregate))

    @property
    def group(self) -> int:
        """How many terms of the head are not aggregates."""
        return len(self.head) - len(self.aggregates)

    @property
    def strands(self) -> tuple[Strand, ...]:
        """All of them."""
        return (
            *(strand for _, strand in self.fired),
            *(s for s in (self.empty, self.whole) if s is not None),
        )


def update_strands(
    number: int, update: UpdateRule, maker: StrandMaker, recursive: frozenset[str]
) -> UpdateStrands:
    """Compile a rule. `recursive` are the relations of its recursion."""
    group = [term for term in update.head if not isinstance(term, UpdateAggregate)]
    arguments = [a.argument or Constant(1) for a in update.aggregates]
    rule = replace(update.rule, head=tuple(group + arguments))
    premises = [item for item in rule.body if isinstance(item, Premise)]
    positions = range(len(premises)) if update.event is None else (update.event,)
    fired = tuple(
        (maker.numbers[premises[position].relation], maker.of_event(number, rule, position))
        for position in positions
    )
    empty = whole = None
    if update.aggregates and update.event is not None:
        told = _told(rule.body, premises[update.event])
        bound = {v.name for item in told for v in part_variables(item)}
        if all(isinstance(term, Constant) or term.name in bound for term in group):
            empty = maker.of_event(number, replace(rule, head=tuple(group), body=told), 0)
    elif update.aggregates:
        whole = maker.of_group(number, rule, group)
    return UpdateStrands(
        number,
        maker.numbers[update.relation],
        update.kind,
        update.head,
        update.event is not None,
        fired,
        empty,
        whole,
        frozenset(maker.numbers[name] for name in recursive),
    )


def _told(body: Sequence[Item], event: Premise) -> tuple[Item, ...]:
    """The event, and what can be decided and computed from it alone."""
    told: list[Item] = [event]
    bound = {v.name for v in part_variables(event)}
    left = [item for item in body if not isinstance(item, Premise)]
    while ready := [item for item in left if is_ready(item, bound)]:
        told += ready
        bound |= {v.name for item in ready for v in part_variables(item)}
        left = [item for item in left if not any(item is other for other in ready)]
    return tuple(told)
