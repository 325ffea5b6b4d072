"""The random programs and the independent engine of `tests/oracle`, for explanations as well."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
