"""What subscribers and watches have acknowledged, in a file beside the log.

It is written often and read once, and may be lost in a crash: then a version is owed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.store.durable import write_new
from headwater.store.record import json_text


class Acknowledged:
    """The last version by the identity of whoever acknowledged it; kept nowhere without a folder."""

    def __init__(self, folder: Path | None, file: str, *, sync: bool = True):
        self._file = folder / file if folder is not None else None
        self._sync = sync

    def write(self, said: Mapping[str, int]) -> None:
        """Replace what the file says."""
        if self._file is not None:
            unfinished = self._file.with_suffix(".tmp")
            data = json_text(said).encode("ascii")
            if self._sync:
                write_new(unfinished, data)
            else:
                unfinished.write_bytes(data)
            os.replace(unfinished, self._file)

    def read(self) -> dict[str, int]:
        """What the file says. One that cannot be read says nothing."""
        try:
            said: Any = json.loads(self._file.read_bytes()) if self._file is not None else {}
            return {str(who): version for who, version in said.items() if isinstance(version, int)}
        except (OSError, ValueError, AttributeError):
            return {}
