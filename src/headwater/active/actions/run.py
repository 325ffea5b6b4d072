"""`do run 'command'`: a command that gets the rows of a version as lines of JSON on its standard input.

It is started without a shell: the text is split into arguments as a shell would do it, and nothing else in it has a
meaning. (For a shell, run one: `run 'sh -c "..."'`.) In its environment, `HEADWATER_VERSION`, `HEADWATER_VIEW` and
`HEADWATER_WATCH` say what the rows are of. It is done if it ends with 0 in time.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from typing import IO

from headwater.active.event import WatchEvent
from headwater.active.watch import Unperformable
from headwater.errors import DataError

MOST_SAID = 500
"""Characters of what a command says on its standard error that are told."""


def run(event: WatchEvent, command: str, timeout: float) -> None:
    """Run the command with the event's rows; what it prints is not looked at, unless it fails."""
    about = {"VERSION": str(event.version), "VIEW": event.view, "WATCH": event.watch}
    # Not into pipes: a process that the command leaves behind would keep them open, and what it prints may be large.
    with tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                split(command),
                input="".join(f"{line}\n" for line in event.lines()).encode(),
                env={**os.environ, **{f"HEADWATER_{name}": value for name, value in about.items()}},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            late = f"{command}: it was not done after {timeout:g} seconds"
            raise DataError("command-failed", late) from None
        except OSError as error:
            raise DataError("command-failed", f"{command}: {error.strerror or error}") from error
        if done.returncode:
            said = _last_of(errors)
            raise DataError("command-failed", f"{command}: exit code {done.returncode}{said and ': '}{said}")


def _last_of(errors: IO[bytes]) -> str:
    """The end of what a command said."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4 * MOST_SAID))
    return errors.read().decode("utf-8", "replace").strip()[-MOST_SAID:]


def split(command: str) -> list[str]:
    """The arguments of a command; refuses what cannot be split."""
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise Unperformable("command-failed", f"{command}: {error}", hint="close the quotes") from None
    if "\0" in command:
        raise Unperformable("command-failed", "a command cannot have a NUL character in it")
    if not found:
        raise Unperformable("command-failed", "there is no command to run", hint="run 'notify --all'")
    return found
