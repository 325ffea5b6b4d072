"""The schemas of a description, read: columns as declarations write them."""

from __future__ import annotations

from headwater.errors import ExchangeError, HeadwaterError
from headwater.exchange.description import ConfederationDescription
from headwater.language.datalog import parse
from headwater.language.mappings.mapping import PeerRelation, Schemas
from headwater.language.program import Column


def read_schemas(description: ConfederationDescription) -> Schemas:
    """The relations of all peers with their columns; every column has a type."""
    columns: dict[PeerRelation, tuple[Column, ...]] = {}
    seen: set[str] = set()
    for peer in description.peers:
        if not peer.name.isidentifier() or peer.name in seen:
            raise ExchangeError(
                "bad-schema",
                f"{peer.name!r} cannot name a peer"
                if peer.name not in seen
                else f"two peers are called {peer.name}",
                hint="names are letters, digits and _, and differ",
            )
        seen.add(peer.name)
        for name, written in peer.relations.items():
            columns[PeerRelation(peer.name, name)] = _columns(peer.name, name, written)
    return Schemas(columns)


def _columns(peer: str, name: str, written: str) -> tuple[Column, ...]:
    try:
        if not name.isidentifier():
            raise ValueError(f"{name!r} cannot name a relation")
        (declaration,) = parse(f".decl {name}({written})", f"<schema of {peer}>").declarations
    except (HeadwaterError, ValueError) as error:
        place = getattr(error, "place", None)
        raise ExchangeError(
            "bad-schema",
            f"the columns of {peer}.{name} cannot be read: {getattr(error, 'message', error)}",
            place=place,
            hint='write {"B": "id: int, nam: string"}',
        ) from error
    names = [column.name for column in declaration.columns]
    if len(set(names)) < len(names):
        raise ExchangeError(
            "bad-schema", f"{peer}.{name} has two columns of one name", hint="name them differently"
        )
    for column in declaration.columns:
        if column.type is None:
            raise ExchangeError(
                "bad-schema",
                f"{peer}.{name} says no type for {column.name}",
                hint=f"write {column.name}: int",
            )
    return declaration.columns
