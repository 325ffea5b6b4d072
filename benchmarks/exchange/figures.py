"""Figures 5 to 10 of green-2007, section 6: joining, updates and cycles, at which sizes, beside whom."""

from __future__ import annotations

from benchmarks.duel import Duel
from benchmarks.exchange.deletions import RECOMPUTE
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

PEERS = (2, 5, 10, 20, 30)
DATASETS: tuple[Dataset, ...] = ("string", "integer")


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
