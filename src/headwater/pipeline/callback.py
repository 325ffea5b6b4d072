"""A Python function that is called with the changes of each version.

It is called at least once a version, in order: after a crash between the call and its acknowledgement it is called
again, with the same number. A function that must act once keeps the number with what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.database.progress import Owed
from headwater.pipeline.fields import check_fields
from headwater.pipeline.folders import stamped
from headwater.pipeline.sink import Publication

if TYPE_CHECKING:
    import pyarrow as pa


@public_class
@dataclass(frozen=True)
class Callback:
    """`call(version, table)`: the table is Arrow, in the one shape."""

    view: str
    call: Callable[[int, pa.Table], Any]
    name: str = ""
    rows = True

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"callback:{self.view}")

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """Call for each version; acknowledge each by itself, so that a failure repeats only what is left."""
        for one in owed:
            if one.table is not None and one.table.num_rows:
                self.call(one.version, stamped(one, version=True))
            to.acknowledge(one.version)
