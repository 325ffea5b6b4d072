"""Definitions and changes in, views and their changes out; a version is applied whole or not at all.

Relations that no text declares take their types from the first rows they get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from headwater.active.cascade import Cascade, Transition
from headwater.active.rules import completed
from headwater.active.watch import WatchLine
from headwater.catalog import Catalog
from headwater.catalog.definitions import Definitions
from headwater.catalog.edits import origins
from headwater.database.auto_kinds import AutoKinds
from headwater.database.defined_rows import DefinedRows
from headwater.database.durability import Durability
from headwater.database.listeners import Listeners
from headwater.database.outbox import Outbox
from headwater.database.progress import Progress, Subscription
from headwater.database.standing import Followers, Standing
from headwater.errors import DataError, StoreError
from headwater.language.datalog import parse
from headwater.language.program import Program
from headwater.local import persist
from headwater.local.runner import Runner
from headwater.maintain.goals import Means
from headwater.plan.steps import Ints
from headwater.rules.checked import Kind, RelationInfo
from headwater.store import Checkpoint, Record, Store
from headwater.values.codec import Codec
from headwater.values.sources import in_columns, in_order
from headwater.values.temporary import temporary_codec
from headwater.version.changes import Changes, EmptyChanges, ShownChanges, shown_changes
from headwater.version.guard import Guard
from headwater.version.row_change import RowChange
from headwater.version.version import Version

Answer = TypeVar("Answer")

BESIDE = ("subscribe", "watch")
"""Kinds of records that are no versions."""


class Versions:
    """Takes a database from version to version. Everything in it takes part in each."""

    def __init__(
        self,
        codec: Codec,
        guard: Guard,
        standing: Standing,
        progress: Progress,
        outbox: Outbox,
        durability: Durability,
        followers: Followers,
        max_cascade: int = 1000,
    ):
        self.codec = codec
        self.guard = guard
        self.standing = standing
        self.progress = progress
        self.outbox = outbox
        self.durability = durability
        self.followers = followers
        self.max_cascade = max_cascade
        self.auto = AutoKinds()
        self.runner: Runner
        self.listeners = Listeners(outbox, progress)
        self._cascade = Cascade(standing.catalog, (), max_cascade)
        """The active rules, as of the catalog that was last seen."""

    def _open(self, now: float | None = None) -> Version:
        """The next version, which is logged before it is kept."""
        version = self._logged(self.standing.number + 1, self.standing.time() if now is None else now)
        version.join(self.standing, self.followers)
        return version

    def _beside(self) -> Version:
        """Something that is logged though it changes no relation: the last version stays the last."""
        return self._logged(self.standing.number, self.standing.now)

    def _logged(self, number: int, now: float) -> Version:
        before = self.durability.recorded
        return Version(number, now, guard=self.guard, decided=lambda: self.durability.recorded > before)

    def _again(self, record: Record) -> Version:
        """A version that is in the log already, to be done again."""
        meta: Any = record.meta
        version = Version(_number(record), meta["now"], guard=self.guard)
        version.join(self.standing, self.followers)
        return version

    def stored(self, name: str) -> bool:
        """Whether a relation is there and has rows."""
        return name in self.standing.catalog.program.relations and self.runner.stored(name)

    # ------------------------------------------------------------------ each kind of version

    def define(
        self,
        program: Program,
        insert: Mapping[str, Any],
        ids: Sequence[str] | None = None,
        *,
        whole: bool = False,
    ) -> Changes:
        """Take on what a text says, and rows; `ids` are for its rules, if they have any already. If it is the `whole`
        definition, nothing else is defined from then on."""
        with self._open() as version:
            catalog = self._defined(program, ids, whole)
            self._check_subscribed(catalog)
            catalog = completed(catalog.with_rows(insert, self.stored), self.stored)
            self.outbox.check(catalog)
            inserts = self._encode(catalog, insert)
            self._define(version, catalog, inserts, whole=whole)
            cascade = self._react(version, unseen=self._not_changed(program, catalog))
            self._owe(version)
            self.durability.log_definition(version, inserts, cascade, whole=whole)
            described, before = self.standing.described(), self.standing.catalog.program.relations
        return self._done(version, described, before)

    def suppose_definition(
        self,
        program: Program,
        *,
        whole: bool,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
    ) -> tuple[Catalog, Changes]:
        """What `define` would do, and then `apply`, with the catalog there would be: worked out, then taken back."""
        with (
            self.runner.interrupts,
            Version(self.standing.number, self.standing.time(), guard=self.guard) as version,
        ):
            version.abandon()
            version.join(self.standing)
            catalog = self._defined(program, None, whole)
            self._check_subscribed(catalog)
            catalog = completed(catalog.with_rows(insert or {}, self.stored), self.stored)
            self.outbox.check(catalog)
            self._define(version, catalog, {}, whole=whole)
            self._react(version, unseen=self._not_changed(program, catalog))
            if insert or delete:
                deletes = self._find(delete or {}, version)
                self.runner.proceed(version, deletes, self._encode(self.standing.coming, insert or {}))
                version.changes = self.runner.changes()
            for change in version.changes.values():
                change.resolve()
            before = self.standing.catalog.program.relations
            shown = shown_changes(self.codec, self.standing.described(), version.changes, before=before)
        empty = EmptyChanges(self.codec, lambda: catalog)
        return catalog, Changes(version.number, shown, empty, version.statistics)

    def apply(
        self,
        insert: Mapping[str, Any],
        delete: Mapping[str, Any],
        marks: Mapping[str, Any],
        done: Mapping[str, int] | None = None,
    ) -> Changes:
        """Change rows of base relations; `done` are the events, by watch, that this is done about."""
        with self._open() as version:
            given = {name: in_columns(rows) for name, rows in insert.items()}
            self._learn(version, self._with_choices(version, self._with_rows(given)))
            deletes = self._find(delete, version)
            inserts = self._encode(self.standing.coming, given)
            del given
            if self.runner.must_move(inserts):
                self.durability.checkpoint(self.runner)
            self._listen()
            version.changes = self.runner.change(version, deletes, inserts)
            cascade = self._react(version)
            self._owe(version, done or {})
            self.durability.log_change(version, deletes, inserts, marks, cascade)
        return self._done(version)

    def advance(self, to: float) -> Changes:
        """Let time go on, and rows expire."""
        with self._open(to) as version:
            self._listen()
            version.changes = self.runner.change(version, {}, {})
            cascade = self._react(version)
            self._owe(version)
            self.durability.log_time(version, cascade)
        return self._done(version)

    def subscribe(self, name: str, view: str, *, rows: bool, labels: bool) -> Subscription:
        """Let somebody be told what versions do to a view, and first what rows it has."""
        info = self.standing.catalog.info(view)
        with self._beside() as version:
            subscription = Subscription.to(view, rows, version.number, labels=labels)
            empty = info.layout.empty()
            first = RowChange(empty, self.runner.matrix(view) if rows else empty)
            shown = shown_changes(self.codec, {view: info}, {view: first})[view]
            table = shown.arrow(labels=labels) if rows else None
            self.durability.log_subscription(version, name, subscription, table)
        self._listen()
        return subscription

    def unsubscribe(self, name: str) -> None:
        """Tell somebody no more."""
        with self._beside() as version:
            self.durability.log_subscription(version, name, None, None)
        self._listen()

    def watch(self, name: str, line: WatchLine | None) -> None:
        """Let somebody be told what versions do to some rows from now on; or (`None`) no more."""
        with self._beside() as version:
            self.durability.log_watch(version, name, line)
        self._listen()

    def suppose(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        react: bool = False,
    ) -> Changes:
        """What `apply` would do: worked out, then taken back. Active rules act only if they are to `react`."""
        insert, delete = insert or {}, delete or {}
        with (
            self.runner.interrupts,
            Version(self.standing.number, self.standing.time(), guard=self.guard) as version,
        ):
            version.abandon()
            version.join(self.standing)
            self._learn(version, self._with_rows(insert))
            deletes = self._find(delete, version)
            with self._supposing():
                version.changes = self.runner.change(
                    version, deletes, self._encode(self.standing.coming, insert)
                )
                if react:
                    self._react(version)
            for change in version.changes.values():
                change.resolve()
            shown = shown_changes(self.codec, self.standing.coming.program.relations, version.changes)
        return Changes(version.number, shown, self._unchanged(), version.statistics)

    @contextmanager
    def _supposing(self) -> Iterator[None]:
        """Within this, all that happens to watched views is computed, whoever listens."""
        if not self.runner.here:
            yield
            return
        unstored = self.runner.engine.unstored
        unstored.supposing = True
        try:
            yield
        finally:
            unstored.supposing = False

    def while_stored(self, views: Iterable[str], ask: Callable[[Catalog], Answer]) -> Answer:
        """What is asked about views that are not stored: they are derived, and taken back."""
        with (
            self.runner.interrupts,
            Version(self.standing.number, self.standing.time(), guard=self.guard) as version,
        ):
            version.abandon()
            version.join(self.standing)
            kinds = parse("\n".join(f".kind {view} stored" for view in views))
            self._define(version, self._defined(kinds, None, False), {})
            return ask(self.standing.coming)

    # ------------------------------------------------------------------ pieces

    def _defined(self, program: Program, ids: Sequence[str] | None, whole: bool) -> Catalog:
        """The catalog with one more text, or with no other."""
        known = self.standing.catalog
        return (known.redefined if whole else known.with_program)(program, self.stored, ids)

    def _define(
        self, version: Version, catalog: Catalog, inserts: Mapping[str, Ints], *, whole: bool = False
    ) -> None:
        """Go on with a catalog: its last text is new, and its facts are rows to come."""
        self.standing.coming = catalog.settled()
        defined = DefinedRows(self.codec, self.runner, self.standing.catalog, catalog)
        rows, deletes = defined.changes(inserts, whole=whole)
        version.changes = self.runner.define(version, self.standing.coming, rows, deletes)

    def _owe(
        self, version: Version, done: Mapping[str, int] | None = None, *, told_by_record: bool = False
    ) -> None:
        """What watches will be told of the open version, and which events led to it.

        Of one that is in the log already, durable watches are told by its record.
        """
        self.outbox.owe(version, self.standing.coming, self.runner, self._means, durable=not told_by_record)
        self.outbox.acknowledge_with(version, done or {})

    def _react(self, version: Version, unseen: Iterable[str] = ()) -> tuple[Transition, ...]:
        """Let active rules act on the open version, and say what they did."""
        acting = self._acting()
        if not acting.actions:
            return ()
        means = Means(self.codec, self.standing.coming.functions)
        return acting.run(version, self.runner, means, unseen)

    def _acting(self) -> Cascade:
        """The active rules of the catalog that is coming."""
        if self._cascade.catalog is not self.standing.coming:
            self._cascade = Cascade.of(self.standing.coming, self.max_cascade)
        return self._cascade

    def _listen(self) -> None:
        """From here on, changes of watched views are computed for those who listen now."""
        self.listeners.tell(self.runner, self._acting())

    def _not_changed(self, program: Program, catalog: Catalog) -> set[str]:
        """Relations that only have another name or kind: that their rows come and go is no event."""
        old, new = self.standing.catalog.program.relations, catalog.program.relations
        if old is new:
            return set(origins(program))
        kinds = {name for name in old.keys() & new.keys() if old[name].kind is not new[name].kind}
        return {*origins(program), *(name for name in kinds if not old[name].base and not new[name].base)}

    def _with_rows(self, insert: Mapping[str, Any]) -> Catalog:
        """The catalog with the types that rows tell."""
        catalog = self.standing.catalog
        more = catalog.with_rows(insert, self.stored)
        return catalog if more is catalog else completed(more, self.stored)

    def _means(self) -> Means:
        """What conditions are evaluated with."""
        return Means(temporary_codec(self.codec), self.standing.coming.functions)

    def _with_choices(self, version: Version, catalog: Catalog) -> Catalog:
        """With what was measured to cost less, for views that leave open whether they are stored."""
        return self.auto.next(catalog, self.stored, version.statistics) if self.runner.here else catalog

    def _learn(self, version: Version, catalog: Catalog) -> None:
        """Go by what is known of types now; rows stay."""
        if catalog is not self.standing.catalog:
            self.standing.coming = catalog
            self.runner.learn(version, catalog)

    def _check_subscribed(self, catalog: Catalog) -> None:
        """Refuse a catalog in which something that somebody subscribes to is not there, or not kept."""
        for subscriber, subscription in self.progress.subscriptions.items():
            info = catalog.program.relations.get(subscription.view)
            if info is None or info.kind is Kind.VIRTUAL:
                raise DataError(
                    "still-read",
                    f"{subscriber} subscribes to {subscription.view}",
                    hint=f"end that first: db.unsubscribe({subscriber!r})",
                )

    def _find(self, delete: Mapping[str, Any], version: Version) -> dict[str, Ints]:
        """Rows to delete, by base relation; those that cannot be there are only counted."""
        deletes: dict[str, Ints] = {}
        for name, rows in delete.items():
            info = self.standing.coming.base_if_known(name)
            if info is None:
                version.statistics.no_ops += len(rows)
                continue
            rows = in_order(in_columns(rows), name, info.columns, declared=info.named)
            matrix, unknown = info.layout.find(self.codec, rows, name)
            version.statistics.no_ops += unknown
            deletes[info.name] = matrix
        return deletes

    def _encode(self, catalog: Catalog, insert: Mapping[str, Any]) -> dict[str, Ints]:
        """Rows to insert, by base relation of a catalog that knows their types."""
        inserts: dict[str, Ints] = {}
        for name, rows in insert.items():
            info = catalog.base(name)
            assert info is not None
            rows = in_order(rows, name, info.columns, declared=info.named)
            inserts[info.name] = info.layout.encode(self.codec, rows, name)
        return inserts

    def _done(
        self,
        version: Version,
        described: Mapping[str, RelationInfo] | None = None,
        before: Mapping[str, RelationInfo] | None = None,
    ) -> Changes:
        """What a version did, for users; `described` are the relations that it speaks of, if it defined some, and
        `before` those that there were."""
        self.auto.measured(self.standing.catalog.program.automatic, version.statistics)
        relations = described or self.standing.catalog.program.relations
        shown = ShownChanges(self.codec, relations, version.changes, self.guard, before)
        partly = self.runner.engine.unstored.partly if self.runner.here else {}
        self._listen()
        return Changes(version.number, shown, self._unchanged(), version.statistics, partly)

    def _unchanged(self) -> EmptyChanges:
        standing = self.standing  # and not all versions: changes must not hold the rows of a whole database
        return EmptyChanges(self.codec, lambda: standing.catalog)

    # ------------------------------------------------------------------ recovery

    def recover(self, store: Store, until: int | None = None) -> None:
        """Load the checkpoint and do the versions after it again; those up to `until`, if that is given."""
        checkpoint = store.checkpoint
        if checkpoint is not None:
            meta: Any = checkpoint.meta
            definitions = Definitions.of(meta["texts"], meta.get("rules")).learned(meta)
            catalog = self.standing.catalog.following(definitions)
            self.runner.load(checkpoint, catalog)
            if "progress" in meta:
                self.progress.load(meta["progress"], checkpoint.tables)
            self.outbox.attend(catalog)
            if "watches" in meta:
                self.outbox.load(meta["watches"], checkpoint.tables)
            self.standing.catalog = self.standing.coming = catalog
            self.standing.number, self.standing.now = _number(checkpoint), meta["now"]
        for record in store.records() if until is None else self._earlier(store, until):
            self._take(record)
        self.progress.recall()
        self.outbox.recall()

    def _earlier(self, store: Store, until: int) -> Iterator[Record]:
        """The records up to a version; what comes later is for `follow`. Refuses a version that is not there."""
        if self.standing.number > until:
            raise StoreError(
                "missed",
                f"version {until} is not in the log any more: the checkpoint is of version {self.standing.number}",
                hint=f"begin with version {self.standing.number} or later",
            )
        for record in store.more(anew=True):
            if _number(record) > until:
                store.back()
                return
            yield record

    def tell(self, changes: Mapping[str, RowChange]) -> None:
        """Let the watches of a reader know what lies between where it stood and where it stands."""
        with Version(self.standing.number, self.standing.now, guard=self.guard) as version:
            version.changes = changes
            self._owe(version, told_by_record=True)

    def follow(self, store: Store) -> None:
        """In a reader: do what its writer has done since, and let watches know."""
        for record in store.more():
            self._take(record, telling=True)

    def _take(self, record: Record, *, telling: bool = False) -> None:
        """Do what a record says was done."""
        self._replay(record, telling)
        self.outbox.attend(self.standing.catalog)
        self.progress.replay(_number(record), record.kind, record.meta, record.tables)
        self.outbox.replay(record.kind, record.meta, record.tables)
        self.durability.records += 1

    def _replay(self, record: Record, telling: bool) -> None:
        meta: Any = record.meta
        if record.kind in BESIDE:
            self.standing.number = _number(record)
            return
        with self._again(record) as version:
            if record.kind == "define":
                program = parse(meta["text"], meta["source"])
                whole = meta.get("whole", False)
                catalog = self._defined(program, meta.get("rules"), whole)
                catalog = completed(self._learned(catalog, meta), self.stored)
                self._define(version, catalog, self._recorded(record, "insert", catalog), whole=whole)
            else:
                self._learn(version, self._learned(self.standing.catalog, meta))
                rows = (self._recorded(record, kind, self.standing.coming) for kind in ("delete", "insert"))
                self._listen()
                version.changes = self.runner.change(version, *rows)
            self._proceed_again(version, record)
            if telling:
                self._owe(version, told_by_record=True)

    def _proceed_again(self, version: Version, record: Record) -> None:
        """What active rules did then is done again as it was; they do not act."""
        meta: Any = record.meta
        for number in range(meta.get("transitions", 0)):
            rows = (
                self._recorded(record, f"{kind}{number}", self.standing.coming)
                for kind in ("delete", "insert")
            )
            self.runner.proceed(version, *rows)
        if meta.get("transitions"):
            version.changes = self.runner.changes()

    def _learned(self, catalog: Catalog, meta: Mapping[str, Any]) -> Catalog:
        """With the types that a record says rows told."""
        if "known" not in meta:
            return catalog
        definitions = catalog.definitions.learned(meta)
        return catalog if definitions == catalog.definitions else catalog.following(definitions, self.stored)

    def _recorded(self, record: Record, kind: str, catalog: Catalog) -> dict[str, Ints]:
        """The rows that a version was given to insert, or to delete."""
        found = {}
        for key, table in record.tables.items():
            what, name = key.split("/", 1)
            if what == kind:
                found[name] = persist.from_table(self.codec, table, catalog.program.relations[name])
        return found


def _number(written: Record | Checkpoint) -> int:
    """The version that a record or a checkpoint is of; in early states subscriptions were versions as well."""
    meta: Any = written.meta
    number: int = meta.get("version", written.version)
    return number
