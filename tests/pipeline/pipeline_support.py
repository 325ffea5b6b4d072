"""A program, an oracle for it, and readers of what pipelines publish that know nothing of Headwater."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import duckdb

PROGRAM = """
link(src: string, dst: string, cost: int).
reach(X, Y) :- link(X, Y, _).
reach(X, Y) :- link(X, Z, _), reach(Z, Y).
cheapest(X, Y, min<C>) :- link(X, Y, C).
cheapest(X, Y, min<C>) :- link(X, Z, A), cheapest(Z, Y, B), C = A + B.
"""
Link = tuple[str, str, int]

REACH = """
WITH RECURSIVE reach(src, dst) AS (
  SELECT src, dst FROM link UNION SELECT link.src, reach.dst FROM link JOIN reach ON link.dst = reach.src
) FROM reach
"""


def reach(links: Iterable[Link]) -> set[tuple[str, str]]:
    """The view, computed by DuckDB."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE link(src VARCHAR, dst VARCHAR, cost BIGINT)")
        rows = sorted(set(links))
        if rows:
            connection.executemany("INSERT INTO link VALUES (?, ?, ?)", rows)
        return set(connection.execute(REACH).fetchall())


def random_links(rng: random.Random, count: int) -> set[Link]:
    return {(f"n{rng.randrange(8)}", f"n{rng.randrange(8)}", rng.randint(1, 5)) for _ in range(count)}


def edited(rng: random.Random, links: set[Link]) -> set[Link]:
    """Some links less, some more; now and then none at all, or the same."""
    kind = rng.random()
    if kind < 0.1:
        return set()
    if kind < 0.2:
        return set(links)
    gone = set(rng.sample(sorted(links), min(len(links), rng.randint(0, 4))))
    return links - gone | random_links(rng, rng.randint(0, 4))


def folded(folder: Path | str) -> set[tuple[str, ...]]:
    """The view, from nothing but the folder of its changes, read by DuckDB; every change must do something."""
    rows: set[tuple[str, ...]] = set()
    files = f"{folder}/*/*.parquet"
    if not list(Path(folder).glob("*/*.parquet")):
        return rows
    relation = duckdb.sql(
        f"SELECT * EXCLUDE (_commit_timestamp) FROM read_parquet('{files}', hive_partitioning = true)"
    )
    place = {name: number for number, name in enumerate(relation.columns)}
    columns = [place[name] for name in relation.columns if not name.startswith("_")]
    found = relation.fetchall()
    found.sort(key=lambda row: (row[place["_commit_version"]], row[place["_change_type"]] == "insert"))
    for row in found:
        kind, data = row[place["_change_type"]], tuple(row[column] for column in columns)
        assert kind in ("insert", "delete")
        assert (data in rows) == (kind == "delete"), f"{kind} of {data} does nothing"
        (rows.discard if kind == "delete" else rows.add)(data)
    return rows


def stored(folder: Path | str) -> set[tuple[str, ...]]:
    """All rows of a folder of Parquet files, read by DuckDB."""
    return set(duckdb.sql(f"FROM '{folder}/*.parquet'").fetchall())


def write_csv(path: Path, rows: Iterable[tuple], header: str = "src,dst,cost") -> None:
    """A CSV file, there as a whole from one moment to the next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    hidden.replace(path)
