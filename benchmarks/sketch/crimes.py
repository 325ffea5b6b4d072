"""A table like Chicago's crimes (section 10.3), from a seed: year, beat, district, type; CQ1 and CQ2 of the appendix.

Beats differ in how much happens there, as they do in Chicago: the busiest has four times what most have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

BEATS = 300
TYPES = ("THEFT", "BATTERY", "CRIMINAL DAMAGE", "NARCOTICS", "ASSAULT", "BURGLARY", "ROBBERY", "HOMICIDE")
CQ1 = "SELECT beat, year, count(id) AS crime_count FROM crimes GROUP BY beat, year"
CQ2 = (
    "SELECT district, community_area, ward, beat, count(beat) AS crime_count FROM crimes"
    " GROUP BY district, community_area, ward, beat HAVING count(id) > 1000"
)
"""The two queries of the paper's appendix."""
BUSY = CQ1 + " HAVING count(id) > {least}"
AREAS = (
    "SELECT district, ward, count(beat) AS crime_count FROM crimes GROUP BY district, ward"
    " HAVING count(beat) > {least}"
)
TOP = "SELECT beat, count(*) AS n FROM crimes GROUP BY beat ORDER BY n DESC, beat LIMIT 10"
"""The same with limits that few beats and areas pass: what a repeated query looks for."""


@dataclass(frozen=True)
class CrimesData:
    """Makes crimes; rows come sorted by beat, as a table that is clustered by it has them."""

    rows: int
    seed: int = 7

    def table(self) -> pa.Table:
        """All rows, by beat."""
        found = self.some(self.rows, self.seed, 0)
        return found.take(np.argsort(np.asarray(found.column("beat")), kind="stable"))

    def some(self, rows: int, seed: int, first: int) -> pa.Table:
        """Some rows, with ids from `first` on."""
        random = np.random.default_rng(seed)
        weights = np.random.default_rng(self.seed).lognormal(0, 0.6, BEATS)
        beats = random.choice(BEATS, rows, p=weights / weights.sum())
        return pa.table(
            {
                "id": np.arange(first, first + rows),
                "year": 2001 + random.integers(0, 20, rows),
                "beat": 111 + 8 * beats,
                "district": beats // 13 + 1,
                "ward": beats // 6 + 1,
                "community_area": beats // 4 + 1,
                "type": pa.array(TYPES).take(random.integers(0, len(TYPES), rows)),
                "block": random.integers(0, 40_000, rows),
                "arrest": random.integers(0, 2, rows),
            }
        )
