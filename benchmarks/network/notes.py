"""Why figures are what they are, where the table cannot say it: by the part of the benchmark that they belong to."""

from __future__ import annotations

from collections.abc import Iterable

NOTES: dict[str, tuple[str, ...]] = {
    "selections": (
        "Nodes take 6 ms for a message, which is chosen so that hop counts converge when they do in the "
        "paper; all else follows from it. Without that time messages come in the order of latencies alone, "
        "and convergence is 8 to 10 times as fast.",
        "Where ours tells more than the paper's: best rows pass on one by one as they come, and each better "
        "one is told again. The share above the least number of messages is in the table. Periodic "
        "selections save most by hops, where a random part of each cost tells equally long paths apart, and "
        "those that come later are often better; by latency what is cheapest comes first anyway.",
    ),
    "magic": (
        "Queries and all pairs are without a service time: nothing there depends on how long nodes take.",
    ),
    "updates": (
        "Bursts: the peak is the first quarter of a second, when each end of a changed link tells all of "
        "its best paths over it at once: one message that a node hears costs it 6 ms, and what it then "
        "tells nothing. Rows that were best for a while and are kept in reserve are not told over a changed "
        "link, as P2 has overwritten them. What is taken back goes along with the row that takes its place, "
        "and rows that go at the same moment to the same neighbour are one message, which keeps its node "
        "busy as any other.",
    ),
}


def notes_of(parts: Iterable[str]) -> tuple[str, ...]:
    """What is to be said of the parts that were measured."""
    return tuple(note for part in parts for note in NOTES.get(part, ()))
