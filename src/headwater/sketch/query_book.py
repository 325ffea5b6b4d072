"""`QueryBook`: what is kept of the queries that were asked, in memory and in the state folder.

What is learned of a query at one moment of the tables is kept when that moment has ended well. The folder is
written to where more would be lost than can be made again (`KeptQuery.must_be_written`), and by `save`. What
maintains sketches takes bounded memory: what was not used for longest is written to the folder, and read again when
it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from headwater.errors import HeadwaterError, SketchError
from headwater.sketch.kept import KeptQuery, KeptState, query_name
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.safety.checking import FactsOfBackend
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.sketch.tables.sql_backend import SqlBackend


class QueryBook:
    """The queries that were asked, in the order in which they were first; what maintains their sketches; and the
    facts about data that were looked up for them."""

    def __init__(self, state: KeptState, backend: SparkBackend | SqlBackend, memory: int):
        self.facts = FactsOfBackend(backend)
        self._state, self._backend, self._memory = state, backend, memory
        self._queries = {query.name: query for query in state.queries()}
        self._maintainers: dict[str, Maintainer] = {}
        """Those in memory, the one that was used last at the end."""
        self._learned: list[KeptQuery] = []
        self._unwritten: set[str] = set()

    # ------------------------------------------------------------------ queries

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[KeptQuery]:
        return iter(list(self._queries.values()))

    def of(self, text: str) -> KeptQuery:
        """What is kept of a query; of one that was never asked, its name and its text."""
        name = query_name(text)
        return self._queries.get(name) or KeptQuery(name, text)

    def find(self, beginning: str) -> KeptQuery:
        """The one query whose name begins so."""
        found = [kept for kept in self if beginning and kept.name.startswith(beginning)]
        if len(found) != 1:
            raise SketchError(
                "unknown-sketch",
                f"{len(found) or 'no'} queries have names like {beginning}",
                hint="headwater sketch list",
            )
        return found[0]

    @contextmanager
    def moment(self) -> Iterator[None]:
        """One moment of the tables; what is learned of queries meanwhile is kept when it has ended well.

        If it ends badly, what has been maintained is newer than its sketch, so that nothing says of which rows it is:
        a table that is restored may give the version again, to other rows. In a database the version itself may be
        taken back, where somebody changed a table without saying so: what was found out about it is of no use either.
        """
        seen = {name: each.versions for name, each in self._maintainers.items()}
        self._learned = []
        try:
            with self._backend.moment():
                yield
            self._keep_learned()
        except BaseException:
            for name, each in list(self._maintainers.items()):
                if each.versions is not seen.get(name):
                    del self._maintainers[name]
            if isinstance(self._backend, SqlBackend):
                self.facts.forget()
            raise

    def _keep_learned(self) -> None:
        for kept in self._learned:
            if kept.must_be_written(self._queries.get(kept.name)):
                self.write(kept)
            else:
                self._queries[kept.name] = kept
                self._unwritten.add(kept.name)

    def learn(self, kept: KeptQuery) -> None:
        """Keep this of a query, if the present moment ends well."""
        self._learned.append(kept)

    def write(self, kept: KeptQuery) -> None:
        """Keep this of a query, in the folder, too."""
        self._queries[kept.name] = kept
        self._state.write(kept)
        self._unwritten.discard(kept.name)

    def drop(self, name: str) -> None:
        """Forget a query and its sketches."""
        self._maintainers.pop(name, None)
        self._unwritten.discard(name)
        del self._queries[name]
        self._state.drop(name)

    def drop_sketches_of(self, table: str) -> None:
        """Forget the queries that have sketches of a table: it is another one now."""
        self.facts.forget()
        for query in self:
            if any(table in sketch.versions for sketch in query.sketches):
                self.drop(query.name)

    def begin_again(self, table: str) -> None:
        """Forget the sketches of the queries of a table: it is to be sketched in another way."""
        for query in self:
            tables = {*query.asked_at}.union(*(sketch.versions for sketch in query.sketches))
            if table in tables:
                self.forget_maintainer(query.name)
                self.forget_state(query.name)
                self.write(replace(query, sketches=(), facts=frozenset(), unmaintained=""))

    # ------------------------------------------------------------------ what maintains sketches

    def maintainer(self, name: str, make: Callable[[], Maintainer]) -> Maintainer:
        """What maintains a query's sketch: in memory, or from the state folder, or without state yet."""
        found = self._maintainers.get(name)
        if found is None:
            found = make()
            try:
                found.restore(self._state.state_of(name))
            except HeadwaterError as error:
                found.forget()
                if error.code == "damaged":  # it could not be written either
                    self._state.drop_state(name)
        self.keep_maintainer(name, found)
        return found

    def keep_maintainer(self, name: str, maintainer: Maintainer) -> None:
        """Have this maintain a query's sketch: the last of all, of which the first go."""
        self._maintainers.pop(name, None)
        self._maintainers[name] = maintainer

    def forget_maintainer(self, name: str) -> None:
        """Forget what maintains a query's sketch in memory."""
        self._maintainers.pop(name, None)

    def forget_state(self, name: str) -> None:
        """Forget what maintains a query's sketch in the folder: it is made again from the tables."""
        self._state.drop_state(name)

    def fit_memory(self) -> None:
        """Write state that was not used for long to the folder, where it is found again, until the rest fits into
        memory; the one that was used last stays."""
        held = {name: each.nbytes for name, each in self._maintainers.items()}
        for name in list(held)[:-1]:
            if sum(held.values()) <= self._memory:
                return
            if not self._maintainers[name].is_lost:
                if (
                    name in self._unwritten
                ):  # marks say of which rows a state is; those of older versions do not
                    self.write(self._queries[name])
                self._maintainers[name].save(self._state.state_of(name))
            del self._maintainers[name], held[name]

    def save(self) -> None:
        """Write everything that is not in the folder yet."""
        for name in sorted(self._unwritten):
            self._state.write(self._queries[name])
        self._unwritten.clear()
        for name, maintainer in self._maintainers.items():
            if not maintainer.is_lost:
                maintainer.save(self._state.state_of(name))
