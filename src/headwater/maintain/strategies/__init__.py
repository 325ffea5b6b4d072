"""The strategies, one file each, and their names (which `cli/options.py` has too, so as to start without them)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.maintain.strategies.absorption import absorption_eager, absorption_lazy
from headwater.maintain.strategies.auto import Auto
from headwater.maintain.strategies.counting import Counting
from headwater.maintain.strategies.dred import DRed
from headwater.maintain.strategies.recompute import Recompute
from headwater.maintain.strategies.relative import relative
from headwater.maintain.strategies.strategy import Strategy
from headwater.maintain.strategies.support import Support

STRATEGIES: Mapping[str, Callable[[], Strategy]] = {
    "support": Support,
    "counting": Counting,
    "dred": DRed,
    "recompute": Recompute,
    "auto": Auto,
    "absorption": absorption_lazy,
    "absorption-eager": absorption_eager,
    "relative": relative,
}
