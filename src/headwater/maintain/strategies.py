"""The strategies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.maintain.absorption import absorption_eager, absorption_lazy
from headwater.maintain.auto import Auto
from headwater.maintain.counting import Counting
from headwater.maintain.dred import DRed
from headwater.maintain.recompute import Recompute
from headwater.maintain.relative import relative
from headwater.maintain.strategy import Strategy
from headwater.maintain.support import Support

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
