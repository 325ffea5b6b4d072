"""`headwater.exchange`: a confederation from a description in Python, or from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from headwater.calls import public
from headwater.errors import ExchangeError
from headwater.exchange.confederation import Confederation
from headwater.exchange.description import ConfederationDescription, PeerDescription
from headwater.exchange.published import LogsInMemory, PublishedLogs
from headwater.values import arguments


@public
def exchange(
    *,
    peers: Mapping[str, Mapping[str, str]],
    mappings: str = "",
    trust: Mapping[str, str | Sequence[str]] | None = None,
    path: str | os.PathLike[str] | None = None,
    logs: PublishedLogs | None = None,
    **options: object,
) -> Confederation:
    """Open a confederation: `peers` with their relations, `mappings` between these, and the `trust` conditions that
    peers begin with.

    With a `path`, peers live in folders of it and survive restarts; without, all of it is in memory. `logs` is where
    peers publish. All else are options of `connect` for the databases in which peers compute.
    """
    folder = None if path is None else Path(arguments.folder("path", path))
    found = described(peers, arguments.text("mappings", mappings), trust, options)
    return Confederation(found, logs if logs is not None else LogsInMemory(), folder)


def described(
    peers: Mapping[str, Mapping[str, str]],
    mappings: str,
    trust: Mapping[str, str | Sequence[str]] | None = None,
    options: Mapping[str, object] | None = None,
) -> ConfederationDescription:
    """The description that arguments of `exchange` come to."""
    given = arguments.mapping("peers", peers, '{"BioSQL": {"B": "id: int, nam: int"}}')
    if not given:
        raise ExchangeError(
            "bad-schema", "a confederation has peers", hint='peers={"BioSQL": {"B": "id: int"}}'
        )
    trusted = {
        name: (said,) if isinstance(said, str) else tuple(said)
        for name, said in arguments.mapping("trust", trust, '{"BioSQL": "distrust from GUS."}').items()
    }
    made = tuple(
        PeerDescription(
            name,
            dict(arguments.mapping(f"peers[{name!r}]", relations, '{"B": "id: int, nam: int"}')),
            trusted.pop(name, ()),
        )
        for name, relations in given.items()
    )
    found = ConfederationDescription(made, mappings, options=dict(options or {}))
    for name in trusted:
        found.peer(name)
    return found
