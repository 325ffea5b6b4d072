"""A peer: its users edit offline, publish, and bring their instance up to date whenever they like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.calls import public_class
from headwater.database.answers import Answers
from headwater.errors import DataError
from headwater.exchange.description import ConfederationDescription
from headwater.exchange.edit import PolicyEdit, Row, Transaction, TransactionId
from headwater.exchange.instance import PeerInstance, Step
from headwater.exchange.net_change import NetChange
from headwater.exchange.policies import statements
from headwater.exchange.published import PublishedLogs
from headwater.exchange.questions import question_text
from headwater.exchange.ready import ready
from headwater.exchange.relation import PeerRelationView, without_nulls
from headwater.exchange.report import UpdateReport
from headwater.exchange.why import PeerWhy
from headwater.values import arguments


@public_class
class Peer:
    """One participant of a confederation. All computation is in its own instance; only published logs travel."""

    def __init__(
        self, name: str, description: ConfederationDescription, logs: PublishedLogs, path: Path | None = None
    ):
        self.name = name
        self._logs = logs
        self._instance = PeerInstance(name, description, path)
        self._restore()

    def _restore(self) -> None:
        """What this peer has published and its folder does not know: the folder was lost."""
        known = self._instance.taken(self.name)
        if self._logs.last(self.name) > known:
            self._instance.take(list(self._logs.read(self.name, known)))

    def close(self) -> None:
        """Release the files. Whatever was edited is on the disk already, if there is one."""
        self._instance.close()

    @property
    def instance(self) -> PeerInstance:
        """The database in which the peer computes."""
        return self._instance

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of its own relations."""
        return tuple(relation.name for relation in self._instance.schemas.of(self.name))

    # ------------------------------------------------------------------ editing and exchanging

    def edit(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        depends: Iterable[str | TransactionId] = (),
    ) -> TransactionId:
        """Edit own relations, deletes first: one transaction, visible here at once, to others once it is published.

        Deleting a row that was inserted here takes the contribution back; deleting any other row rejects it, for
        good, until it is inserted again. The transaction depends on those named.
        """
        gone = arguments.mapping("delete", delete, '{"B": rows}')
        come = arguments.mapping("insert", insert, '{"B": rows}')
        edits = (*self._instance.edits("-", gone), *self._instance.edits("+", come))
        if not edits:
            raise DataError("no-edits", "there is nothing to edit", hint='edit(insert={"B": [(3, 5)]})')
        needed = tuple(
            each if isinstance(each, TransactionId) else TransactionId.parse(each) for each in depends
        )
        transaction = Transaction(self._next(), edits, needed)
        self._instance.take([transaction], own=True)
        return transaction.id

    def _next(self) -> TransactionId:
        return TransactionId(self.name, self._instance.taken(self.name) + 1)

    def publish(self) -> tuple[TransactionId, ...]:
        """Let all others have what was edited here since the last time; what that was."""
        waiting = self._instance.waiting()
        last = self._logs.last(self.name)
        self._logs.append(self.name, waiting)
        self._instance.forget_published(self._logs.last(self.name))
        return tuple(transaction.id for transaction in waiting if transaction.id.number > last)

    def update(self) -> UpdateReport:
        """Take on what others have published since the last time, exactly once, and follow it."""
        transactions, waiting = self._ready()
        steps = self._instance.take(transactions) if transactions else []
        return UpdateReport(self.name, tuple(transactions), tuple(waiting), lambda: self._net(steps))

    def preview(self) -> UpdateReport:
        """What `update` would do, without doing it."""
        transactions, waiting = self._ready()
        supposed = self._supposed(transactions)
        return UpdateReport(self.name, tuple(transactions), tuple(waiting), lambda: supposed, supposed=True)

    def _ready(self) -> tuple[list[Transaction], list[TransactionId]]:
        peers = [peer.name for peer in self._instance.description.peers]
        taken = {peer: self._instance.taken(peer) for peer in peers}
        published = {peer: self._logs.read(peer, taken[peer]) for peer in peers if peer != self.name}
        return ready(published, taken)

    def _net(self, steps: Sequence[Step]) -> NetChange:
        return NetChange.together(NetChange.of(changes, compiled, self.name) for changes, compiled in steps)

    def _supposed(self, transactions: Sequence[Transaction]) -> NetChange:
        if not any(transaction.policy for transaction in transactions):
            rows = self._instance.changes_of(transactions)
            done = self._instance.database.what_if(rows.insert, rows.delete)
            return NetChange.of(done, self._instance.compiled, self.name)
        beside = self._instance.recomputed()
        try:
            return self._net(beside.take(transactions))
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
        return tuple(self._instance.policies.texts.get(self.name, ()))

    # ------------------------------------------------------------------ reading

    def __getitem__(self, name: str) -> PeerRelationView:
        instance = self._instance
        relation = instance.schemas.named(arguments.relation_name(name), self.name)
        columns = tuple(column.name for column in instance.schemas.columns[relation])
        return PeerRelationView(
            instance.database, relation, instance.compiled.names.output(relation), columns
        )

    def query(self, text: str, *, nulls: bool = False) -> Answers:
        """The answers to a question over all relations, as this peer has them: the certain ones; with `nulls` also
        those that hold labelled nulls."""
        arguments.flag("nulls", nulls)
        asked = question_text(arguments.text("query", text), self._instance.compiled, self.name)
        found = self._instance.database.query(asked)
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
        found = self._instance.database.why(view.output, asked)
        return PeerWhy(self.name, found, self._instance.compiled, self._contributors)

    def _row(self, relation: str, row: Sequence[Any]) -> Row:
        (found,) = self._instance.rows_of(self[relation].relation, [tuple(row)])
        return found

    def _contributors(self, peer: str, relation: str, row: Row) -> tuple[TransactionId, ...]:
        """The transactions since the row was last absent in which a peer inserted it."""
        logs: Iterable[Transaction] = self._logs.read(peer, 0)
        if peer == self.name:
            logs = [*logs, *self.unpublished]
        found: tuple[TransactionId, ...] = ()
        for transaction in logs:
            if transaction.id.number > self._instance.taken(peer):
                break
            for edit in transaction.edits:
                if (edit.relation, edit.row) == (relation, row):
                    found = () if edit.sign == "-" else (*found, transaction.id)
        return found

    def __repr__(self) -> str:
        waiting = len(self.unpublished)
        return f"<peer {self.name}: {', '.join(self.relations)}; {waiting} transactions to publish>"
