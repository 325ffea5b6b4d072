"""A node's side of the exchange: derivations go to the nodes that hold their rows.

See `maintain/exchange` for what a fixpoint relies on, and `rules/placement` for routes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from headwater.language.program import Variable
from headwater.maintain.exchange import ADD, ANSWER, ASK, LOSE, Flags, Parcel, Swapped
from headwater.nodes.messages.between import Exchanged, ParcelTable, Values
from headwater.nodes.owners import Owners
from headwater.nodes.peers import Peers
from headwater.nodes.row_tables import pack, unpack
from headwater.nodes.sent_ranks import SentRanks
from headwater.plan.execute import Sink
from headwater.plan.steps import Ints
from headwater.rules.checked import Absent, CheckedRule, Premise, described
from headwater.rules.placement import ALL, EVERYWHERE, HERE, Localised, Route
from headwater.values.codec import Codec
from headwater.values.types import Type


class NodeExchange:
    """Implements `maintain.exchange.Exchange` for one of several nodes."""

    alone = False

    def __init__(self, codec: Codec, peers: Peers, *, rank_filter: bool = True):
        self.codec = codec
        self.peers = peers
        self.number = peers.number
        self.owners = Owners(codec, peers.nodes)
        self.shipped = 0
        self._program: Localised | None = None
        self._earlier: Localised | None = None
        """The program that was in force when the version began, for rules that are gone."""
        self._rank_filter = rank_filter
        self._sent: dict[tuple[int, str], SentRanks] = {}
        self._posts: dict[tuple[int, str, str], list[Ints]] = {}
        self._types: dict[tuple[str, str], tuple[Type | None, ...]] = {}
        self._tellers: dict[tuple[str, int], int | None] = {}
        self._dropped = 0

    # ------------------------------------------------------------------ the program

    @property
    def program(self) -> Localised:
        assert self._program is not None
        return self._program

    def use(self, program: Localised | None, earlier: Localised | None = None) -> None:
        """Go by another program. What was remembered of the old one is forgotten; `earlier` is the one that was in
        force when the version began, for where the derivations of its rules went."""
        self._program, self._earlier = program, earlier
        self._sent.clear()
        self._posts.clear()
        self._types.clear()
        self._tellers.clear()
        if program is None:
            return
        relations = program.checked.relations
        if earlier is not None:
            relations = described(earlier.checked.relations, relations)
        for stratum in program.checked.strata:
            for rule in stratum.rules:
                layout = relations[rule.relation].layout
                types = layout.code_types
                self._types[ASK, rule.label] = types
                if rule.aggregate is not None and rule.aggregate.demand is None:
                    place = layout.code(rule.aggregate.position)
                    types = tuple(t for i, t in enumerate(types) if i != place)
                    if rule.aggregate.argument is not None:
                        types = (*types, rule.types[rule.aggregate.argument.name])
                self._types[ADD, rule.relation] = self._types[LOSE, rule.relation] = types
                self._types[ANSWER, rule.relation] = ()

    def quiet(self, rules: tuple[CheckedRule, ...], *, before: bool = False) -> bool:
        """Whether these rules concern this node alone."""
        if not self.peers.others:
            return True
        return all(self._route(rule, before).quiet for rule in rules)

    def _route(self, rule: CheckedRule, before: bool = False) -> Route:
        program = self._earlier if before else self.program
        assert program is not None
        return program.routes[rule.label]

    def forget(self, names: Sequence[str]) -> None:
        """The rows of these relations get new ranks."""
        for key in [key for key in self._sent if key[1] in names]:
            del self._sent[key]

    # ------------------------------------------------------------------ out

    def outward(self, rule: CheckedRule, kind: str, sink: Sink, *, before: bool = False) -> Sink:
        """Keep what belongs here, post the rest."""
        route = self._route(rule, before)
        if route.local or not self.peers.others:
            return sink
        if route.home == EVERYWHERE:

            def broadcast(tuples: Ints) -> None:
                for other in self.peers.others:
                    self._post(other, kind, rule, tuples.copy())
                sink(tuples)

            return broadcast
        layout = self.program.checked.relations[rule.relation].layout
        column = route.home.column
        aggregate = rule.aggregate
        grouped = aggregate is not None and aggregate.demand is None
        missing = int(aggregate is not None and grouped and column > aggregate.position)

        def split(tuples: Ints) -> None:
            if route.home.split:
                owners = self.owners.of_rows(tuples, layout, column, missing)
            else:
                owners = np.zeros(tuples.shape[0], np.int64)
            mine = tuples[owners == self.number]
            if route.shared:
                self._dropped += tuples.shape[0] - mine.shape[0]
            elif mine.shape[0] < tuples.shape[0]:
                for other in self.peers.others:
                    part = tuples[owners == other]
                    if part.shape[0]:
                        self._post(other, kind, rule, part)
            if mine.shape[0]:
                sink(mine)

        return split

    def _post(self, other: int, kind: str, rule: CheckedRule, tuples: Ints) -> None:
        once = rule.label == rule.relation  # a copy: each row has one derivation
        if self._rank_filter and rule.aggregate is None and not once:
            key = other, rule.relation
            sent = self._sent.get(key)
            if sent is None:
                sent = self._sent[key] = SentRanks(rule.relation, tuples.shape[1] - 1)
            tuples = sent.news(tuples, kind == ADD)
        if tuples.shape[0]:
            self._posts.setdefault((other, kind, rule.relation), []).append(tuples)

    def tells(self, rule: CheckedRule, position: int) -> bool:
        return self._told_by(rule, position) is not None

    def leads_here(self, rule: CheckedRule, position: int, codes: Ints) -> Flags:
        """Where a route is shared, every node finds every derivation: those of rows held elsewhere are left out."""
        route, code = self._route(rule), self._told_by(rule, position)
        assert code is not None
        if route.local or not self.peers.others:
            return np.ones(codes.shape[0], np.bool_)
        if not route.home.split:
            return np.full(codes.shape[0], self.number == 0)
        premise = rule.body[position]
        assert isinstance(premise, Premise | Absent)
        types = self.program.checked.relations[premise.relation].layout.code_types
        here: Flags = self.owners.of(codes[:, code], types[code]) == self.number
        return here

    def _told_by(self, rule: CheckedRule, position: int) -> int | None:
        """The code column of a premise that tells where the rows of the head are held; `None` if none does."""
        key = rule.label, position
        if key not in self._tellers:
            self._tellers[key] = self._teller(rule, position)
        return self._tellers[key]

    def _teller(self, rule: CheckedRule, position: int) -> int | None:
        route, premise = self._route(rule), rule.body[position]
        assert isinstance(premise, Premise | Absent)
        if route.local or not self.peers.others or (route.shared and not route.home.split):
            return 0
        if not route.shared or rule.aggregate is not None:
            return None
        value = rule.head[route.home.column]
        names = [arg.name if isinstance(arg, Variable) else None for arg in premise.args]
        if not isinstance(value, Variable) or value.name not in names:
            return None  # a constant, or found by other premises
        relations = self.program.checked.relations
        there, here = relations[premise.relation].layout, relations[rule.relation].layout
        code = there.code(names.index(value.name))
        same = there.code_types[code] == here.code_types[here.code(route.home.column)]
        return code if same else None

    def ask(self, rule: CheckedRule, rows: Ints, numbers: Ints) -> Ints:
        """Send the rows to those who could derive them."""
        route = self._route(rule)
        everyone: Ints = np.arange(rows.shape[0])
        if route.ask == HERE or not self.peers.others:
            return everyone
        question = np.column_stack([rows, numbers])
        if route.ask == ALL:
            for other in self.peers.others:
                self._posts.setdefault((other, ASK, rule.label), []).append(question)
            return everyone
        layout = self.program.checked.relations[rule.relation].layout
        owners = self.owners.of_rows(rows, layout, route.ask)
        for other in self.peers.others:
            part = question[owners == other]
            if part.shape[0]:
                self._posts.setdefault((other, ASK, rule.label), []).append(part)
        mine: Ints = everyone[owners == self.number]
        return mine

    def answer(self, name: str, numbers: Ints, asker: int) -> None:
        """To be sent with the next exchange."""
        self._posts.setdefault((asker, ANSWER, name), []).append(numbers.reshape(-1, 1))

    def dropped(self) -> int:
        dropped, self._dropped = self._dropped, 0
        return dropped

    # ------------------------------------------------------------------ exchange

    def swap(self, clock: int, spent: int = 0) -> Swapped:
        """One message to each other node and one from each."""
        parcels: dict[int, list[ParcelTable]] = {other: [] for other in self.peers.others}
        posted = 0
        for (other, kind, name), parts in self._posts.items():
            rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
            posted += rows.shape[0]
            table = pack(self.codec, rows, self._types[kind, name])
            parcels[other].append(ParcelTable(kind, name, table))
        self._posts = {}
        self.shipped += posted
        received = self.peers.swap(
            {other: Exchanged(clock, spent, posted, tuple(own)) for other, own in parcels.items()}
        )
        for _, theirs in received:
            clock = max(clock, theirs.clock)
            spent += theirs.spent
            posted += theirs.posted
        for sent in self._sent.values():
            sent.arrived(clock)
        return Swapped(posted > 0, clock, spent, self._parcels(received))

    def _parcels(self, received: Sequence[tuple[int, Exchanged]]) -> Iterator[Parcel]:
        for sender, theirs in received:
            for parcel in theirs.parcels:
                rows = unpack(self.codec, parcel.rows, self._types[parcel.kind, parcel.name], extra=1)
                if parcel.kind == ASK:
                    self._heard(parcel.name, rows)
                yield Parcel(parcel.kind, parcel.name, rows, sender)

    def _heard(self, label: str, rows: Ints) -> None:
        """A question is about rows that died: whatever was known of their ranks is over."""
        relation = next(
            rule.relation for s in self.program.checked.strata for rule in s.rules if rule.label == label
        )
        codes = np.ascontiguousarray(rows[:, :-1])
        for (_, name), sent in self._sent.items():
            if name == relation:
                sent.forget(codes)

    def sums(self, *values: float) -> tuple[float, ...]:
        """Added up in the order of the nodes' numbers, so that all get the same."""
        received = self.peers.swap(dict.fromkeys(self.peers.others, Values(values)))
        by_node = {other: theirs.values for other, theirs in received}
        by_node[self.number] = values
        return tuple(sum(by_node[node][i] for node in sorted(by_node)) for i in range(len(values)))

    # ------------------------------------------------------------------ versions

    def commit(self) -> None:
        """Keep what was learned about others."""
        for sent in self._sent.values():
            sent.commit()

    def rollback(self) -> None:
        """Forget what the open version told, and what it had still to send."""
        self._posts.clear()
        self._dropped = 0
        for sent in self._sent.values():
            sent.rollback()
