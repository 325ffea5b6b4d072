"""What a version cost: counted where it happens, so that nothing is silently slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from headwater.events import Event
from headwater.memory.budget import MemoryUse
from headwater.notebook import paragraph, table

STRATUM_HEADINGS = (
    "view",
    "strategy",
    "rounds",
    "rows looked at",
    "derivations",
    "died",
    "came back",
    "time",
)


@dataclass
class PropagationStatistics:
    """What it cost to compute the changes of a stratum without its rows (`maintain/strategies/propagation`).

    `calls` counts rules that were followed from a set of rows that came or went, `queries` what was asked of both
    states, a set at a time. `potential` are the rows (or groups) that may have come or gone, each once; `filtered`
    those of them that the other state was asked about. Of these some are `disqualified`, the others `added` or
    `removed`. `memo_rows` is how many rows the version's memo tables held in the end, those of earlier strata too.
    `irrelevant` are rows of changed relations that were set aside before anything was asked.
    """

    calls: int = 0
    rounds: int = 0
    queries: int = 0
    potential: int = 0
    filtered: int = 0
    disqualified: int = 0
    added: int = 0
    removed: int = 0
    irrelevant: int = 0
    memo_rows: int = 0


@dataclass
class StratumStatistics:
    """The cost of one stratum in one version. `touched` counts rows that joins and choices looked at.

    `stopped` means that the limit of rounds was reached: rows may be missing.
    """

    relations: tuple[str, ...]
    strategy: str
    rounds: int = 0
    touched: int = 0
    derivations: dict[str, int] = field(default_factory=dict)
    died: int = 0
    doubtful: int = 0
    """How many of those that died may have had derivations left, and were looked into."""
    revived: int = 0
    stopped: bool = False
    iterated: bool = False
    """It was iterated from nothing, since its best rows improve themselves."""
    seconds: float = 0.0
    propagation: PropagationStatistics | None = None
    """If its changes were computed without its rows."""

    def derived(self, rule: str, number: int) -> None:
        """Count derivations found through a rule, gained and lost ones alike."""
        if number:
            self.derivations[rule] = self.derivations.get(rule, 0) + number

    def add_node(self, node: StratumStatistics) -> None:
        """Add what the stratum cost one of several nodes."""
        self.rounds = max(self.rounds, node.rounds)
        self.seconds = max(self.seconds, node.seconds)
        self.touched += node.touched
        self.died += node.died
        self.doubtful += node.doubtful
        self.revived += node.revived
        self.stopped |= node.stopped
        self.iterated |= node.iterated
        for rule, number in node.derivations.items():
            self.derived(rule, number)


@dataclass
class VersionStatistics:
    """The cost of one version. `no_ops` counts inserts of present rows and deletes of absent ones.

    `events` has everything whose cost does not follow the change: recomputation, whole scans, compaction.
    """

    version: int = 0
    inserted: int = 0
    deleted: int = 0
    no_ops: int = 0
    base: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """The same three for each base relation."""
    transitions: int = 1
    """How often base relations were changed: by the caller, and then by active rules."""
    actions: dict[str, int] = field(default_factory=dict)
    """How many rows each active rule asked to insert or delete in the version, by its id."""
    strata: list[StratumStatistics] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    seconds: float = 0.0
    memory: MemoryUse | None = None
    """What the database took when the version was committed, but for small growth since it was last measured."""

    def count_base(self, name: str, inserted: int, deleted: int, no_ops: int) -> None:
        """Count what happened to a base relation."""
        before = self.base.get(name, (0, 0, 0))
        self.base[name] = before[0] + inserted, before[1] + deleted, before[2] + no_ops
        self.inserted += inserted
        self.deleted += deleted
        self.no_ops += no_ops

    def add_node(self, node: VersionStatistics) -> None:
        """Add what the version cost one of several nodes: rounds and seconds of the slowest, all else together.

        Base relations are not added up here, since several nodes may hold the same rows.
        """
        self.events += [event for event in node.events if event not in self.events]
        strata = {stratum.relations: stratum for stratum in self.strata}
        for part in node.strata:
            stratum = strata.get(part.relations)
            if stratum is None:
                stratum = strata[part.relations] = StratumStatistics(part.relations, part.strategy)
                self.strata.append(stratum)
            stratum.add_node(part)

    def _repr_html_(self) -> str:
        rows = [
            [
                escape(", ".join(stratum.relations)),
                escape(stratum.strategy),
                f"{stratum.rounds:,}",
                f"{stratum.touched:,}",
                f"{sum(stratum.derivations.values()):,}",
                f"{stratum.died:,}",
                f"{stratum.revived:,}",
                f"{stratum.seconds * 1e3:,.1f} ms",
            ]
            for stratum in self.strata
        ]
        note = f"version {self.version}: {self.inserted:,} rows inserted, {self.deleted:,} deleted"
        note += f", {self.no_ops:,} without effect" if self.no_ops else ""
        note += f", {self.seconds * 1e3:,.1f} ms"
        note += f"; memory: {self.memory}" if self.memory is not None else ""
        shown = table(STRATUM_HEADINGS, rows, right=range(2, 8)) if rows else ""
        return shown + paragraph(note) + "".join(paragraph(text) for text in self.fallbacks)

    @property
    def fallbacks(self) -> list[str]:
        """The events in words."""
        return [str(event) for event in self.events]

    @property
    def rounds(self) -> int:
        """Rounds of all strata."""
        return sum(stratum.rounds for stratum in self.strata)

    @property
    def touched(self) -> int:
        """Rows looked at in all strata."""
        return sum(stratum.touched for stratum in self.strata)

    @property
    def derivations(self) -> int:
        """Derivations found in all strata."""
        return sum(sum(stratum.derivations.values()) for stratum in self.strata)
