"""The facade: every public call of a database, checked, guarded, and handed to the part whose business it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from headwater import notebook
from headwater.active.event import WatchEvent
from headwater.active.watch import PAUSE, RETRIES, Action, WatchLine
from headwater.annotations.protocol import AnyAnnotation
from headwater.calls import public_class, taking
from headwater.catalog import Catalog
from headwater.catalog.doubtful import refuse_doubtful
from headwater.database.answers import Answers
from headwater.database.definition import dropping, known_rule, read_definition, read_rule, written_value
from headwater.database.difference import DefinitionDifference
from headwater.database.parts import Parts
from headwater.database.progress import Owed, Subscription
from headwater.database.questions import Questions
from headwater.database.relation_table import RelationTable
from headwater.database.relation_view import RelationView
from headwater.database.rows import by_relation, column_types, given_rows, some_rows
from headwater.database.rule_table import RuleTable
from headwater.database.summary import summary
from headwater.database.uninterrupted import told, uninterrupted
from headwater.database.watches import Watch, Watches
from headwater.errors import StoreError
from headwater.kernel.memory import first_load, release_idle
from headwater.language.datalog import parse
from headwater.language.program import Program
from headwater.local.explain import Explanation, explain
from headwater.local.runner import Runner
from headwater.maintain.engine import Engine
from headwater.memory.budget import MemoryUse, memory_budget
from headwater.options import Options
from headwater.provenance.ask import depends, evaluation, why_not
from headwater.provenance.ask.asked import not_there, row_key
from headwater.provenance.ask.values import Given
from headwater.provenance.ask.why import MOST_DERIVATIONS, Why, why
from headwater.provenance.evidence import Evidence
from headwater.provenance.show.wording import Fact
from headwater.rules.checked import Checked, RelationInfo
from headwater.rules.kinds import CHOICES as KINDS
from headwater.values import arguments
from headwater.values.arguments import relation_name
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.types import Type
from headwater.version.changes import Changes
from headwater.version.guard import Guard, changes, reads
from headwater.version.statistics import VersionStatistics

if TYPE_CHECKING:
    from headwater.pipeline import Pipeline
    from headwater.pipeline.sink import Sink


@public_class
class Database:
    """A set of base relations and the views over them. See `headwater.connect`."""

    @taking(Options)
    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any):
        self.options = Options(**options)
        self.path = None if path is None else arguments.folder("path", path)
        self.guard = Guard(self.options.threads, durable=path is not None)
        self.budget = memory_budget(self.options.memory, release_idle)
        self.codec = Codec(self.budget)
        self.functions = Functions()
        self.spark = self.options.spark
        self._consist_of(Parts.of(self.path, self.options, self.codec, self.functions, self.guard))
        try:
            self._running.start(self.path)
        except BaseException:
            self.close()
            raise
        self._standing.now = self._standing.time()
        self._watching.delivery.deliver()

    def _consist_of(self, parts: Parts) -> None:
        self._parts = parts
        self._standing, self._progress, self._durability = parts.standing, parts.progress, parts.durability
        self._followers, self._versions, self._running = parts.followers, parts.versions, parts.running
        self._watching = parts.watching

    # ------------------------------------------------------------------ opening and closing

    def close(self) -> None:
        """Release the files. Everything acknowledged is on the disk already. What was read stays; no more is."""
        self.guard.enter_to_close()
        try:
            self._running.close()
            self._watching.warn_of_undelivered()
        finally:
            self.guard.leave()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return summary(self.path, self._standing, self.guard)

    def _repr_html_(self) -> str:
        listed = "" if self.guard.closed else self.relations._repr_html_()
        return notebook.paragraph(repr(self)) + listed

    def _check_writable(self) -> None:
        if self.options.mode == "r":
            raise StoreError(
                "read-only", "this database was opened for reading", hint="connect with mode='w'"
            )

    @changes
    def register(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        args: Sequence[Type | str] | None = None,
        returns: Type | str,
        nulls: bool = False,
    ) -> None:
        """Let rules call a Python function. It must give the same result for the same arguments, for ever.

        Where an argument is null it is not called, and the result is null; with `nulls` it is called with `None`.
        Functions are not stored. To open a state whose rules call some, pass them as `functions` to `connect`.
        """
        arguments.flag("nulls", nulls)
        self._running.register(name, function, args, returns, nulls)

    @told
    def register_action(self, name: str, function: Callable[..., Any]) -> None:
        """Let active rules call a Python function: `do call f(X, Y)`. It is called once for each row of an event.

        If it takes `version` or `change` (insert or delete) by name only, it is told them. An event may come again,
        after a failure or a crash, with the same version. Actions are not stored: see `actions` of `connect`.
        """
        if not callable(function):
            raise arguments.wrong("function", function, "a function")
        self._watching.register(arguments.identifier("name", name), function)

    # ------------------------------------------------------------------ versions

    def define(
        self,
        text: str | os.PathLike[str] | Program,
        *,
        source: str | None = None,
        insert: Mapping[str, Any] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Changes:
        """Add rules, declarations and facts, as Datalog text, the path of a file of it, or a `Program`; one version.

        Facts, and rows to `insert` as for `apply`, are there when the rules first run. Views that the new rules do
        not concern keep their rows. If anything is refused, nothing changes. Files that the text includes are looked
        for in `folder`; what is kept is the text with all of them.
        """
        rows = by_relation("insert", insert)
        return self._define(read_definition(text, source, folder), some_rows(rows), rows.keys())

    @told
    def _define(
        self,
        program: Program,
        insert: Mapping[str, Any],
        given: Collection[str] = (),
        ids: Sequence[str] | None = None,
        whole: bool = False,
    ) -> Changes:
        self._check_writable()
        refuse_doubtful(program, self.catalog, given, whole=whole)
        return self._afterwards(self._versions.define(program, insert, ids, whole=whole))

    def redefine(
        self,
        text: str | os.PathLike[str] | Program,
        *,
        source: str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Changes:
        """Let a text be all that is defined, as for `define`; one version.

        Rules that it has in common with what was defined stay, with their ids; views follow the others. Relations
        that it does not mention are gone, with their rows; so are rows that only earlier texts state as facts.
        """
        return self._define(read_definition(text, source, folder), {}, whole=True)

    def difference(
        self,
        text: str | os.PathLike[str] | Program,
        *,
        source: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        whole: bool = True,
    ) -> DefinitionDifference:
        """What `redefine` would change (or `define`, if the text is not the `whole` definition), without doing it:
        rules, relations, rows, and what would be derived again. No version, nothing in the log."""
        arguments.flag("whole", whole)
        return self._difference(read_definition(text, source, folder), whole)

    @changes
    def _difference(self, program: Program, whole: bool) -> DefinitionDifference:
        refuse_doubtful(program, self.catalog, whole=whole)
        supposed = self._versions.suppose_definition(program, whole=whole)
        return DefinitionDifference.of(self.catalog, self.runner.count, *supposed)

    def add_rule(self, text: str) -> Changes:
        """Add one rule; one version. Views follow it as they follow rows that come. Its id is in `rules`."""
        return self._define(read_rule("add_rule", text), {})

    def drop_rule(self, id: str) -> Changes:
        """Take back one rule; one version. Views follow it as they follow rows that go.

        A view whose last rule goes becomes a base relation if it is declared or has rows of its own; else it is gone.
        That is refused while other rules read it.
        """
        return self._define(dropping(str(known_rule(self.catalog, id).id)), {})

    def replace_rule(self, id: str, text: str) -> Changes:
        """Put one rule in the place of another; one version. It keeps the id, unless it has a label of its own."""
        known = str(known_rule(self.catalog, id).id)
        program = read_rule("replace_rule", text, more=f".drop rule {known}")
        label = program.rules[0].label if program.rules else program.active[0].label
        return self._define(program, {}, ids=[known if label is None else label])

    def keep(self, relation: str, kind: str) -> Changes:
        """Say how a view is kept. `stored`: it follows each change. `watched`: never stored, and what each version
        does to it is told (`additions`, `removals`: only rows that come, or go). `virtual`: evaluated when asked.
        `auto`: stored or watched, whichever is measured to cost less.

        One version, which changes no rows. A virtual view that a stored one reads is stored all the same.
        """
        arguments.one_of("kind", kind, KINDS)
        return self._define(parse(f".kind {self.info(relation).name} {kind}"), {})

    def drop(self, relation: str) -> Changes:
        """Take back a relation with its rules and rows; one version. Refused while other rules read it."""
        return self._define(parse(f".drop {self.info(relation).name}"), {})

    def rename(self, relation: str, to: str) -> Changes:
        """Give a relation another name, in all rules too; one version. What reads it is derived anew."""
        arguments.identifier("to", to)
        return self._define(parse(f".rename {self.info(relation).name} {to}"), {})

    def add_column(self, relation: str, column: str, *, default: Any = None) -> Changes:
        """Give a declared base relation one more column, `"name: type"`, which all its rows have the default in; one
        version. Rules that read the relation do not look at it."""
        written = arguments.text("column", column)
        value = "" if default is None else f" = {written_value('default', default)}"
        return self._define(parse(f".add column {self.info(relation).name}({written}{value})"), {})

    def drop_column(self, relation: str, column: str) -> Changes:
        """Take a column away from a declared base relation; one version. Refused while rules make use of it."""
        arguments.identifier("column", column)
        return self._define(parse(f".drop column {self.info(relation).name}({column})"), {})

    def apply(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        marks: Mapping[str, Any] | None = None,
    ) -> Changes:
        """Delete and insert rows of base relations (deletes first) as one version; return what that did.

        Rows are sequences of tuples or dicts, Arrow tables, pandas or polars DataFrames, or numpy matrices.
        Inserting a row that is there, or deleting one that is not, does nothing but count. `marks` say how far
        sources were read, as JSON by source; they are kept with the version (see the property `marks`).
        """
        marks = arguments.mapping("marks", marks, '{"links": 3}')
        return self._apply(given_rows("insert", insert), by_relation("delete", delete), marks)

    @told
    def _apply(
        self, insert: Mapping[str, Any], delete: Mapping[str, Any], marks: Mapping[str, Any]
    ) -> Changes:
        self._check_writable()
        return self._afterwards(self._versions.apply(insert, delete, marks))

    @told
    def advance(self, to: float | None = None) -> Changes:
        """Set the time to `to` (seconds; now, with a real clock) and let base rows expire; one version."""
        self._check_writable()
        to = self._standing.later(to)
        return self._afterwards(self._versions.advance(to))

    def what_if(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        redefine: str | os.PathLike[str] | Program | None = None,
    ) -> Changes:
        """What `apply` would do, without doing it: worked out, then taken back. No version, nothing in the log.

        With `redefine`, what that and then `apply` would do, together.
        """
        program = None if redefine is None else read_definition(redefine)
        return self._what_if(given_rows("insert", insert), by_relation("delete", delete), program)

    @changes
    def _what_if(
        self, insert: Mapping[str, Any], delete: Mapping[str, Any], program: Program | None
    ) -> Changes:
        if program is None:
            return self._versions.suppose(insert, delete, react=True)
        refuse_doubtful(program, self.catalog, whole=True)
        return self._versions.suppose_definition(program, whole=True, insert=insert, delete=delete)[1]

    def _afterwards(self, done: Changes) -> Changes:
        if first_load.ending:
            first_load.ended(done)
        self._running.after_version()
        return done

    @told
    def refresh(self) -> int:
        """In a reader, take on what the writer has committed since, and tell watches; the version it stands at then.

        Each version is told by itself; those that are only in a later checkpoint by now are told as one. A writer has
        nothing to do: all versions are its own.
        """
        if self.options.mode == "r" and not self._running.follow():
            before, parts = self._running, self._parts.anew()
            parts.watching.take_over(self._watching)
            self._consist_of(parts)
            before.close()
        return self.version

    @changes
    def checkpoint(self) -> None:
        """Write the relations that changed as new segments and start an empty log; old files are removed."""
        self._check_writable()
        self._durability.checkpoint(self.runner)

    # ------------------------------------------------------------------ where it stands

    @property
    def version(self) -> int:
        """The number of the last version."""
        return self._standing.number

    @property
    def now(self) -> float:
        """The time of the last version."""
        return self._standing.now

    @now.setter
    def now(self, time: float) -> None:
        self._standing.now = time

    @property
    def statistics(self) -> VersionStatistics:
        """What the last version cost."""
        return self._standing.statistics

    @property
    def catalog(self) -> Catalog:
        """All that is defined."""
        self.guard.check()
        return self._standing.catalog

    @property
    def relations(self) -> RelationTable:
        """The names of all base relations and views; prints as a table of them."""
        catalog = self.catalog
        return RelationTable.of(map(catalog.info, catalog.relations), lambda name: len(self[name]))

    @property
    def rules(self) -> RuleTable:
        """The ids of all rules; prints as a table of them."""
        return RuleTable.of((*self.catalog.rules, *self.catalog.active))

    def info(self, name: str) -> RelationInfo:
        """A relation's columns, types and kind."""
        return self.catalog.info(relation_name(name))

    def __getitem__(self, name: str) -> RelationView:
        self.guard.check()
        self._standing.catalog.info(relation_name(name))
        return RelationView(self, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.relations

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """All that was defined, in order: texts and where they came from."""
        return self.catalog.texts

    @property
    def program(self) -> Checked:
        """All rules, checked and rewritten."""
        return self.catalog.program

    @reads
    def types_if(self, known: Mapping[str, tuple[Type | None, ...]]) -> dict[str, tuple[Type | None, ...]]:
        """What the types of all relations would be if those of some base relations were these."""
        known = column_types(known)
        return self.catalog.types_if(known, self._versions.stored)

    @reads
    def explain(self, name: str | None = None) -> Explanation:
        """How a view (or all) is maintained: rules, join orders, strategy, sizes, and what the last version cost."""
        if name is not None:
            self.info(name)
        found = explain(self.runner.facts(), self.catalog, self.statistics, self.memory, name)
        chosen = self._versions.auto.lines(self.catalog.relations if name is None else (name,))
        return replace(found, lines=(*found.lines, *chosen))

    @property
    @reads
    def nbytes(self) -> int:
        """Bytes allocated for rows, indexes and dictionaries."""
        return self.runner.nbytes + self.codec.nbytes

    @property
    def memory(self) -> MemoryUse:
        """What rows, indexes and dictionaries of this process take, against the memory budget."""
        return self.budget.use

    @property
    def runner(self) -> Runner:
        """Where the relations are."""
        return self._versions.runner

    @property
    def engine(self) -> Engine:
        """The engine of a database that runs in this process."""
        return self.runner.engine

    # ------------------------------------------------------------------ sources and subscribers

    @property
    def marks(self) -> Mapping[str, Any]:
        """How far each source was read: what `apply` was given as `marks`, the last of each name."""
        self.guard.check()
        return dict(self._progress.marks)

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """Who is told what happens to which view, and up to which version they have acknowledged it."""
        self.guard.check()
        return dict(self._progress.subscriptions)

    @uninterrupted
    def subscribe(self, name: str, view: str, *, rows: bool = True, labels: bool = False) -> Subscription:
        """From now on keep what each version does to a view until it is acknowledged. It is no version itself.

        What is owed first are all rows the view has now. With `rows=False` only the versions are kept; with `labels`,
        rows come with a column of texts for each that can hold a labelled null.
        """
        self._check_writable()
        arguments.name("name", name)
        arguments.flag("rows", rows)
        arguments.flag("labels", labels)
        view = relation_name(view)
        known = self._progress.subscriptions.get(name)
        if known is not None and (known.view, known.rows, known.labels) == (view, rows, labels):
            return known
        return self._versions.subscribe(name, self.catalog.stored(view).name, rows=rows, labels=labels)

    @uninterrupted
    def unsubscribe(self, name: str) -> None:
        """End a subscription, and forget what it was owed."""
        self._check_writable()
        self._progress.owed(name)
        self._versions.unsubscribe(name)

    def owed(self, name: str) -> list[Owed]:
        """What a subscriber has not acknowledged yet, in the order of versions. (At any time: it is committed.)"""
        self.guard.check()
        return self._progress.owed(name)

    @uninterrupted
    def acknowledge(self, name: str, version: int) -> None:
        """A subscriber needs nothing up to this version (of those there are) any more."""
        self._check_writable()
        arguments.whole_number("version", version, least=0, most=self.version)
        self._progress.acknowledge(name, version)

    def watch(
        self,
        goal: str,
        do: Callable[[WatchEvent], Any] | Sink,
        *,
        on: Literal["added", "removed", "changed"] = "changed",
        when: str | None = None,
        name: str | None = None,
        coupling: Literal["now", "after"] = "after",
        replace: bool = False,
        retries: int = RETRIES,
        pause: float = PAUSE,
    ) -> Watch:
        """From now on call `do` with what each version does to the rows of a goal, such as `alarm(X, 'high')`; or
        publish it by a sink of `headwater.pipeline`.

        Once for each version that adds or removes such rows, in order, after it is committed; with `coupling="now"`
        inside it, and what `do` raises undoes it. A watch with a name, of a database with a path, is told after a
        restart what it has missed, once somebody attaches to it by the same call. An action that fails is tried
        again `retries` times, after pauses from `pause` seconds on, then parked: see `watches`.
        """
        line = self._watching.line_for(goal, do, on, when, name, coupling, retries, pause)
        sink: Any = do if callable(getattr(do, "publish", None)) else None
        if sink is not None:
            from headwater.pipeline import publishing

            line.action = Action(publishing(self, sink, line.armed(self.catalog).trigger.relation))
        self._watch(line, arguments.flag("replace", replace))
        self._watching.delivery.deliver()
        return Watch(self, line.name)

    @uninterrupted
    def _watch(self, line: WatchLine, replace: bool) -> None:
        self._watching.watch(line, replace=replace)

    @property
    def watches(self) -> Watches:
        """All watches by name, where each stands; prints as a table of them."""
        self.guard.check()
        return Watches(self)

    def pipeline(self, sources: Sequence[Any], sinks: Sequence[Any] = (), *, spark: Any = None) -> Pipeline:
        """Read sources into base relations and publish views, through Spark; see `headwater.pipeline`."""
        from headwater.pipeline import Pipeline

        return Pipeline(self, sources, sinks, spark=spark)

    # ------------------------------------------------------------------ questions

    @property
    def questions(self) -> Questions:
        """What answers questions by goal."""
        options = self.options
        return Questions(
            self.catalog,
            self.runner,
            self.codec,
            options.max_rounds,
            options.at_max_rounds,
            self.spark,
            self._versions.auto.asked,
        )

    @reads
    def query(self, text: str) -> Answers:
        """The answers to a goal, such as `reach('a', X), !blocked(X)`; or to rules of its own and `?- goal.`

        Only what the goal needs is derived (magic sets); nothing is stored, and no version is made.
        """
        return self.questions.ask(arguments.text("query", text))

    def _evidence(self) -> Evidence:
        """What questions are asked of."""
        return Evidence(self._parts.questioned.engine(), self.catalog, self.version, self.guard)

    def _evidence_of(self, relation: str, row: Any) -> Evidence:
        """What the derivations of one row are asked of. On nodes, the rows that they use are brought here."""
        if self.runner.here:
            return self._evidence()
        info = self.catalog.stored(arguments.relation_name(relation))
        key = row_key(info, self.codec, relation, row, intern=True)
        if key is None:
            raise not_there(Fact(relation, tuple(row.values()) if isinstance(row, dict) else tuple(row)))
        return Evidence(self.runner.derivations(key), self.catalog, self.version, self.guard)

    def why(
        self, relation: str, row: Any, *, depth: int | None = None, limit: int | None = MOST_DERIVATIONS
    ) -> Why:
        """Why a row is there: all derivations (at most `limit`, `depth` levels deep), proof, minimal explanations.

        Views that are not stored are derived once more, as far as the row may come from them.
        """
        depth, limit = arguments.limit("depth", depth), arguments.limit("limit", limit)
        if self.runner.here and self.catalog.unkept(self.info(relation).name):
            return self._why_unkept(relation, row, depth, limit)
        return self._why(relation, row, depth, limit)

    @reads
    def _why(self, relation: str, row: Any, depth: int | None, limit: int | None) -> Why:
        return why(self._evidence_of(relation, row), relation, row, depth=depth, limit=limit)

    @changes
    def _why_unkept(self, relation: str, row: Any, depth: int | None, limit: int | None) -> Why:
        def ask(catalog: Catalog) -> Why:
            evidence = replace(self._evidence(), catalog=catalog)
            return why(evidence, relation, row, depth=depth, limit=limit)

        return self._versions.while_stored(self.catalog.unkept(relation), ask)

    @changes
    def why_not(
        self, relation: str, row: Any, *, depth: int = why_not.DEPTH, repairs: int = why_not.REPAIRS
    ) -> why_not.WhyNot:
        """Why a row is not there: what each rule lacks, `depth` levels deep; and the smallest repairs found."""
        depth = arguments.whole_number("depth", depth, least=0)
        repairs = arguments.whole_number("repairs", repairs, least=0)
        suppose = self._versions.suppose
        return why_not.why_not(self._evidence(), relation, row, depth=depth, repairs=repairs, suppose=suppose)

    @changes
    def depends(
        self, relation: str, row: Any, *, limit: int | None = depends.MOST_ROWS_FOLLOWED
    ) -> depends.Depends:
        """What would fall with a row, what else uses it (at most `limit` rows), and what it derives alone."""
        limit = arguments.limit("limit", limit)
        return depends.depends(self._evidence(), relation, row, limit=limit, suppose=self._versions.suppose)

    @reads
    def evaluate(
        self,
        view: str,
        annotation: str | AnyAnnotation,
        base: Given = None,
        *,
        rules: Mapping[str, object] | None = None,
        limit: int | None = evaluation.MOST_DERIVATIONS_HELD,
    ) -> evaluation.Evaluation:
        """What the rows of a view carry in an annotation, kept right while rows and values change."""
        limit = arguments.limit("limit", limit)
        found = evaluation.Evaluation(self._evidence, view, annotation, base, rules, limit)
        self._followers.add(found)
        return found
