"""Delta tables that are sorted into files."""

from __future__ import annotations

from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pytest

from headwater.sketch.tables.delta_table import DeltaFiles

ROWS = 200_000


@pytest.mark.parametrize("distinct", [500, ROWS])
@pytest.mark.parametrize("files", [5, 20])
def test_a_table_is_sorted_into_about_so_many_files(tmp_path: Path, distinct: int, files: int):
    """Also where sorted values take far less space than before: what they will take nobody knows."""
    rng = np.random.default_rng(1)
    columns = {name: rng.permutation(ROWS) % distinct for name in "kv"}
    deltalake.write_deltalake(tmp_path / "t", pa.table(columns))
    table = DeltaFiles(str(tmp_path / "t"))
    assert table.cluster(None, "k", files) == 1  # type: ignore[arg-type]
    found = deltalake.DeltaTable(tmp_path / "t").file_uris()
    assert files / 2 <= len(found) <= files * 2
