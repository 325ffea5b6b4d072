"""The codes that sums and choices must look at twice, as `headwater.values.special` has them.

A code up to `LAST` is special; a number above `LAST_PLAIN` is not its own code.
"""

from __future__ import annotations

import numpy as np

FIRST = np.int64(-(2**63))
LAST = np.int64(-(2**63) + 2**47 - 1)
LAST_PLAIN = np.int64(2**63 - 1 - 2**47)
