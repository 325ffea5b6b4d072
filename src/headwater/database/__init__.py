"""The database: definitions and changes in, views and their changes out.

A version is applied whole or not at all. With a path, a version is on the disk before it is acknowledged. The class
is built up in layers: `opened`, `durable`, `versions`, and beside each other `subscriptions` and `questions`.
"""

from __future__ import annotations

from headwater.database.questions import Questions
from headwater.database.subscriptions import Subscriptions
from headwater.memory.guard import memory_errors_are_ours

__all__ = ["Database"]


@memory_errors_are_ours
class Database(Subscriptions, Questions):
    """A set of base relations and the views over them. See `headwater.connect`."""
