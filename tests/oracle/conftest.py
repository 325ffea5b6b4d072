"""hypothesis for these tests: the same examples every time, unless more are asked for.

`HEADWATER_ORACLE_EXAMPLES=5000 pytest tests/oracle` tries as many for each test, other ones each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("oracle", derandomize=True, **_COMMON)
settings.register_profile("oracle-long", derandomize=False, print_blob=True, **_COMMON)
settings.load_profile("oracle-long" if "HEADWATER_ORACLE_EXAMPLES" in os.environ else "oracle")
