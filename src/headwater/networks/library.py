"""The programs that come along, by name; each file says what it is for.

>>> programs()[:3]
['best-cost', 'chord', 'distance-vector']
>>> library_program("reachable").rules[0].heads[0].relation
'reachable'
"""

from __future__ import annotations

from pathlib import Path

from headwater.errors import DataError
from headwater.language.datalog import parse
from headwater.language.program import Program
from headwater.spelling import did_you_mean

_FOLDER = Path(__file__).parent / "programs"


def programs() -> list[str]:
    """The names of all programs of the library."""
    return sorted(path.stem.replace("_", "-") for path in _FOLDER.glob("*.ndlog"))


def library_program(name: str) -> Program:
    """One of them."""
    path = _FOLDER / f"{name.replace('-', '_')}.ndlog"
    if name not in programs():
        hint = (
            did_you_mean(name, programs()) or f"there are {', '.join(programs())}; or give a text, or a file"
        )
        raise DataError("no-such-program", f"the library has no program {name!r}", hint=hint)
    return parse(path.read_text(encoding="utf-8"), path.name, folder=_FOLDER)
