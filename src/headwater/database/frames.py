"""Tables as the data frames of other libraries, which need not be installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.errors import MissingExtra
from headwater.values.data_frames import to_pandas, to_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def as_pandas(table: Callable[[], pa.Table]) -> pd.DataFrame:
    """A table, made once it is known that pandas is there, as a pandas DataFrame."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise _missing("pandas") from error
    return to_pandas(table())


def as_polars(table: Callable[[], pa.Table]) -> pl.DataFrame:
    """The same as a polars DataFrame."""
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise _missing("polars") from error
    return to_polars(table())  # type: ignore[no-any-return]


def _missing(library: str) -> MissingExtra:
    return MissingExtra(
        "missing-extra", f"{library} is not installed", hint=f"pip install 'headwater[{library}]'"
    )
