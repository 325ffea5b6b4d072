"""Files of JSON with a checksum: what a state folder says is believed where it is what was written.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "t.json"
>>> write_checked(path, {"version": 3})
>>> read_checked(path, ("version",), "remove it")
{'version': 3}
>>> _ = path.write_text(path.read_text().replace("3", "2", 1))
>>> read_checked(path, ("version",), "remove it")
Traceback (most recent call last):
headwater.errors.SketchError: error[damaged-state]: ... is not what was written: its checksum is another one
  = hint: remove it
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from headwater.errors import SketchError
from headwater.store.durable import put
from headwater.store.failure import failed

CHECK = "check"
"""The key of the checksum of a file's other keys; files of earlier releases have none."""


def read_checked(path: Path, keys: Collection[str], hint: str) -> dict[str, Any] | None:
    """What a file says, at least under these keys; `None` if there is none."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, UnicodeDecodeError) as error:
        raise damaged(path, str(error), hint) from error
    except OSError as error:
        raise failed("cannot read", path, error) from error
    if not isinstance(said, dict) or not set(keys) <= said.keys():
        raise damaged(path, "it is of no format that there was", hint)
    check = said.pop(CHECK, None)
    if check is not None and check != _digest(said):
        raise damaged(path, "its checksum is another one", hint)
    return said


def write_checked(path: Path, said: Mapping[str, Any]) -> None:
    """Replace a file as a whole."""
    try:
        put(path, json.dumps({**said, CHECK: _digest(said)}).encode())
    except OSError as error:
        raise failed("cannot write", path, error) from error


def damaged(path: Path, why: str, hint: str) -> SketchError:
    """The error for a file that is not what was written."""
    return SketchError("damaged-state", f"{path} is not what was written: {why}", hint=hint)


def _digest(said: Mapping[str, Any]) -> str:
    """A checksum of what a file says, the same before it is written and after it is read."""
    return hashlib.blake2b(json.dumps(said).encode(), digest_size=8).hexdigest()
