"""What a confederation is: its peers with their schemas and trust conditions, and the mappings between them.

All peers hold the same description. It is data: a TOML file or the arguments of `headwater.exchange` become one, and
peers are made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headwater.errors import ExchangeError
from headwater.options import Options
from headwater.spelling import did_you_mean

FOR_READERS = ("mode", "version")
"""Options of `connect` that make no sense for a peer, which writes."""


@dataclass(frozen=True)
class PeerDescription:
    """A peer: its relations with their columns as declarations write them (`{"B": "id: int, nam: int"}`), the trust
    conditions that it begins with, and its own database, if it has one outside of Headwater: its address, the tables
    of relations that are called otherwise there, and how to capture what its users do."""

    name: str
    relations: Mapping[str, str]
    trust: tuple[str, ...] = ()
    database: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    capture: str = "auto"


@dataclass(frozen=True)
class ConfederationDescription:
    """Peers in order, and the text of all mappings; `source` names that text in errors."""

    peers: tuple[PeerDescription, ...]
    mappings: str = ""
    source: str = "<mappings>"
    options: Mapping[str, object] = field(default_factory=dict)
    """For the databases in which peers compute: options of `connect`."""

    def peer(self, name: str) -> PeerDescription:
        """One of the peers."""
        for peer in self.peers:
            if peer.name == name:
                return peer
        names = [peer.name for peer in self.peers]
        hint = did_you_mean(name, names) or f"there are: {', '.join(names)}"
        raise ExchangeError("unknown-peer", f"there is no peer {name}", hint=hint)


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse what the databases in which peers compute could not be told, before any is opened."""
    known = [option.name for option in fields(Options) if option.name not in FOR_READERS]
    for name in options:
        if name not in known:
            message = f"peers are not told {name}" if name in FOR_READERS else f"there is no option {name}"
            hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
            raise ExchangeError("unknown-option", message, hint=hint)
    Options(**options)
