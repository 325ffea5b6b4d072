"""`headwater.exchange`: a confederation from a description in Python, or from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from headwater.calls import public
from headwater.errors import ExchangeError
from headwater.exchange.confederation import Confederation
from headwater.exchange.description import ConfederationDescription, PeerDescription, check_options
from headwater.exchange.logs import open_logs
from headwater.exchange.published import LogsInMemory, PublishedLogs
from headwater.exchange.settings import ConfederationSettings, read_confederation
from headwater.values import arguments


@public
def exchange(
    file: str | os.PathLike[str] | None = None,
    *,
    peers: Mapping[str, Mapping[str, str]] | None = None,
    mappings: str = "",
    trust: Mapping[str, str | Sequence[str]] | None = None,
    path: str | os.PathLike[str] | None = None,
    logs: str | os.PathLike[str] | PublishedLogs | None = None,
    **options: object,
) -> Confederation:
    """Open a confederation: that of a TOML `file`, or `peers` with their relations, `mappings` between these, and the
    `trust` conditions that peers begin with.

    With a `path`, peers live in folders of it and survive restarts; without, all of it is in memory. `logs` is where
    peers publish: a folder, by default one in `path`, the address of a database or of an object store. All else are
    options of `connect` for the databases in which peers compute.
    """
    if file is not None:
        if peers is not None or mappings or trust or logs is not None or options:
            raise ExchangeError(
                "two-descriptions",
                "a confederation is described by a file, or by arguments",
                hint="write all of it into the file; only path may be given with it",
            )
        return open_file(read_confederation(Path(arguments.folder("file", file))), path)
    if peers is None:
        raise ExchangeError(
            "bad-schema",
            "a confederation has peers",
            hint='exchange("file.toml"), or exchange(peers={"BioSQL": {"B": "id: int"}})',
        )
    folder = None if path is None else Path(arguments.folder("path", path))
    found = described(peers, arguments.text("mappings", mappings), trust, options)
    return Confederation(found, _logs(logs, folder), folder)


def open_file(settings: ConfederationSettings, path: str | os.PathLike[str] | None = None) -> Confederation:
    """The confederation of a file; its peers live where the file says, or in `path`."""
    state = settings.state if path is None else Path(path)
    return Confederation(settings.description, open_logs(settings.logs), state)


def _logs(given: str | os.PathLike[str] | PublishedLogs | None, folder: Path | None) -> PublishedLogs:
    if given is None:
        return LogsInMemory() if folder is None else open_logs(folder / "published")
    return open_logs(given) if isinstance(given, (str, os.PathLike)) else given


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
    check_options(options or {})
    found = ConfederationDescription(made, mappings, options=dict(options or {}))
    for name in trusted:
        found.peer(name)
    return found
