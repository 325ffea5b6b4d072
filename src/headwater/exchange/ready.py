"""Which published transactions a peer can take on: those whose dependencies it has taken, or takes with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.exchange.edit import Transaction, TransactionId


def ready(
    published: Mapping[str, Iterable[Transaction]], taken: Mapping[str, int]
) -> tuple[list[Transaction], list[TransactionId]]:
    """Transactions in an order in which each comes after those it depends on, and those that have to wait.

    Logs are taken from their beginning on: what comes after a transaction that waits, waits too.
    """
    logs = {peer: list(transactions) for peer, transactions in published.items()}
    reached = dict(taken)
    order: list[Transaction] = []
    moved = True
    while moved:
        moved = False
        for peer, log in logs.items():
            start = 0
            while start < len(log) and _fulfilled(log[start], reached):
                order.append(log[start])
                reached[peer] = log[start].id.number
                start += 1
            if start:
                logs[peer] = log[start:]
                moved = True
    return order, [transaction.id for log in logs.values() for transaction in log]


def _fulfilled(transaction: Transaction, reached: Mapping[str, int]) -> bool:
    return all(
        needed.number <= reached.get(needed.peer, 0)
        for needed in transaction.depends
        if needed.peer != transaction.id.peer
    )
