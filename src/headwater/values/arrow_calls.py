"""Arrow's functions over tables and columns, for what looks at a few rows and is done.

`pyarrow.compute` makes a Python function, with its documentation, of each function that Arrow has. Importing it takes
longer than all that a command does with a small state. Here they are called as `pyarrow.compute` calls them; methods
of tables and arrays that sort, take, filter or encode would import it.
"""

from __future__ import annotations

from typing import Any


def sorted_rows(table: Any, by: Any) -> Any:
    """The rows of a table in the order of those of another one, column by column."""
    from pyarrow._compute import SortOptions, call_function

    keys = [(name, "ascending") for name in by.column_names]
    return call_function("take", [table, call_function("sort_indices", [by], SortOptions(sort_keys=keys))])


def rows_where(table: Any, holds: Any) -> Any:
    """The rows of a table for which a column of truth values says so."""
    from pyarrow._compute import call_function

    return call_function("filter", [table, holds])


def equal(column: Any, value: Any) -> Any:
    """For which rows a column has some value."""
    from pyarrow._compute import call_function

    return call_function("equal", [column, value])


def dictionary_encoded(array: Any) -> Any:
    """An array as places in a list of the values that it has; each is used, in the order of their first places."""
    from pyarrow._compute import call_function

    return call_function("dictionary_encode", [array])
