"""Changes a Parquet directory until it is killed: with each change two rows come and one goes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from headwater.sketch.tables.parquet_table import ParquetTable


def write(folder: Path, log: Path) -> None:
    """Change rows for ever, and say which version is there."""
    table = ParquetTable(folder, log)
    number = table.version()
    while True:
        number += 1
        rows = pa.table({"x": [2 * number, 2 * number + 1, 2 * number - 2]})
        table.update(rows, np.array([1, 1, -1]))
        print(number, flush=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
