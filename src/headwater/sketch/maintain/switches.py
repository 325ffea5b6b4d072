"""What maintenance may leave out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switches:
    """What maintenance may do to do less: each can be left out, and the sketch is the same (but for `shrink`)."""

    push_selections: bool = True
    bloom_filters: bool = True
    buffer: int | None = 20
    """How many rows buffers for min, max and top-k hold; `None` for all."""
    shrink: bool = True
    """Whether fragments that are needed no more leave the sketch (`growing`)."""
    lookups: bool = True
    """Whether deltas are joined access by access, with what is looked up (`join_walk`)."""
    kept_rows: int = 250_000
    """Of an access that has so few rows, all are kept for as long as its table stays as it is: they take about as
    much as filters of large ones, and need not be looked up."""
