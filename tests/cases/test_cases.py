"""Every case of this folder, run every way: strategies, in memory and on disk, on nodes, batches and single rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cases_loader import FUNCTIONS, Case, Row, Version, load_cases

import headwater as hw
from headwater.database import Database
from headwater.language.datalog import parse
from headwater.nodes.where import start_nodes
from headwater.rules.check import check
from headwater.values.functions import Functions

CASES = list(load_cases())
THOROUGH = "HEADWATER_ORACLE_EXAMPLES" in os.environ
"""Whether this is the deep run (see `tests/deep.py`)."""


def is_recursive(text: str) -> bool:
    functions = Functions()
    for name, (function, args, returns) in FUNCTIONS.items():
        functions.register(name, function, args, returns)
    return any(stratum.recursive for stratum in check(parse(text), functions).strata)


RANKED = ("support", "counting", "dred", "recompute", "auto")
ANNOTATED = ("absorption", "absorption-eager", "relative")


def runs(strategies: Iterable[str]) -> list[object]:
    return [
        pytest.param(case, strategy, id=f"{case}-{strategy}")
        for case in CASES
        for strategy in strategies
        if strategy != "counting" or not is_recursive(case.text)
    ]


def by_relation(rows: Iterable[tuple[str, Row]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, row in rows:
        found.setdefault(name, []).append(row)
    return found


def apply_whole(db: Database, version: Version) -> None:
    if version.time is not None:
        db.advance(version.time)
    else:
        db.apply(delete=by_relation(version.delete), insert=by_relation(version.insert))


def single_rows(version: Version) -> list[Version]:
    if version.time is not None:
        return [version]
    deletes = [Version(delete=(change,)) for change in version.delete]
    return deletes + [Version(insert=(change,)) for change in version.insert]


def rows_of(db: Database, case: Case) -> dict[str, frozenset[Row]]:
    return {name: frozenset(db[name].rows()) for name in case.compares}


def run(case: Case, opened: Callable[[], Database], rows_at_once: bool) -> None:
    """Go through the versions; `opened` is asked for the database before each one."""
    opened().define(case.text)
    for number, (version, expected) in enumerate(zip(case.versions, case.expected, strict=True), 1):
        for part in [version] if rows_at_once else single_rows(version):
            apply_whole(opened(), part)
        assert rows_of(opened(), case) == expected, f"version {number}"


@pytest.mark.parametrize("rows_at_once", [True, False], ids=["batched", "row by row"])
@pytest.mark.parametrize(("case", "strategy"), runs((*RANKED, *ANNOTATED)))
def test_in_memory(case: Case, strategy: str, rows_at_once: bool):
    db = hw.connect(strategy=strategy, functions=FUNCTIONS)
    run(case, lambda: db, rows_at_once)


@pytest.mark.parametrize(("case", "strategy"), runs((*RANKED, "relative")))
def test_reopened_before_every_version(case: Case, strategy: str, tmp_path: Path):
    _run_reopened(case, strategy, tmp_path, rows_at_once=True)


@pytest.mark.parametrize(("case", "strategy"), runs((*RANKED, "relative") if THOROUGH else ("support",)))
def test_reopened_before_every_row(case: Case, strategy: str, tmp_path: Path):
    """What is read back does not depend on the strategy; that any of them goes on from there, whole versions show."""
    _run_reopened(case, strategy, tmp_path, rows_at_once=False)


def _run_reopened(case: Case, strategy: str, tmp_path: Path, *, rows_at_once: bool) -> None:
    with ExitStack() as stack:
        last: list[Database] = []

        def reopen() -> Database:
            for db in last:
                db.close()
            last[:] = [hw.connect(tmp_path, strategy=strategy, functions=FUNCTIONS, sync=False)]
            stack.callback(last[0].close)
            return last[0]

        run(case, reopen, rows_at_once)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_checkpoint_after_every_version(case: Case, tmp_path: Path):
    with hw.connect(tmp_path, functions=FUNCTIONS, sync=False) as db:
        db.define(case.text)
        db.checkpoint()
    for number, (version, expected) in enumerate(zip(case.versions, case.expected, strict=True), 1):
        with hw.connect(tmp_path, functions=FUNCTIONS, sync=False) as db:
            apply_whole(db, version)
            assert rows_of(db, case) == expected, f"version {number}"
            db.checkpoint()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with start_nodes(3, run="threads", functions=FUNCTIONS) as nodes:
        yield nodes


@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_nodes(case: Case, nodes: Any):
    """All relations split. Some cases are run on nodes of a real Spark (`tests/nodes`)."""
    with hw.connect(run="threads", nodes=nodes, replicate=0, functions=FUNCTIONS) as db:
        run(case, lambda: db, rows_at_once=True)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_changes_are_the_difference_of_the_rows(case: Case):
    db = hw.connect(functions=FUNCTIONS)
    db.define(case.text)
    before = rows_of(db, case)
    for version in case.versions:
        if version.time is not None:
            changes = db.advance(version.time)
        else:
            changes = db.apply(delete=by_relation(version.delete), insert=by_relation(version.insert))
        after = rows_of(db, case)
        for name in case.compares:
            assert sorted(changes[name].inserted) == sorted(after[name] - before[name])
            assert sorted(changes[name].deleted) == sorted(before[name] - after[name])
        before = after
