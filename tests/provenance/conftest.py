"""The random programs and the independent engine of `tests/oracle`, for explanations as well.

`HEADWATER_ORACLE_EXAMPLES=500 pytest tests/provenance` tries as many for each test, other ones each time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))

from hypothesis import HealthCheck, Phase, settings  # noqa: E402

settings.register_profile(
    "provenance",
    derandomize="HEADWATER_ORACLE_EXAMPLES" not in os.environ,
    print_blob=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),  # programs shrink slowly; seeds are small enough to read
)
settings.load_profile("provenance")
