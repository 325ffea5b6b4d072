"""A confederation as a TOML file: what it says, checked, with the place of what is wrong.

    state = "state"
    logs = "shared/logs"
    mappings = '''
    m1: G(i, c, n) -> B(i, n).
    '''

    [peer.GUS]
    relations.G = "id: int, can: int, nam: int"

    [peer.BioSQL]
    database = "sqlite:///biosql.db"
    relations.B = "id: int, nam: int"
    trust = "distrust B(i, n) from GUS if n >= 3."

All peers may share the file: each opens its own part. Paths in it are relative to its folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import ExchangeError, HeadwaterError
from headwater.exchange.description import ConfederationDescription, PeerDescription, check_options
from headwater.exchange.schemas import read_schemas
from headwater.exchange.wrappers.open import CAPTURES
from headwater.files.toml_text import Allowed, TomlText
from headwater.language.mappings import parse, parse_policy

_TOP: Allowed = {
    "mappings": (str,),
    "mappings_file": (str,),
    "state": (str,),
    "logs": (str,),
    "options": (dict,),
    "peer": (dict,),
}
_PEER: Allowed = {
    "relations": (dict,),
    "trust": (str, list),
    "database": (str,),
    "tables": (dict,),
    "capture": (str,),
}
SQLITE = "sqlite:///"


@dataclass(frozen=True)
class ConfederationSettings:
    """All that a confederation's file says: the description, where peers live, and where they publish."""

    file: Path
    description: ConfederationDescription
    state: Path
    logs: str


def read_confederation(file: Path) -> ConfederationSettings:
    """Read and check a confederation's file."""
    return _ConfederationReader(TomlText.read(file, ExchangeError)).settings()


def parse_confederation(text: str, file: Path) -> ConfederationSettings:
    """Check what a confederation's file says."""
    return _ConfederationReader(TomlText(text, file, ExchangeError)).settings()


class _ConfederationReader:
    def __init__(self, toml: TomlText):
        self.toml = toml
        self.data = toml.data

    def settings(self) -> ConfederationSettings:
        self.toml.check_keys(self.data, _TOP, None)
        peers = self.data.get("peer", {})
        if not peers:
            hint = 'write [peer.BioSQL], and below it relations.B = "id: int, nam: int"'
            raise self.toml.error("missing-key", "there is no peer", None, 0, None, hint)
        mappings, source = self._mappings()
        described = tuple(self._peer(name, values) for name, values in peers.items())
        description = ConfederationDescription(
            described, mappings, source, options=dict(self.data.get("options", {}))
        )
        self._check(description)
        state = Path(self.toml.path(self.data.get("state", "state")))
        logs = self._address(self.data["logs"]) if "logs" in self.data else str(state / "published")
        return ConfederationSettings(self.toml.file, description, state, logs)

    def _mappings(self) -> tuple[str, str]:
        if "mappings_file" not in self.data:
            return self.data.get("mappings", ""), f"{self.toml.file}: mappings"
        if "mappings" in self.data:
            raise self.toml.error(
                "two-mappings",
                "mappings are here and in a file",
                None,
                0,
                "mappings_file",
                "give one of them",
            )
        path = Path(self.toml.path(self.data["mappings_file"]))
        try:
            return path.read_text(encoding="utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise self.toml.error(
                "missing-file", f"cannot read {path}: {said}", None, 0, "mappings_file", None
            ) from None

    def _peer(self, name: str, values: Any) -> PeerDescription:
        table = f"peer.{name}"
        if not isinstance(values, dict):
            raise self.toml.error(
                "wrong-type", f"peer {name} is {values!r}", "peer", 0, name, f"write [{table}]"
            )
        self.toml.check_keys(values, _PEER, table)
        if not values.get("relations"):
            hint = 'relations.B = "id: int, nam: int"'
            raise self.toml.error("missing-key", f"peer {name} has no relations", table, 0, None, hint)
        for key in ("relations", "tables"):
            if key in values:
                self.toml.check_texts(values, key, table)
        trust = values.get("trust", ())
        trust = (trust,) if isinstance(trust, str) else tuple(trust)
        if not all(isinstance(one, str) for one in trust):
            raise self.toml.error(
                "wrong-type", "trust is a text, or a list of texts", table, 0, "trust", None
            )
        capture = values.get("capture", "auto")
        if capture not in CAPTURES:
            hint = f"one of {', '.join(CAPTURES)}"
            raise self.toml.error("unknown-kind", f"no capture is {capture!r}", table, 0, "capture", hint)
        for relation in values.get("tables", {}):
            if relation not in values["relations"]:
                hint = f"there are: {', '.join(values['relations'])}"
                raise self.toml.error(
                    "unknown-key", f"{name} has no relation {relation}", table, 0, "tables", hint
                )
        database = self._address(values["database"]) if "database" in values else None
        return PeerDescription(
            name, dict(values["relations"]), trust, database, dict(values.get("tables", {})), capture
        )

    def _check(self, description: ConfederationDescription) -> None:
        """Schemas, mappings, conditions and options make sense; errors of all but mappings have their places here."""
        for name, value in description.options.items():
            self._placed(lambda name=name, value=value: check_options({name: value}), "options", name)
        self._placed(lambda: check_options(description.options), "options", "run")
        for peer in description.peers:
            self._placed(
                lambda peer=peer: read_schemas(ConfederationDescription((peer,))),
                f"peer.{peer.name}",
                "relations",
            )
            for text in peer.trust:
                self._placed(
                    lambda text=text, peer=peer: parse_policy(text, f"<trust of {peer.name}>"),
                    f"peer.{peer.name}",
                    "trust",
                )
        parse(description.mappings, description.source)

    def _placed(self, read: Any, table: str, key: str) -> None:
        try:
            read()
        except HeadwaterError as error:
            place = self.toml.place(table, 0, key)
            raise type(error)(
                error.code, error.message, place=place or error.place, hint=error.hint
            ) from None

    def _address(self, address: str) -> str:
        """An address with paths relative to the file: of folders, and of SQLite's and DuckDB's files."""
        for scheme in (SQLITE, "duckdb:///"):
            if address.startswith(scheme) and not address.startswith(scheme + ":"):
                return scheme + self.toml.path(address.removeprefix(scheme))
        for scheme in ("delta://", "parquet://"):
            if address.startswith(scheme):
                return scheme + self.toml.path(address.removeprefix(scheme))
        return self.toml.path(address)
