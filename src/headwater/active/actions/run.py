"""`do run 'command'`: a command that gets the rows of a version as lines of JSON on its standard input.

It is started without a shell: the text is split into arguments as a shell would do it, and nothing else in it has a
meaning. (For a shell, run one: `run 'sh -c "..."'`.) In its environment, `HEADWATER_VERSION`, `HEADWATER_VIEW` and
`HEADWATER_WATCH` say what the rows are of. It is done if it ends with 0 in time.
"""

from __future__ import annotations

import os
import shlex
import subprocess

from headwater.active.event import WatchEvent
from headwater.active.watch import Unperformable
from headwater.errors import DataError

MOST_SAID = 500
"""Characters of what a command says on its standard error that are told."""


def run(event: WatchEvent, command: str, timeout: float) -> None:
    """Run the command with the event's rows; what it prints is not looked at, unless it fails."""
    about = {"VERSION": str(event.version), "VIEW": event.view, "WATCH": event.watch}
    try:
        done = subprocess.run(
            split(command),
            input="".join(f"{line}\n" for line in event.lines()),
            env={**os.environ, **{f"HEADWATER_{name}": value for name, value in about.items()}},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError("command-failed", f"{command}: it was not done after {timeout:g} seconds") from None
    except OSError as error:
        raise DataError("command-failed", f"{command}: {error.strerror or error}") from error
    if done.returncode:
        said = done.stderr.strip()[-MOST_SAID:]
        raise DataError("command-failed", f"{command}: exit code {done.returncode}{said and ': '}{said}")


def split(command: str) -> list[str]:
    """The arguments of a command; refuses what cannot be split."""
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise Unperformable("command-failed", f"{command}: {error}", hint="close the quotes") from None
    if not found:
        raise Unperformable("command-failed", "there is no command to run", hint="run 'notify --all'")
    return found
