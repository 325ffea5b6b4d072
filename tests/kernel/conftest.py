"""The number of random examples is that of the oracle tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "oracle"))
