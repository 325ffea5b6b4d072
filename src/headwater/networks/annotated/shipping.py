"""MinShip (liu-2008 section 5, algorithm 3): when the derivations of a row are shipped.

The first one goes out at once, whatever the way. Others, as far as what was shipped does not absorb them:
- *conventional*: all of them at once, absorbed or not: a Ship without memory, as in figure 2 of the paper;
- *eager*: at once; with a `window` W, when W rows have some, and when the node has nothing else to do; with a
  `timer`, every so many seconds. Rows that stay at their node wait for nothing but what the node is doing. With
  `nearest_first`, each time the timer runs out only rows of one span go, those that rest on base rows of fewest nodes
  (`rows_by_span`), and rows that stay at their node take their turns in the same order;
- *lazy*: when all that was shipped of the row has become false;
- *bounded*: never. They are not even kept: when what was shipped has become false, the row is derived again from
  what the node holds, and one term is shipped. A row has about one term a sender then; eager and lazy may have very
  many: non-linear closure of a complete graph of seven has 178 terms a row eagerly, and 4 bounded.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shipping:
    """A way to ship; see the module. `name` is what users call it."""

    name: str
    keeps: bool = True
    """Whether derivations that are not shipped are kept."""
    at_once: bool = False
    absorbs: bool = True
    """Whether what the receiver knows already is not shipped again."""
    window: int | None = None
    timer: float | None = None
    nearest_first: bool = False
    """Of the rows that wait for the timer, those of the least span go first."""

    @property
    def waits(self) -> bool:
        """Whether derivations after the first wait for a window or a timer."""
        return self.window is not None or self.timer is not None

    @property
    def lazy(self) -> bool:
        """Whether what is kept is shipped only when it is needed."""
        return not self.waits and not self.at_once


EAGER = Shipping("eager", at_once=True)
CONVENTIONAL = Shipping("conventional", at_once=True, absorbs=False)
LAZY = Shipping("lazy")
BOUNDED = Shipping("bounded", keeps=False)


def windowed(rows: int) -> Shipping:
    """Eager, in batches of so many rows."""
    return Shipping(f"eager, W = {rows}", window=rows)


def timed(seconds: float, *, nearest_first: bool = False) -> Shipping:
    """Eager, every so many seconds."""
    order = ", nearest first" if nearest_first else ""
    return Shipping(f"eager, every {seconds:g} s{order}", timer=seconds, nearest_first=nearest_first)
