"""Functions of floats: exponentials, logarithms, trigonometry.

Results are those of IEEE 754, without exceptions: out of the domain they are NaN, too large infinite, at a pole
infinite. They are computed one by one, so that a row that is derived again gets the same bits.

>>> real_function(math.acos)(2.0), real_function(math.cosh)(1000.0), real_function(math.log)(-0.0)
(nan, inf, -inf)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from headwater.values.scalars import canonical_float
from headwater.values.signatures import Overload, pointwise

_POLES: Mapping[Callable[[float], float], Mapping[float, float]] = {
    math.log: {0.0: -math.inf},
    math.log2: {0.0: -math.inf},
    math.log10: {0.0: -math.inf},
    math.atanh: {1.0: math.inf, -1.0: -math.inf},
}
_ODD = (math.sinh,)


def real_function(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function of `math` with values in place of its exceptions."""
    poles = _POLES.get(function, {})

    def call(value: float) -> float:
        try:
            return canonical_float(function(value))
        except OverflowError:
            return -math.inf if value < 0 and function in _ODD else math.inf
        except ValueError:
            return poles.get(value, math.nan)

    return call


_FUNCTIONS: tuple[Callable[[float], float], ...] = (
    math.exp, math.log, math.log2, math.log10,
    math.sin, math.cos, math.tan, math.asin, math.acos, math.atan,
    math.sinh, math.cosh, math.tanh, math.asinh, math.acosh, math.atanh,
)  # fmt: skip

REALS: Mapping[str, list[Overload]] = {
    **{
        function.__name__: [pointwise(function.__name__, "float -> float", real_function(function))]
        for function in _FUNCTIONS
    },
    "atan2": [pointwise("atan2", "float, float -> float", lambda y, x: canonical_float(math.atan2(y, x)))],
}
