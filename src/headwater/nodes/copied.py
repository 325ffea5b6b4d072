"""A copy of a database on nodes, in the driver's process, for questions about rows that are not there, or about all.

What a row follows from can be fetched row by row (`searched`). Why a row is missing, what hangs on one, and what all
rows of a view carry cannot: candidates that nobody keeps, and rows of every view, are part of the answer. So base
rows are brought here, and views are derived from them, once for each version that is asked about. That takes the
memory of one process, within the same budget.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headwater.local.one_process import OneProcess
from headwater.maintain.engine import Engine
from headwater.plan.steps import Ints
from headwater.rules.checked import UNIT, Checked
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.version import Version

log = logging.getLogger("headwater.nodes")


def engine_with_everything(
    checked: Checked, codec: Codec, functions: Functions, matrix: Callable[[str], Ints]
) -> Engine:
    """An engine of this process that has all base rows, and derives all views."""
    facts = {
        name: rows
        for name, info in checked.relations.items()
        if info.base and name != UNIT and (rows := matrix(name)).shape[0]
    }
    log.info(
        "%d base rows were brought to the driver, and views are derived from them, to answer a question",
        sum(rows.shape[0] for rows in facts.values()),
    )
    here = OneProcess(codec, functions)
    version = Version(0, 0.0)
    here.define_program(version, checked, facts)
    version.keep()
    return here.engine
