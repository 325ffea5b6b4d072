"""What a pipeline has done, and where it stands: for programs, the command and the screen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headwater.pipeline.source import Batch


@dataclass(frozen=True)
class SourceReport:
    """One source: what was read in this run, and where it stands."""

    name: str
    relation: str
    read: int = 0
    changes: int = 0
    mark: Any = None
    behind: str = ""  # what is there and not read yet, if somebody looked
    refused: int = 0  # rows that were left out, since they lack a value

    def with_batch(self, batch: Batch) -> SourceReport:
        """After one more reading."""
        return replace(
            self,
            read=self.read + batch.read,
            changes=self.changes + batch.changes,
            mark=batch.mark,
            refused=self.refused + len(batch.refused),
        )


@dataclass(frozen=True)
class SinkReport:
    """One sink: what was published in this run, and what is still owed."""

    name: str
    view: str
    versions: int = 0
    changes: int = 0
    published: int = 0
    owed: int = 0


@dataclass(frozen=True)
class Report:
    """A pipeline as of now."""

    version: int
    versions: int = 0
    lag: float = 0.0  # seconds from when the last version's data was asked for until all of it was published
    sources: tuple[SourceReport, ...] = ()
    sinks: tuple[SinkReport, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def read(self) -> int:
        """Rows read from all sources in this run."""
        return sum(source.read for source in self.sources)

    @property
    def changes(self) -> int:
        """Changes applied to base relations in this run."""
        return sum(source.changes for source in self.sources)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "versions": self.versions,
            "lag": round(self.lag, 6),
            "read": self.read,
            "changes": self.changes,
            "sources": [vars(source) for source in self.sources],
            "sinks": [vars(sink) for sink in self.sinks],
            "notes": list(self.notes),
        }
