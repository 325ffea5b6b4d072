"""hypothesis for all tests: the same examples every time, unless more are asked for.

`HEADWATER_ORACLE_EXAMPLES=5000 pytest tests/oracle` tries as many for each test, other ones each time. So a run of
the suite fails for what was changed, and the deep run is the one that goes looking.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "headwater",
    derandomize="HEADWATER_ORACLE_EXAMPLES" not in os.environ,
    print_blob=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("headwater")
