"""A confederation: its description, what its peers have published, and those of its peers that live here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType

from headwater.calls import public_class
from headwater.exchange.description import ConfederationDescription, PeerDescription
from headwater.exchange.peer import Peer
from headwater.exchange.published import LogsInMemory, PublishedLogs


@public_class
class Confederation(Mapping[str, Peer]):
    """Peers by name; each is opened when it is first asked for."""

    def __init__(
        self,
        description: ConfederationDescription,
        logs: PublishedLogs | None = None,
        path: Path | None = None,
    ):
        self.description = description
        self.logs = logs if logs is not None else LogsInMemory()
        self.path = path
        self._open: dict[str, Peer] = {}
        self._opening = Lock()

    def __getitem__(self, name: str) -> Peer:
        described: PeerDescription = self.description.peer(name)
        with self._opening:  # or two threads that ask at once would both open it
            if described.name not in self._open:
                folder = None if self.path is None else self.path / "peers" / described.name
                self._open[described.name] = Peer(described.name, self.description, self.logs, folder)
            return self._open[described.name]

    def __contains__(self, name: object) -> bool:
        return any(peer.name == name for peer in self.description.peers)

    def __iter__(self) -> Iterator[str]:
        return (peer.name for peer in self.description.peers)

    def __len__(self) -> int:
        return len(self.description.peers)

    def exchange(self) -> None:
        """Let all peers publish, then let all of them update."""
        for name in self:
            self[name].publish()
        for name in self:
            self[name].update()

    def close(self) -> None:
        """Close all peers."""
        for peer in self._open.values():
            peer.close()
        self._open.clear()

    def __enter__(self) -> Confederation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<confederation of {', '.join(self)}>"
