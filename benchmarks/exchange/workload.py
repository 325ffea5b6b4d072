"""The workload generator of green-2007, section 6.1: peers with random schemas over one universal relation.

Each peer partitions the same randomly chosen attributes into relations of its own, how many by Zipf's law, each with
a shared key; so mappings are full. A mapping's source is the join of all relations of a peer, and its target all
relations of another. Peers stand in a chain, n - 1 mappings among n peers; cycles are closed by mappings back.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.exchange.swissprot import ATTRIBUTES, Dataset, value
from headwater.exchange.description import ConfederationDescription, PeerDescription
from headwater.exchange.edit import Edit, Transaction, TransactionId

MOST_RELATIONS = 4
"""At a peer: the paper's parameter of that name, which it does not tell."""
LEAST_ATTRIBUTES = 6
"""Fewer are drawn again: nothing would be left to partition."""
BACK = ((4, 0), (2, 0), (4, 2))
"""Mappings that close cycles, one after another, among five peers."""
Rows = dict[str, list[tuple[object, ...]]]


def zipf(most: int, choose: random.Random) -> int:
    """A number from 1 to `most`, each as often as 1 divided by it."""
    return choose.choices(range(1, most + 1), [1 / n for n in range(1, most + 1)])[0]


@dataclass(frozen=True)
class SharingPeer:
    """A peer: its relations with their attributes."""

    name: str
    relations: dict[str, tuple[str, ...]]

    def atoms(self) -> str:
        """All relations joined by the key, in the language of mappings."""
        return ", ".join(f"{name}(key, {', '.join(columns)})" for name, columns in self.relations.items())


@dataclass(frozen=True)
class SharingWorkload:
    """Peers, the mappings between them by numbers, and the kind of data."""

    peers: tuple[SharingPeer, ...]
    edges: tuple[tuple[int, int], ...]
    dataset: Dataset

    @classmethod
    def make(cls, peers: int, dataset: Dataset, seed: int, cycles: int = 0) -> SharingWorkload:
        """Random schemas over the same attributes."""
        choose = random.Random(seed)
        count = 0
        while count < LEAST_ATTRIBUTES:
            count = zipf(len(ATTRIBUTES), choose)
        attributes = choose.sample(list(ATTRIBUTES), count)
        made = []
        for number in range(peers):
            relations = zipf(MOST_RELATIONS, choose)
            choose.shuffle(attributes)
            parts = [tuple(attributes[part::relations]) for part in range(relations)]
            made.append(
                SharingPeer(
                    f"P{number}", {f"R{number}_{part}": columns for part, columns in enumerate(parts)}
                )
            )
        chain = [(number, number + 1) for number in range(peers - 1)]
        return cls(tuple(made), (*chain, *BACK[:cycles]), dataset)

    def description(self, strategy: str) -> ConfederationDescription:
        """The confederation, computing with a strategy."""
        kind = "int" if self.dataset == "integer" else "string"
        peers = tuple(
            PeerDescription(
                peer.name,
                {
                    name: ", ".join(["key: int", *(f"{column}: {kind}" for column in columns)])
                    for name, columns in peer.relations.items()
                },
            )
            for peer in self.peers
        )
        mappings = "\n".join(
            f"m{start}_{end}: {self.peers[start].atoms()} -> {self.peers[end].atoms()}."
            for start, end in self.edges
        )
        return ConfederationDescription(peers, mappings, options={"strategy": strategy})

    def rows(self, peer: int, entries: Iterable[int]) -> Rows:
        """Entries as rows of a peer's relations; every entry of the whole workload has a key of its own."""
        found: Rows = {name: [] for name in self.peers[peer].relations}
        for entry in entries:
            for name, columns in self.peers[peer].relations.items():
                values = (value(column, entry, self.dataset) for column in columns)
                found[name].append((entry, *values))
        return found

    def transactions(self, sign: str, entries: dict[int, range], number: int = 1) -> list[Transaction]:
        """One transaction of each peer that inserts or deletes entries, by the number of the peer."""
        return [
            Transaction(
                TransactionId(self.peers[peer].name, number),
                tuple(
                    Edit("+" if sign == "+" else "-", name, row)
                    for name, rows in self.rows(peer, each).items()
                    for row in rows
                ),
            )
            for peer, each in entries.items()
        ]

    def base(self, count: int) -> dict[int, range]:
        """So many entries for each peer."""
        return {peer: range(peer * 10_000_000, peer * 10_000_000 + count) for peer in range(len(self.peers))}

    # ------------------------------------------------------------------ for Nemo

    def write_csv(self, folder: Path, entries: dict[int, range]) -> None:
        """The contributions as files."""
        for peer, each in entries.items():
            for name, rows in self.rows(peer, each).items():
                with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows(rows)

    def nemo(self, folder: Path) -> str:
        """The same rules for Nemo: contributions, provenance relations, outputs; nothing is rejected."""
        return "\n".join(self._nemo_rules(folder))

    def _nemo_rules(self, folder: Path) -> Iterator[str]:
        kind = "int" if self.dataset == "integer" else "string"
        for peer in self.peers:
            for name, columns in peer.relations.items():
                types = ", ".join(["int", *[kind] * len(columns)])
                yield f'@import {name}_l :- csv{{resource="{folder / name}.csv", format=({types})}} .'
                row = ", ".join(["?key", *(f"?{column}" for column in columns)])
                yield f"{name}_o({row}) :- {name}_l({row}) ."
        for start, end in self.edges:
            body = ", ".join(
                f"{name}_o(?key, {', '.join(f'?{c}' for c in columns)})"
                for name, columns in self.peers[start].relations.items()
            )
            every = sorted({column for columns in self.peers[start].relations.values() for column in columns})
            provenance = f"m{start}_{end}_p(?key, {', '.join(f'?{column}' for column in every)})"
            yield f"{provenance} :- {body} ."
            for name, columns in self.peers[end].relations.items():
                yield f"{name}_o(?key, {', '.join(f'?{c}' for c in columns)}) :- {provenance} ."
