"""A peer's own copy of the confederation: contributions and rejections of all peers in a database, and what follows.

What it holds follows from the logs that it has taken, and from nothing else: rows, trust conditions and how far each
log was read change in one version. The program is brought in line with the conditions afterwards; if the process ends
in between, that happens when the instance is opened again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headwater.database import Database
from headwater.database.answers import Answers
from headwater.errors import DataError, RuleError, UnknownRelation
from headwater.exchange.barred import BarredRows
from headwater.exchange.border import Border
from headwater.exchange.conflicts import Reconciler
from headwater.exchange.description import ConfederationDescription
from headwater.exchange.edit import Edit, PolicyEdit, Row, Transaction
from headwater.exchange.edit_state import RowKey, RowState, settled
from headwater.exchange.net_change import NetChange, Step, Taking
from headwater.exchange.policies import Policies
from headwater.exchange.row_values import rows_of
from headwater.exchange.schemas import read_schemas
from headwater.exchange.taken import History, no_history
from headwater.exchange.together import Together
from headwater.exchange.wire import decode, encode
from headwater.language.datalog.render import render
from headwater.language.mappings import compiled, parse
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.internal import RowList
from headwater.language.mappings.mapping import PeerRelation
from headwater.language.program import Atom, Column, Constant, Declaration, Program
from headwater.rules.check import check
from headwater.values.types import INT, STRING
from headwater.version.changes import Changes

LOG = "exchange_log"
"""The peer's own transactions that are not published yet, by number."""
POLICY = "exchange_policy"
"""Conditions that peers have stated or taken back since the beginning."""
KEPT = {
    LOG: (Column("number", INT), Column("transaction", STRING)),
    POLICY: (
        Column("peer", STRING), Column("number", INT), Column("place", INT), Column("sign", STRING),
        Column("condition", STRING),
    ),
}  # fmt: skip


PLACES = ("run", "nodes", "budget", "replicate", "rank_filter", "min_ship", "spark")
"""Options that say where a peer computes."""


@dataclass(frozen=True)
class RowChanges:
    """Base rows to insert and delete, by internal name."""

    insert: Mapping[str, Sequence[Row]]
    delete: Mapping[str, Sequence[Row]]


class PeerInstance:
    """The database of one peer; `name` is the peer's."""

    def __init__(
        self,
        name: str,
        description: ConfederationDescription,
        path: Path | None = None,
        base: Mapping[str, Sequence[Row]] | None = None,
        published: History = no_history,
        marks: Mapping[str, Any] | None = None,
    ):
        """`base` are rows to begin with, and `marks` how far the logs were read that they are from; `published` reads
        logs."""
        self.name = name
        self.published = published
        self._together = Together(self.transactions)
        self.description = description
        self.schemas = read_schemas(description)
        self.mappings = parse(description.mappings, description.source)
        self._border: Border | None = None
        self.written_out = False
        """Whether somebody asks what is `not_written`."""
        self._not_written: list[NetChange] = []
        self._barred = BarredRows()
        self.database = Database(path, **{"strict": False, **description.options})
        try:
            self.policies = self._known_policies(base)
            self.compiled = self._compile(self.policies)
            self._take_on(base or {}, marks)
            self.reconcile()
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        """Release the files."""
        self.database.close()

    # ------------------------------------------------------------------ the program

    def _known_policies(self, base: Mapping[str, Sequence[Row]] | None) -> Policies:
        rows: Iterable[Row] = (base or {}).get(POLICY, ())
        if POLICY in self.database:
            rows = self.database[POLICY].rows()
        policies = Policies.of(self.description)
        for peer, _, _, sign, condition in sorted(rows, key=lambda row: row[:3]):
            policies = policies.after(str(peer), [PolicyEdit("+" if sign == "+" else "-", str(condition))])
        return policies

    def _compile(self, policies: Policies) -> CompiledMappings:
        found = compiled(self.schemas, self.mappings, policies.conditions())
        kept = tuple(Declaration(name, columns) for name, columns in KEPT.items())
        program = replace(found.program, declarations=(*kept, *found.program.declarations))
        program = replace(program, text=render(program))
        self._check(replace(found, program=program))
        return replace(found, program=program)

    def _check(self, found: CompiledMappings) -> None:
        """Refuse what the database would refuse, before anything is changed, and in the users' words."""
        if self._program() == found.program.text:
            return
        for relations in found.lists.values():
            for relation, atoms in relations.items():
                self.rows_of(relation, [_values(atom) for atom in atoms])
        try:
            check(found.program, self.database.functions)
        except RuleError as error:
            for relation in self.schemas.columns:
                error.message = re.sub(
                    rf"\b{relation.peer}_{relation.name}_[otcr]\d*\b", str(relation), error.message
                )
            raise

    def check_policies(self, policies: Policies) -> None:
        """Refuse conditions that cannot be kept."""
        self._compile(policies)

    def _take_on(
        self, base: Mapping[str, Sequence[Row]], marks: Mapping[str, Any] | None = None
    ) -> list[Step]:
        """Let the database run the program of the present conditions, and hold the rows of their lists."""
        done = []
        if self._program() != self.compiled.program.text:
            done.append((self.database.redefine(self.compiled.program), self.compiled))
        if base or marks:
            self.database.apply({name: list(rows) for name, rows in base.items() if rows}, marks=marks)
        listed = self._listed(self.compiled)
        if listed.insert or listed.delete:
            done.append((self.database.apply(listed.insert, listed.delete), self.compiled))
        return done

    def _listed(self, compiled: CompiledMappings) -> RowChanges:
        """What has to change for the lists of conditions to hold the rows that they name."""
        insert: dict[str, list[Row]] = {}
        delete: dict[str, list[Row]] = {}
        for listed, relations in compiled.lists.items():
            for relation, atoms in relations.items():
                wanted = set(map(_values, atoms))
                name = RowList(listed, relation).name
                there = set(self.database[name].rows()) if name in self.database else set()
                if wanted != there:
                    insert[name], delete[name] = list(wanted - there), list(there - wanted)
        return RowChanges(insert, delete)

    def _program(self) -> str:
        texts = self.database.texts
        return texts[-1][0] if texts else ""

    # ------------------------------------------------------------------ rows as users give them

    def edits(self, sign: Any, given: Mapping[str, Any]) -> list[Edit]:
        """Rows by relation of this peer, in any form that databases take, as edits."""
        found = []
        for name, data in given.items():
            relation = self.own(name)
            for row in self.rows_of(relation, data):
                found.append(Edit(sign, relation.name, row))
        return found

    def named(self, name: str) -> PeerRelation:
        """The relation of a name; of this peer, where several have it."""
        try:
            return self.schemas.named(name, self.name)
        except RuleError as error:
            raise UnknownRelation(error.code, error.message, hint=error.hint) from None

    def own(self, name: str) -> PeerRelation:
        """A relation of this peer."""
        relation = self.named(name)
        if relation.peer != self.name:
            raise DataError(
                "not-yours",
                f"{relation.name} is a relation of {relation.peer}: {self.name} cannot edit it",
                hint=f"its own are {', '.join(r.name for r in self.schemas.of(self.name)) or 'none'}",
            )
        return relation

    def rows_of(self, relation: PeerRelation, data: Any) -> list[Row]:
        """Rows as tuples of values of the column's types; refuses others, and nulls where there are none."""
        return rows_of(self.schemas.columns[relation], data, relation.name)

    # ------------------------------------------------------------------ taking transactions

    def changes_of(self, transactions: Iterable[Transaction]) -> RowChanges:
        """What transactions, in order, do to contributions and rejections."""
        edits: dict[str, list[Edit]] = defaultdict(list)
        insert: dict[str, list[Row]] = defaultdict(list)
        delete: dict[str, list[Row]] = defaultdict(list)
        for transaction in transactions:
            edits[transaction.id.peer] += transaction.edits
            insert[POLICY] += [
                (transaction.id.peer, transaction.id.number, place, edit.sign, edit.condition)
                for place, edit in enumerate(transaction.policy)
            ]
        names = self.compiled.names
        for peer, each in edits.items():
            for (name, row), state in settled(each, self._inserted(peer, each).get).items():
                relation = PeerRelation(peer, name)
                contributions, rejections = names.contributions(relation), names.rejections(relation)
                (insert if state is RowState.INSERTED else delete)[contributions].append(row)
                (insert if state is RowState.REJECTED else delete)[rejections].append(row)
        return RowChanges(insert, {name: rows for name, rows in delete.items() if len(self.database[name])})

    def _inserted(self, peer: str, edits: Iterable[Edit]) -> dict[RowKey, RowState]:
        """The rows that edits delete and a peer's users have inserted before; these are asked for together."""
        deleted: dict[str, dict[Row, None]] = defaultdict(dict)
        for edit in edits:
            if edit.sign == "-":
                deleted[edit.relation][edit.row] = None
        found: dict[RowKey, RowState] = {}
        for name, rows in deleted.items():
            there = self.database[self.compiled.names.contributions(PeerRelation(peer, name))]
            held = zip(rows, there.holds(rows), strict=True)
            found |= {(name, row): RowState.INSERTED for row, holds in held if holds}
        return found

    def state(self, peer: str, key: RowKey) -> RowState:
        """What a peer's users have made of a row so far."""
        relation = PeerRelation(peer, key[0])
        if key[1] in self.database[self.compiled.names.contributions(relation)]:
            return RowState.INSERTED
        rejected = key[1] in self.database[self.compiled.names.rejections(relation)]
        return RowState.REJECTED if rejected else RowState.NOTHING

    def deleted_for_good(self, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """Edits of somebody who deletes what a table shows: what mappings bring as well is rejected, not only taken
        back, so that it does not come again."""
        made: list[Edit] = []
        for edit in edits:
            made.append(edit)
            trusted = self.compiled.names.trusted(PeerRelation(self.name, edit.relation))
            if edit.sign == "-" and trusted in self.database and edit.row in self.database[trusted]:
                made.append(edit)
        return tuple(made)

    def take(
        self,
        transactions: Sequence[Transaction],
        *,
        own: bool = False,
        more_marks: Mapping[str, Any] | None = None,
    ) -> Taking:
        """Take transactions on; those of this peer's users (`own`) also wait to be published.

        `more_marks` are kept in the same version: how far the source of these transactions was read.
        """
        border = self.border
        rows = self.changes_of(transactions)
        insert = dict(rows.insert)
        if own:
            insert[LOG] = [(t.id.number, encode(t).decode()) for t in transactions]
        marks: dict[str, Any] = dict(more_marks or {})
        for transaction in transactions:
            marks[transaction.id.peer] = transaction.id.number
        policies = self._policies_after(transactions)
        changed = policies != self.policies
        coming = self._compile(policies) if changed else self.compiled
        done = [(self.database.apply(insert, rows.delete, marks=marks), self.compiled)]
        if changed:
            self.policies, self.compiled = policies, coming
            done += self._take_on({})
        done += self.reconcile()
        shown = None if border is None else border.follow(changes for changes, _ in done)
        if shown is not None and self.written_out:
            self._not_written.append(shown)
        return Taking(self.name, tuple(done), shown)

    def not_written(self) -> NetChange:
        """What became of what users see since the last time that somebody asked; where values may be equal."""
        found, self._not_written = NetChange.together(self._not_written), []
        return found

    def _policies_after(self, transactions: Iterable[Transaction]) -> Policies:
        policies = self.policies
        for transaction in transactions:
            policies = policies.after(transaction.id.peer, transaction.policy)
        return policies

    def supposed(self, transactions: Sequence[Transaction]) -> Step | None:
        """What taking transactions on would do, worked out and taken back, at the cost of doing it. Nothing where
        something has to be decided, before or by it: decisions take versions of their own."""
        policies = self._policies_after(transactions)
        if not self.undecided() or _reject(policies):
            return None
        rows = self.changes_of(transactions)
        if policies == self.policies:
            done, coming = self.database.what_if(rows.insert, rows.delete), self.compiled
        else:
            coming = self._compile(policies)
            listed = self._listed(coming)
            insert, delete = {**rows.insert, **listed.insert}, {**rows.delete, **listed.delete}
            done = self.database.what_if(insert, delete, redefine=coming.program)
        return (done, coming) if self.undecided(done) else None

    # ------------------------------------------------------------------ keys and equalities

    @property
    def reconciler(self) -> Reconciler:
        """What decides about rows that cannot all be true."""
        conditions = self.policies.conditions()
        return Reconciler(self.database, self.compiled, conditions, self._together, self._barred)

    def reconcile(self) -> list[Step]:
        """Withhold and let in rows as their priorities say; nothing where no peer chooses."""
        if not self.compiled.choosing:
            return []
        return [(changes, self.compiled) for changes in self.reconciler.settle()]

    @property
    def border(self) -> Border | None:
        """What shows equal values as one; none where no dependency equates values."""
        if not self.compiled.equalities.numbers:
            return None
        if self._border is None or self._border.version != self.database.version:
            self._border = Border(self.database, self.compiled, self.name)
        return self._border

    def undecided(self, changes: Changes | None = None) -> bool:
        """Whether there is nothing to decide: no row has a rival or is withheld, no condition rejects, no values are
        equal to others. With `changes`, whether these bring nothing of the kind."""
        compiled, names = self.compiled, self.compiled.names
        if _reject(self.policies):
            return False
        watched = [
            *(names.same(number) for number in compiled.equalities.numbers),
            *map(names.rivals, compiled.keyed),
            *map(names.withheld, compiled.choosing),
        ]
        if changes is not None:
            return not any(len(changes[name].inserted) for name in watched if name in changes)
        return not any(len(self.database[name]) for name in watched)

    def taken(self, peer: str) -> int:
        """The number of the last transaction of a peer that was taken on."""
        return int(self.database.marks.get(peer, 0))

    def transactions(self, peer: str, after: int = 0) -> Iterator[Transaction]:
        """The transactions of a peer after a number that were taken on."""
        last, reached = self.taken(peer), after
        for transaction in self.published(peer, after):
            if transaction.id.number > last:
                return
            reached = transaction.id.number
            yield transaction
        if peer == self.name and reached < last:
            yield from (each for each in self.waiting() if each.id.number > reached)

    def waiting(self) -> list[Transaction]:
        """The peer's own transactions that are not known to be published."""
        return [decode(str(line).encode()) for _, line in sorted(self.database[LOG].rows())]

    def forget_published(self, last: int) -> None:
        """Transactions up to this number are published."""
        gone = [row for row in self.database[LOG].rows() if row[0] <= last]
        if gone:
            border = self.border
            self.database.apply(delete={LOG: gone})
            if border is not None:
                border.follow(())

    # ------------------------------------------------------------------ reading

    def answers(self, question: str) -> Answers:
        """The answers to a question over outputs. Where values are equal, over rows that show one of each class."""
        border = self.border
        if border is None or border.as_stored:
            return self.database.query(question)
        with Database(strict=False) as beside:
            for name, relation in self.compiled.relations.items():
                if re.search(rf"\b{name}\b", question):
                    columns = ", ".join(
                        f"c{i}: {column.type}?" for i, column in enumerate(self.schemas.columns[relation])
                    )
                    shown = border.shown(relation, self.database[name].where())
                    beside.define(f".decl {name}({columns})", insert={name: shown.rows()})
            return beside.query(question)

    def stored_row(self, relation: PeerRelation, row: Row) -> Row:
        """A row that is stored for one that is shown."""
        border = self.border
        return row if border is None else border.stored(relation, row)

    # ------------------------------------------------------------------ beside it

    def base_rows(self) -> dict[str, list[Row]]:
        """All base rows."""
        base = [*(d.relation for d in self.compiled.program.declarations)]
        return {name: self.database[name].rows() for name in base if len(self.database[name])}

    def recomputed(self, *, decided: bool = True) -> PeerInstance:
        """The same from scratch, in memory: what follows from the base rows; if not `decided`, with all decisions
        made anew."""
        options = {key: value for key, value in self.description.options.items() if key not in PLACES}
        description = replace(self.description, options=options)
        base = self.base_rows()
        if not decided:
            withheld = set(map(self.compiled.names.withheld, self.compiled.choosing))
            base = {name: rows for name, rows in base.items() if name not in withheld}
        marks = {peer.name: self.taken(peer.name) for peer in description.peers}
        return PeerInstance(self.name, description, None, base, self.published, marks)

    def program(self) -> Program:
        """What the database runs."""
        return self.compiled.program


def _reject(policies: Policies) -> bool:
    """Whether a condition gives rows the priority 0."""
    return any(condition.rejects for each in policies.conditions().values() for condition in each)


def _values(atom: Atom) -> Row:
    """The row that an atom of constants names."""
    return tuple(term.value for term in atom.args if isinstance(term, Constant))
