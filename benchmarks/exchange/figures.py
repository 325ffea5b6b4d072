"""The figures of green-2007, section 6: what is done, at which sizes, beside whom."""

from __future__ import annotations

from benchmarks.duel import Duel
from benchmarks.exchange.measuring import (
    NEMO,
    Sharing,
    contributed,
    from_scratch,
    nemo_from_scratch,
    nemo_sizes,
    same_rows,
    same_sizes,
)
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
SHARES = (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95)
"""Percent of the entries of each peer that are deleted at once."""
CONFEDERATIONS: tuple[tuple[int, Dataset], ...] = (
    (0, "integer"), (1, "integer"), (2, "integer"), (3, "integer"), (0, "string"), (1, "string"),
)  # fmt: skip
"""What deletions are measured on: cycles among five peers, and the kind of data."""
MOST_TRACED = 30
"""Percent deleted up to which PropagateDelete is measured: its state is Python's own objects, and beyond it takes
minutes on a ring (with more cycles, also before)."""
PEERS = (2, 5, 10, 20, 30)
DATASETS: tuple[Dataset, ...] = ("string", "integer")


GOALS = {ANEW: Target("at least", 1), RECOMPUTE: Target("at least", 0.95), LOGS: Target("at least", 1)}
"""Of deletions: ahead of computing all anew, and never much behind the better of both ways in place."""


def deletions(stage: Stage) -> list[ReportRow]:
    """Figure 4: ranked support beside recomputation, DRed and PropagateDelete, by how much is deleted."""
    base = 30 if stage.options.quick else 2000
    shares = (10, 90) if stage.options.quick else SHARES
    confederations = CONFEDERATIONS[1:2] if stage.options.quick else CONFEDERATIONS
    stage.begin("figure 4", len(confederations) * len(shares))
    rows: list[ReportRow] = []
    for cycles, dataset in confederations:
        workload = SharingWorkload.make(5, dataset, stage.options.seed, cycles)
        entries = workload.base(base)
        ours = Sharing(workload)
        traced = cycles < 2 and dataset == "integer"
        rivals = {
            name: Sharing(workload, strategy)
            for name, strategy in STRATEGIES.items()
            if name != PROPAGATE or traced
        }
        loaded = ours.change(workload.transactions("+", entries))
        for one in (ours, *rivals.values()):
            one.take(loaded)
        first = ours.change(workload.transactions("-", {peer: each[:1] for peer, each in entries.items()}))
        for one in (ours, *rivals.values()):  # the first changes build indexes and plans
            one.take(first)
            one.take(first.undone())
        for share in shares:
            gone = {peer: each[: len(each) * share // 100] for peer, each in entries.items()}
            rows += _deleted(stage, workload, ours, rivals, gone, share, cycles)
            stage.step(f"{cycles} cycles, {dataset}s, {share} % deleted")
        for share in FROM_LOGS:
            gone = {peer: each[: len(each) * share // 100] for peer, each in entries.items()}
            rows.append(_from_logs(stage, workload, ours, entries, gone, share, cycles))
        for one in (ours, *rivals.values()):
            one.close()
    return rows


def _from_logs(
    stage: Stage,
    workload: SharingWorkload,
    ours: Sharing,
    entries: dict[int, range],
    gone: dict[int, range],
    share: int,
    cycles: int,
) -> ReportRow:
    """Transactions that delete are taken on; beside it, a new peer takes on all that was ever published."""
    what = _what(share, cycles, workload)
    duel = Duel(
        "figure 4", what, LOGS, "faster", GOALS[LOGS],
        series=f"{LOGS}{cycles}{workload.dataset}", size=share, detail=share != 90,
    )  # fmt: skip
    come, go, back = (
        list(map(encode, workload.transactions(sign, each, number)))
        for number, (sign, each) in enumerate((("+", entries), ("-", gone), ("+", gone)), start=1)
    )
    for turn in range(stage.options.repeat):
        duel.ours.append(ours.follow(go))
        anew = Sharing(workload)
        duel.theirs.append(anew.follow([*come, *go]))
        if turn == 0:
            stage.checks.append(Check("figure 4", what, LOGS, same_rows(what, ours, anew, LOGS)))
        anew.close()
        ours.follow(back)
    return duel.row()


def _what(share: int, cycles: int, workload: SharingWorkload) -> str:
    of = "" if workload.dataset == "integer" else ", strings"
    return f"{share} % deleted, {cycles} {'cycle' if cycles == 1 else 'cycles'}{of}"


def _deleted(
    stage: Stage,
    workload: SharingWorkload,
    ours: Sharing,
    rivals: dict[str, Sharing],
    gone: dict[int, range],
    share: int,
    cycles: int,
) -> list[ReportRow]:
    of = "" if workload.dataset == "integer" else ", strings"
    what = _what(share, cycles, workload)
    duels = {
        name: Duel(
            "figure 4", what, name, "faster", GOALS.get(name),
            series=f"{name}{cycles}{of}", size=share, detail=share not in (10, 50, 90),
        )
        for name in rivals
    }  # fmt: skip
    away = ours.change(workload.transactions("-", gone))
    for turn in range(stage.options.repeat):
        taking_part = {
            name: rival
            for name, rival in rivals.items()
            if name != PROPAGATE or (turn == 0 and share <= MOST_TRACED)
        }
        seconds = ours.take(away)
        for name, rival in taking_part.items():
            duels[name].ours.append(seconds)
            duels[name].theirs.append(rival.take_anew(away) if name == ANEW else rival.take(away))
        if turn == 0:
            for name, rival in taking_part.items():
                stage.checks.append(Check("figure 4", what, name, same_rows(what, ours, rival, name)))
        for one in (ours, *taking_part.values()):
            one.take(away.undone())
    return [duel.row() for duel in duels.values() if duel.theirs]


def joining(stage: Stage) -> list[ReportRow]:
    """Figures 5 and 6: what it takes a peer to join, from nothing, beside Nemo; and what it holds then."""
    counts = (2, 3) if stage.options.quick else PEERS
    total = 120 if stage.options.quick else 10_000
    stage.begin("figures 5 and 6", len(counts) * len(DATASETS))
    rows: list[ReportRow] = []
    for dataset in DATASETS:
        for peers in counts:
            workload = SharingWorkload.make(peers, dataset, stage.options.seed)
            what = f"{peers} peers, {dataset}s"
            rows += _joined(
                stage, workload, workload.base(total // peers), "figure 5", what, dataset, peers, sized=True
            )
            stage.step(what)
    return rows


def cycles(stage: Stage) -> list[ReportRow]:
    """Figure 10: mappings that close cycles."""
    base = 60 if stage.options.quick else 2000
    counts = (0, 1) if stage.options.quick else (0, 1, 2, 3)
    stage.begin("figure 10", len(counts))
    rows: list[ReportRow] = []
    for count in counts:
        workload = SharingWorkload.make(5, "integer", stage.options.seed, count)
        what = f"{count} cycles"
        rows += _joined(stage, workload, workload.base(base), "figure 10", what, "integer", count, sized=True)
        stage.step(what)
    return rows


def _joined(
    stage: Stage,
    workload: SharingWorkload,
    entries: dict[int, range],
    part: str,
    what: str,
    series: str,
    size: int,
    *,
    sized: bool,
) -> list[ReportRow]:
    duel = Duel(part, what, NEMO, "longer", Target("at most", 2), series=series, size=size)
    held = (0, 0, 0)
    _warm(workload)
    with contributed(workload, entries) as folder:
        for turn in range(-1, stage.options.repeat):
            seconds, sharing = from_scratch(workload, folder)
            theirs, engine = nemo_from_scratch(workload, folder)
            if turn >= 0:  # what a process first reads takes memory from the system, once
                duel.ours.append(seconds)
                duel.theirs.append(theirs)
            if turn == 0:
                held = sharing.size()
                sizes = nemo_sizes(workload, engine)
                stage.checks.append(Check(part, what, NEMO, same_sizes(what, sharing.outputs(), sizes, NEMO)))
            sharing.close()
    found = [duel.row()]
    if sized:
        part = "figure 6" if part == "figure 5" else part
        rows = Duel(part, f"rows, {what}", "contributions", "longer", unit="rows", series=series, size=size)
        rows.ours, rows.theirs = [float(held[0])], [float(held[1])]
        memory = Duel(
            part, f"memory a row, {what}", "8 bytes", "longer", unit="bytes", series=series, size=size
        )
        memory.ours, memory.theirs = [held[2] / max(1, held[0])], [8.0]
        memory.detail = True
        found += [rows.row(), memory.row()]
    return found


def _warm(workload: SharingWorkload) -> None:
    """Let both sides do it once with hardly any data: modules, grammars and kernels are loaded by that."""
    with contributed(workload, workload.base(2)) as folder:
        from_scratch(workload, folder)[1].close()
        nemo_from_scratch(workload, folder)


def updates(stage: Stage) -> list[ReportRow]:
    """Figures 7, 8 and 9: insertions and deletions of 1 and 10 percent, by the number of peers."""
    counts = (2, 3) if stage.options.quick else PEERS
    total = 120 if stage.options.quick else 10_000
    stage.begin("figures 7 to 9", len(counts) * len(DATASETS))
    rows: list[ReportRow] = []
    for dataset in DATASETS:
        for peers in counts:
            workload = SharingWorkload.make(peers, dataset, stage.options.seed)
            entries = workload.base(total // peers)
            ours, again = Sharing(workload), Sharing(workload, "recompute")
            loaded = ours.change(workload.transactions("+", entries))
            for one in (ours, again):
                one.take(loaded)
            for share in (1, 10):
                rows += _updated(stage, workload, ours, again, entries, share)
            for one in (ours, again):
                one.close()
            stage.step(f"{peers} peers, {dataset}s")
    return rows


def _updated(
    stage: Stage,
    workload: SharingWorkload,
    ours: Sharing,
    again: Sharing,
    entries: dict[int, range],
    share: int,
) -> list[ReportRow]:
    """New entries come, and go again."""
    peers = len(workload.peers)
    extra = {
        peer: range(each.stop, each.stop + max(1, len(each) * share // 100)) for peer, each in entries.items()
    }
    series = f"{workload.dataset} {share} %"
    what = f"{share} %, {peers} peers, {workload.dataset}s"
    inserted = "figure 7" if workload.dataset == "string" else "figure 8"
    goal = Target("at least", 1)
    come = Duel(inserted, f"insert {what}", RECOMPUTE, "faster", goal, series=series, size=peers)
    go = Duel("figure 9", f"delete {what}", RECOMPUTE, "faster", goal, series=series, size=peers)
    coming = ours.change(workload.transactions("+", extra))
    for turn in range(-1, stage.options.repeat):
        if turn == 0:  # the first changes build indexes and plans
            for duel in (come, go):
                duel.ours.clear()
                duel.theirs.clear()
        for duel, change in ((come, coming), (go, coming.undone())):
            duel.ours.append(ours.take(change))
            duel.theirs.append(again.take(change))
            if turn == 0 and share == 10:
                if workload.dataset == "integer":
                    compared = same_rows(duel.what, ours, again, RECOMPUTE)
                else:  # the same rows, and dear to compare
                    compared = same_sizes(duel.what, ours.outputs(), again.outputs(), RECOMPUTE)
                stage.checks.append(Check(duel.part, duel.what, RECOMPUTE, compared))
    return [come.row(), go.row()]
