"""Transactions as bytes and back: one line of JSON each, values as texts that tell their types.

This is the only form in which they are stored and sent.

>>> from headwater.exchange.edit import Edit, Transaction, TransactionId
>>> sent = Transaction(TransactionId("GUS", 1), (Edit("+", "G", (3, "five", None)),))
>>> encode(sent)
b'{"id":"GUS:1","edits":[["+","G",["3","\\'five\\'","null"]]]}'
>>> decode(encode(sent)) == sent
True
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from headwater.errors import ExchangeError
from headwater.exchange.edit import Edit, PolicyEdit, Row, Transaction, TransactionId
from headwater.values.label_text import literal, parse_literal, parse_literals

FEWEST_READ_TOGETHER = 8
"""Edits of a transaction from which on their rows are read by columns."""


def encode(transaction: Transaction) -> bytes:
    """A transaction as one line, without a line end."""
    said: dict[str, Any] = {"id": str(transaction.id)}
    if transaction.edits:
        said["edits"] = [
            [edit.sign, edit.relation, list(map(literal, edit.row))] for edit in transaction.edits
        ]
    if transaction.depends:
        said["depends"] = list(map(str, transaction.depends))
    if transaction.policy:
        said["policy"] = [[edit.sign, edit.condition] for edit in transaction.policy]
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def mention(relation: str, row: Row) -> bytes:
    """What the line of each transaction holds that edits this row.

    >>> mention("G", (3, "five")) in encode(Transaction(TransactionId("GUS", 1), (Edit("+", "G", (3, "five")),)))
    True
    """
    return json.dumps(
        [relation, list(map(literal, row))], ensure_ascii=False, separators=(",", ":")
    ).encode()[1:]


def decode(line: bytes) -> Transaction:
    """The transaction that `encode` wrote; refuses anything else."""
    try:
        said = json.loads(line)
        return Transaction(
            TransactionId.parse(said["id"]),
            _edits(said.get("edits", ())),
            tuple(map(TransactionId.parse, said.get("depends", ()))),
            tuple(PolicyEdit(_sign(sign), str(text)) for sign, text in said.get("policy", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ExchangeError(
            "damaged-transaction",
            f"this is not a transaction: {line[:80]!r} ({type(error).__name__}: {error})",
            hint="logs are written by publish alone; restore the file from a copy",
        ) from error


def _edits(said: Sequence[Any]) -> tuple[Edit, ...]:
    """Rows of one relation and length are read together, column by column."""
    if len(said) < FEWEST_READ_TOGETHER:
        return tuple(
            Edit(_sign(sign), str(relation), tuple(map(parse_literal, row))) for sign, relation, row in said
        )
    alike: dict[tuple[str, int], list[Sequence[str]]] = {}
    for _, relation, row in said:
        alike.setdefault((relation, len(row)), []).append(row)
    read = {kind: iter(_rows(each)) for kind, each in alike.items()}
    return tuple(
        [Edit(_sign(sign), str(relation), next(read[relation, len(row)])) for sign, relation, row in said]
    )


def _rows(texts: Sequence[Sequence[str]]) -> Sequence[Row]:
    """Rows of one length, column by column."""
    if not texts[0]:
        return [()] * len(texts)
    columns = [parse_literals(column) for column in zip(*texts, strict=True)]
    return list(zip(*columns, strict=True))


def _sign(sign: Any) -> Any:
    if sign not in ("+", "-"):
        raise ValueError(f"{sign!r} is neither + nor -")
    return sign
