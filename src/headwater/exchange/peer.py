"""A peer: its users edit offline, publish, and bring their instance up to date whenever they like."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.annotations.protocol import AnyAnnotation
from headwater.calls import public_class
from headwater.database.answers import Answers
from headwater.errors import DataError
from headwater.events import Event, PreviewedBeside
from headwater.exchange.attached import AttachedDatabase
from headwater.exchange.conflicts import KEPT_BACK
from headwater.exchange.description import ConfederationDescription
from headwater.exchange.edit import Edit, PolicyEdit, Row, Transaction, TransactionId
from headwater.exchange.edit_state import RowKey, RowState
from headwater.exchange.instance import PeerInstance
from headwater.exchange.net_change import NetChange, Taking
from headwater.exchange.policies import statements
from headwater.exchange.published import PublishedLogs
from headwater.exchange.questions import question_text
from headwater.exchange.ready import ready
from headwater.exchange.reconciliation import Conflict, ValueClash
from headwater.exchange.rejected import WhyRejected, kept_out
from headwater.exchange.relation import PeerRelationView, without_nulls
from headwater.exchange.report import UpdateReport
from headwater.exchange.why import PeerWhy
from headwater.language.mappings.mapping import PeerRelation
from headwater.spelling import did_you_mean
from headwater.values import arguments


@public_class
class Peer:
    """One participant of a confederation. All computation is in its own instance; only published logs travel."""

    def __init__(
        self, name: str, description: ConfederationDescription, logs: PublishedLogs, path: Path | None = None
    ):
        self.name = name
        self._logs = logs
        self._instance = PeerInstance(name, description, path, published=self._published)
        self._attached: AttachedDatabase | None = None
        try:
            self._restore()
            described = description.peer(name)
            if described.database is not None:
                self._attached = AttachedDatabase(described, self._instance)
        except BaseException:
            self._instance.close()
            raise

    def _restore(self) -> None:
        """What this peer has published and its folder does not know: the folder was lost."""
        known = self._instance.taken(self.name)
        if self._logs.last(self.name) > known:
            self._instance.take(list(self._logs.read(self.name, known)))

    def close(self) -> None:
        """Release the files. Whatever was edited is on the disk already, if there is one."""
        if self._attached is not None:
            self._attached.close()
        self._instance.close()

    @property
    def instance(self) -> PeerInstance:
        """The database in which the peer computes."""
        return self._instance

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of its own relations."""
        return tuple(relation.name for relation in self._instance.schemas.of(self.name))

    # ------------------------------------------------------------------ the peer's own database

    @property
    def database(self) -> AttachedDatabase | None:
        """The database outside of Headwater in which its users see and edit its relations, if it has one."""
        return self._attached

    def capture(self) -> tuple[TransactionId, ...]:
        """Take in what users did in the peer's own database since the last time; `publish` and `update` do it too."""
        before = self._instance.taken(self.name)
        if self._attached is not None:
            self._attached.capture(self._take_captured)
            self._attached.show()
        after = self._instance.taken(self.name)
        return tuple(TransactionId(self.name, number) for number in range(before + 1, after + 1))

    def _take_captured(self, transactions: Sequence[Sequence[Edit]], marks: Mapping[str, Any]) -> None:
        first = self._next().number
        made = [
            Transaction(TransactionId(self.name, number), self._instance.deleted_for_good(edits))
            for number, edits in enumerate(transactions, first)
        ]
        self._instance.take(made, own=True, more_marks=marks)

    def _show(self) -> None:
        """Let the peer's own database follow."""
        if self._attached is not None:
            self._attached.show()

    # ------------------------------------------------------------------ editing and exchanging

    def edit(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        reinstate: Mapping[str, Any] | None = None,
        depends: Iterable[str | TransactionId] = (),
    ) -> TransactionId:
        """Edit own relations, deletes first: one transaction, visible here at once, to others once it is published.

        Deleting a row that was inserted here takes the contribution back; deleting any other row rejects it, for
        good, until it is inserted again or the rejection ends: `reinstate` names rejected rows that mappings may
        bring again, without contributing them. The transaction depends on those named.
        """
        gone = arguments.mapping("delete", delete, '{"B": rows}')
        come = arguments.mapping("insert", insert, '{"B": rows}')
        again = arguments.mapping("reinstate", reinstate, '{"B": rows}')
        edits = (
            *self._reinstating(self._instance.edits("+", again)),
            *self._instance.edits("-", gone),
            *self._instance.edits("+", come),
        )
        if not edits:
            raise DataError("no-edits", "there is nothing to edit", hint='edit(insert={"B": [(3, 5)]})')
        transaction = Transaction(self._next(), edits, tuple(map(self._known, depends)))
        self._instance.take([transaction], own=True)
        self._show()
        return transaction.id

    def _known(self, named: str | TransactionId) -> TransactionId:
        """A transaction that another can depend on: of a peer that there is, and not one that this peer has
        still to make: all would wait for it, and for what comes after."""
        found = named if isinstance(named, TransactionId) else TransactionId.parse(named)
        peers = [peer.name for peer in self._instance.description.peers]
        if found.peer not in peers:
            hint = did_you_mean(found.peer, peers) or f"there are: {', '.join(peers)}"
            raise DataError("unknown-peer", f"{found} is of no peer that there is", hint=hint)
        if found.number < 1 or found.peer == self.name and found.number >= self._next().number:
            hint = "edits, publish and status say the ids of those there are"
            raise DataError("unknown-transaction", f"there is no transaction {found}", hint=hint)
        return found

    def _reinstating(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """What ends the rejection of rows: they are inserted, and taken back."""
        for edit in edits:
            if self._instance.state(self.name, (edit.relation, edit.row)) is not RowState.REJECTED:
                raise DataError(
                    "not-rejected",
                    f"{edit.relation}{edit.row!r} is not rejected at {self.name}",
                    hint="why_rejected says what keeps a row out",
                )
            yield edit
            yield Edit("-", edit.relation, edit.row)

    def _next(self) -> TransactionId:
        return TransactionId(self.name, self._instance.taken(self.name) + 1)

    def publish(self) -> tuple[TransactionId, ...]:
        """Let all others have what was edited here since the last time; what that was."""
        self.capture()
        waiting = self._instance.waiting()
        last = self._logs.last(self.name)
        self._logs.append(self.name, waiting)
        self._instance.forget_published(self._logs.last(self.name))
        self._show()
        return tuple(transaction.id for transaction in waiting if transaction.id.number > last)

    def update(self) -> UpdateReport:
        """Take on what others have published since the last time, exactly once, and follow it."""
        self.capture()
        transactions, waiting = self._ready()
        taking = self._instance.take(transactions) if transactions else Taking(self.name)
        self._show()
        return UpdateReport(self.name, tuple(transactions), tuple(waiting), taking.net)

    def preview(self) -> UpdateReport:
        """What `update` would do, without doing it. What users did in the peer's own database is taken in first, as
        `update` does: it says what becomes of the rest."""
        self.capture()
        transactions, waiting = self._ready()
        net, events = self._supposed(transactions)
        return UpdateReport(self.name, tuple(transactions), tuple(waiting), lambda: net, True, events)

    def _ready(self) -> tuple[list[Transaction], list[TransactionId]]:
        peers = [peer.name for peer in self._instance.description.peers]
        taken = {peer: self._instance.taken(peer) for peer in peers}
        published = {peer: self._logs.read(peer, taken[peer]) for peer in peers if peer != self.name}
        return ready(published, taken)

    def _supposed(self, transactions: Sequence[Transaction]) -> tuple[NetChange, tuple[Event, ...]]:
        """What taking transactions on would do; if something has to be decided, by way of a copy of all."""
        supposed = self._instance.supposed(transactions) if transactions else None
        if supposed is not None or not transactions:
            return Taking(self.name, () if supposed is None else (supposed,)).net(), ()
        beside = self._instance.recomputed()
        try:
            rows = sum(map(len, beside.base_rows().values()))
            return beside.take(transactions).net(), (PreviewedBeside(rows),)
        finally:
            beside.close()

    @property
    def unpublished(self) -> tuple[Transaction, ...]:
        """What was edited here and others cannot have yet."""
        last = self._logs.last(self.name)
        return tuple(transaction for transaction in self._instance.waiting() if transaction.id.number > last)

    # ------------------------------------------------------------------ trust

    def trust(self, add: str = "", *, remove: str = "") -> tuple[str, ...]:
        """State trust conditions, and take others back; all that hold then. Without either, just say these.

        They take effect here at once, and for what others get from here once they are published.
        """
        added = statements(arguments.text("trust", add))
        removed = self._instance.policies.stated(self.name, arguments.text("remove", remove))
        edits = (*(PolicyEdit("-", one) for one in removed), *(PolicyEdit("+", one) for one in added))
        if edits:
            self._instance.check_policies(self._instance.policies.after(self.name, edits))
            self._instance.take([Transaction(self._next(), policy=edits)], own=True)
            self._show()
        return tuple(self._instance.policies.texts.get(self.name, ()))

    # ------------------------------------------------------------------ reading

    def __getitem__(self, name: str) -> PeerRelationView:
        instance = self._instance
        relation = instance.named(arguments.relation_name(name))
        columns = tuple(column.name for column in instance.schemas.columns[relation])
        output = instance.compiled.names.output(relation)
        return PeerRelationView(instance.database, relation, output, columns, instance.border)

    def query(self, text: str, *, nulls: bool = False) -> Answers:
        """The answers to a question over all relations, as this peer has them: the certain ones; with `nulls` also
        those that hold labelled nulls."""
        arguments.flag("nulls", nulls)
        asked = question_text(arguments.text("query", text), self._instance.compiled, self.name)
        found = self._instance.answers(asked)
        return found if nulls else without_nulls(found)

    def why(self, relation: str, row: Sequence[Any]) -> PeerWhy:
        """Why a row is there: its provenance in terms of mappings and contributions, and who made these."""
        view = self[relation]
        asked = self._row(relation, row)
        if asked not in view:
            raise DataError(
                "no-such-row",
                f"{view.relation.name}{asked!r} is not there",
                hint="why_rejected tells what kept it out",
            )
        stored = self._instance.stored_row(view.relation, asked)
        found = self._instance.database.why(view.output, stored)
        return PeerWhy(self.name, found, self._instance.compiled, self._contributors)

    def evaluate(
        self,
        relation: str,
        annotation: str | AnyAnnotation,
        base: Callable[[str, str, Row], object] | None = None,
        mappings: Mapping[str, object] | None = None,
    ) -> dict[Row, Any]:
        """What each row of a relation carries in an annotation, such as viterbi or clearance: `base` says what a
        contribution carries, by peer, relation and row, `mappings` what using a mapping multiplies by. Where the
        peer computes on nodes, this process does it again, from all base rows."""
        view, compiled = self[relation], self._instance.compiled
        rules: dict[str, object] = {}
        for label, value in arguments.mapping("mappings", mappings, '{"m1": 0.9}').items():
            known = compiled.rules_of(label)
            if not known:
                hint = did_you_mean(label, compiled.mappings.labels)
                raise DataError("unknown-mapping", f"there is no mapping {label}", hint=hint)
            rules |= dict.fromkeys(known, value)

        def said(name: str, row: Row) -> object:
            of = compiled.contributions.get(name)
            return None if base is None or of is None else base(of.peer, of.name, row)

        if self._instance.database.runner.here:
            return dict(self._instance.database.evaluate(view.output, annotation, said, rules=rules).items())
        beside = self._instance.recomputed()
        try:
            return dict(beside.database.evaluate(view.output, annotation, said, rules=rules).items())
        finally:
            beside.close()

    def why_rejected(self, relation: str, row: Sequence[Any]) -> WhyRejected:
        """Why a row is not there: who deleted it, what reconciliation decided, which conditions keep it out."""
        view, instance = self[relation], self._instance
        asked, named = self._row(relation, row), view.relation
        conditions = instance.policies.conditions().get(named.peer, ())
        found = tuple(kept_out(instance.database, instance.compiled, named, asked, conditions))
        curated: tuple[TransactionId, ...] = ()
        if instance.state(named.peer, (named.name, asked)) is RowState.REJECTED:
            key = (named.name, asked)
            curated = self._touching(named.peer, [key], "-")[key]
        choosing = named in instance.compiled.choosing
        decided = instance.reconciler.decisions(named.peer) if choosing else {}
        withheld = decided[named, asked].value if (named, asked) in decided else ""
        barring = instance.reconciler.rejecting(named, asked) if withheld else None
        ranked = "" if barring is None else barring.text
        return WhyRejected(named.peer, named.name, asked, asked in view, curated, withheld, found, ranked)

    # ------------------------------------------------------------------ conflicts

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Rows of this peer that agree in a key and cannot all be true, and what was decided about each."""
        return tuple(self._instance.reconciler.conflicts(self.name))

    @property
    def clashes(self) -> tuple[ValueClash, ...]:
        """Known values that would have to be equal by a dependency that is no key; all rows that hold them stay."""
        return tuple(self._instance.reconciler.clashes())

    def resolve(
        self, relation: str, keep: Sequence[Any] | None = None, *, reject: Iterable[Sequence[Any]] = ()
    ) -> TransactionId:
        """Resolve a conflict: keep a row and reject its rivals, or reject rows. This is an edit as any other.

        In a cycle of mappings rivals may follow from each other. A row whose rival follows from it has none while it
        is kept back, and one that follows from its rival goes with it: such a row is kept as one's own. So is one
        that would be kept back all the same: a condition gives it the priority 0, or it falls with a transaction.
        """
        own = self._instance.own(str(self[relation].relation))
        kept = None if keep is None else self._row(relation, keep)
        rivals = [] if kept is None else self._rivals(own, kept)
        edits = [
            Edit("-", own.name, row)
            for row in (*(self._row(relation, each) for each in reject), *rivals)
            for _ in range(2 if self._instance.state(self.name, (own.name, row)) is RowState.INSERTED else 1)
        ]
        if kept is not None and (
            not rivals or self._kept_back(own, kept, rivals) or self._goes_with(own, kept, edits)
        ):
            edits.append(Edit("+", own.name, kept))
        if not edits:
            raise DataError("no-edits", "there is nothing to resolve", hint="say which row to keep")
        transaction = Transaction(self._next(), tuple(edits))
        self._instance.take([transaction], own=True)
        self._show()
        return transaction.id

    def _kept_back(self, relation: PeerRelation, row: Row, rivals: Sequence[Row]) -> bool:
        """Whether a row is kept back also without some of its rivals."""
        without = frozenset((relation, rival) for rival in rivals)
        return self._instance.reconciler.decisions(self.name, without).get((relation, row)) in KEPT_BACK

    def _goes_with(self, relation: PeerRelation, row: Row, edits: Sequence[Edit]) -> bool:
        """Whether nothing brings a row any more after these edits."""
        changes = self._instance.changes_of([Transaction(self._next(), tuple(edits))])
        done = self._instance.database.what_if(changes.insert, changes.delete)
        return row in done[self._instance.compiled.names.candidates(relation)].deleted

    def _rivals(self, relation: PeerRelation, kept: Row) -> list[Row]:
        for conflict in self.conflicts:
            if conflict.relation == relation.name and kept in (option.row for option in conflict.options):
                return self._instance.reconciler.rivals(relation, kept)
        raise DataError(
            "no-conflict",
            f"{relation.name}{kept!r} is in no conflict",
            hint="conflicts lists those there are; rows are deleted by edit",
        )

    def _row(self, relation: str, row: Sequence[Any]) -> Row:
        (found,) = self._instance.rows_of(self[relation].relation, [tuple(row)])
        return found

    def _contributors(
        self, peer: str, rows: Collection[RowKey]
    ) -> Mapping[RowKey, tuple[TransactionId, ...]]:
        """The transactions since rows were last absent in which a peer inserted them."""
        return self._touching(peer, rows, "+")

    def _touching(
        self, peer: str, rows: Collection[RowKey], sign: str
    ) -> dict[RowKey, tuple[TransactionId, ...]]:
        """The last transactions of a peer in a row that did this to rows."""
        found: dict[RowKey, dict[TransactionId, None]] = {key: {} for key in rows}
        for transaction in self._taken_on(peer, self._logs.editing(peer, rows)):
            for edit in transaction.edits:
                key = (edit.relation, edit.row)
                if key in found:
                    found[key] = {**found[key], transaction.id: None} if edit.sign == sign else {}
        return {key: tuple(each) for key, each in found.items()}

    def _taken_on(self, peer: str, published: Iterable[Transaction]) -> Iterator[Transaction]:
        """Those of some published transactions that were taken on here, and what this peer has not published yet."""
        for transaction in published:
            if transaction.id.number > self._instance.taken(peer):
                return
            yield transaction
        if peer == self.name:
            yield from self.unpublished

    def _published(self, peer: str, after: int) -> Iterable[Transaction]:
        """What a peer has published after a number; of this one, more may be taken on than is published."""
        return self._logs.read(peer, after) if after < self._logs.last(peer) else ()

    def __repr__(self) -> str:
        waiting = len(self.unpublished)
        return f"<peer {self.name}: {', '.join(self.relations)}; {waiting} transactions to publish>"
