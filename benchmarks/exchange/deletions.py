"""Figure 4 of green-2007: deleting more and more, beside recomputation, DRed, PropagateDelete and a new peer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.duel import Duel
from benchmarks.exchange.measuring import Sharing, SharingChange, rest, same_rows, stir
from benchmarks.exchange.swissprot import Dataset
from benchmarks.exchange.workload import SharingWorkload
from benchmarks.report import Check, ReportRow, Target
from benchmarks.stage import Stage
from headwater.exchange.wire import encode

RECOMPUTE, DRED, PROPAGATE = "recompute", "dred", "PropagateDelete"
ANEW = "from base data"
STRATEGIES = {ANEW: "recompute", RECOMPUTE: "recompute", DRED: "dred", PROPAGATE: "relative"}
"""Those that deletions are measured beside, and what Headwater calls them. The paper's rival computes all instances
from the base data that are left: so does `from base data`, which drops all views at once, with base data and plans in
memory. `recompute` does so in place: rows that come back still have their places in tables and indexes, and what has
changed is known in the end. All begin with the whole instance, and end with the right one."""
LOGS = "from the logs"
"""Beside it, edits as they were published are taken on: by us those that delete, by a new peer all of them."""
FROM_LOGS = (10, 50, 90)
MOST_JOINED = 3
"""Turns with new peers: each takes as long as all the others of a turn together, and the ratio is far from 1."""
SHARES = (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95)
"""Percent of the entries of each peer that are deleted at once."""
CONFEDERATIONS: tuple[tuple[int, Dataset], ...] = (
    (0, "integer"), (1, "integer"), (2, "integer"), (3, "integer"), (0, "string"), (1, "string"),
)  # fmt: skip
"""What deletions are measured on: cycles among five peers, and the kind of data."""
MOST_TRACED = 30
"""Percent deleted up to which PropagateDelete is measured: its state is Python's own objects, and beyond it takes
minutes on a ring (with more cycles, also before)."""


GOALS = {ANEW: Target("at least", 1), RECOMPUTE: Target("at least", 0.95), LOGS: Target("at least", 1)}
"""Of deletions: ahead of computing all anew, and never much behind the better of both ways in place."""


@dataclass(frozen=True)
class WayToDelete:
    """How one side deletes, and what that took; the instance there is then; how all comes back."""

    delete: Callable[[], float]
    sharing: Callable[[], Sharing]
    restore: Callable[[], object]
    turns: int
    """In how many turns it takes part."""


@dataclass(frozen=True)
class LoadedPeers:
    """All peers with their entries: ours, and the rivals that delete the same."""

    workload: SharingWorkload
    cycles: int
    entries: dict[int, range]
    ours: Sharing
    rivals: Mapping[str, Sharing]
    published: list[bytes]
    """What put the entries there, as lines of logs."""

    def gone(self, share: int) -> dict[int, range]:
        """The entries that are deleted: so many percent of each peer's."""
        return {peer: each[: len(each) * share // 100] for peer, each in self.entries.items()}

    def what(self, share: int) -> str:
        """How the report calls it."""
        return f"{share} % deleted, {self.cycles} {'cycle' if self.cycles == 1 else 'cycles'}{self.of}"

    @property
    def of(self) -> str:
        return "" if self.workload.dataset == "integer" else ", strings"


def deletions(stage: Stage) -> list[ReportRow]:
    """Figure 4: ranked support beside recomputation, DRed and PropagateDelete, by how much is deleted."""
    shares = (10, 90) if stage.options.quick else SHARES
    from_logs = (50,) if stage.options.quick else FROM_LOGS
    confederations = CONFEDERATIONS[1:2] if stage.options.quick else CONFEDERATIONS
    stage.begin("figure 4", len(confederations) * (len(shares) + len(from_logs)))
    rows: list[ReportRow] = []
    for cycles, dataset in confederations:
        with _loaded(stage, cycles, dataset) as confederation:
            for share in shares:
                rows += _deleted(stage, confederation, share)
                stage.step(confederation.what(share))
            for share in from_logs:
                rows += _deleted_by_logs(stage, confederation, share)
                stage.step(f"{confederation.what(share)}, {LOGS}")
    return rows


@contextmanager
def _loaded(stage: Stage, cycles: int, dataset: Dataset) -> Iterator[LoadedPeers]:
    workload = SharingWorkload.make(5, dataset, stage.options.seed, cycles)
    entries = workload.base(30 if stage.options.quick else 2000)
    traced = cycles < 2 and dataset == "integer"
    ours = Sharing(workload)
    rivals = {
        name: Sharing(workload, strategy)
        for name, strategy in STRATEGIES.items()
        if name != PROPAGATE or traced
    }
    transactions = workload.transactions("+", entries)
    loaded = ours.change(transactions)
    first = {peer: each[:1] for peer, each in entries.items()}
    for one in (ours, *rivals.values()):
        one.take(loaded)
    once = ours.change(workload.transactions("-", first))
    for one in (ours, *rivals.values()):  # the first changes build indexes and plans
        one.take(once)
        one.take(once.undone())
    published = list(map(encode, transactions))
    del transactions, loaded, once
    try:
        yield LoadedPeers(workload, cycles, entries, ours, rivals, published)
    finally:
        stir()
        for one in (ours, *rivals.values()):
            one.close()


def _deleted(stage: Stage, confederation: LoadedPeers, share: int) -> list[ReportRow]:
    """Contributions are deleted, by us and by all rivals."""
    ours, of = confederation.ours, confederation.of
    away = ours.change(confederation.workload.transactions("-", confederation.gone(share)))
    rivals = {
        name: _by_tables(
            rival, away, (1 if share <= MOST_TRACED else 0) if name == PROPAGATE else stage.options.repeat
        )
        for name, rival in confederation.rivals.items()
    }
    if ANEW in rivals:
        anew = confederation.rivals[ANEW]
        rivals[ANEW] = WayToDelete(
            lambda: anew.take_anew(away), lambda: anew, rivals[ANEW].restore, stage.options.repeat
        )
    duels = {
        name: Duel(
            "figure 4", confederation.what(share), name, "faster", GOALS.get(name),
            series=f"{name}{confederation.cycles}{of}", size=share, detail=share not in (10, 50, 90),
        )
        for name in rivals
    }  # fmt: skip
    return _in_turns(stage, duels, _by_tables(ours, away, stage.options.repeat), rivals)


def _by_tables(one: Sharing, away: SharingChange, turns: int) -> WayToDelete:
    """Rows to delete come as tables."""
    return WayToDelete(lambda: one.take(away), lambda: one, lambda: one.take(away.undone()), turns)


def _deleted_by_logs(stage: Stage, confederation: LoadedPeers, share: int) -> list[ReportRow]:
    """Transactions that delete are taken on; beside it, a new peer takes on all that was ever published."""
    workload, ours = confederation.workload, confederation.ours
    gone = confederation.gone(share)
    go, back = (
        list(map(encode, workload.transactions(sign, gone, number)))
        for number, sign in enumerate("-+", start=2)
    )
    duel = Duel(
        "figure 4", confederation.what(share), LOGS, "faster", GOALS[LOGS],
        series=f"{LOGS}{confederation.cycles}{workload.dataset}", size=share, detail=share != 90,
    )  # fmt: skip
    joined: list[Sharing] = []

    def join() -> float:
        joined.append(Sharing(workload))
        return joined[-1].follow([*confederation.published, *go])

    turns = min(stage.options.repeat, MOST_JOINED)
    by_logs = WayToDelete(lambda: ours.follow(go), lambda: ours, lambda: ours.follow(back), turns)
    joining = WayToDelete(join, lambda: joined[-1], lambda: joined.pop().close(), turns)
    return _in_turns(stage, {LOGS: duel}, by_logs, {LOGS: joining})


def _in_turns(
    stage: Stage, duels: Mapping[str, Duel], ours: WayToDelete, rivals: Mapping[str, WayToDelete]
) -> list[ReportRow]:
    """All delete in turns; after the first, what they have is compared."""
    for turn in range(ours.turns):
        if turn < 2:  # what PropagateDelete keeps was made anew in the first
            rest()
        taking_part = {name: rival for name, rival in rivals.items() if turn < rival.turns}
        seconds = ours.delete()
        for name, rival in taking_part.items():
            duels[name].ours.append(seconds)
            duels[name].theirs.append(rival.delete())
        if turn == 0:
            for name, rival in taking_part.items():
                what = duels[name].what
                compared = same_rows(what, ours.sharing(), rival.sharing(), name)
                stage.checks.append(Check("figure 4", what, name, compared))
        for one in (ours, *taking_part.values()):
            one.restore()
    return [duel.row() for duel in duels.values() if duel.theirs]
