"""A new text, before it is taken on: what it most likely does not mean is refused, or told as a warning."""

from __future__ import annotations

from collections.abc import Collection

from headwater.calls import warn
from headwater.catalog.catalog import Catalog
from headwater.errors import HeadwaterWarning
from headwater.language.program import Program


def refuse_doubtful(
    program: Program, catalog: Catalog, given: Collection[str] = (), *, whole: bool = False
) -> None:
    """Refuse slips of case, and relations that nothing fills, as strictly as the catalog is.

    `given` are the relations that rows come for together with the text. A `whole` definition knows of no relation of
    earlier texts, but for those that have rows of which no text speaks.
    """
    if whole:
        catalog = catalog.untold()
    for slip in (*program.slips, *catalog.doubts(program, given)):
        if isinstance(slip, HeadwaterWarning):
            warn(slip)
        else:
            raise slip
