"""How the command ends: what is printed for an error, and the exit code.

A user's mistake never shows a traceback. An error that is none of ours is a bug; `HEADWATER_DEBUG=1` shows
where it happened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from headwater.errors import HeadwaterError, HeadwaterWarning, StoreError
from headwater.memory.guard import refused_memory

REFUSED, USAGE, STORE, BUG, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 70, 130, 141


class BrokenOutput(Exception):  # noqa: N818
    """Whoever read the output has gone (`| head`). Not an `OSError`, which Click would take for its own."""


class CommandGroup(click.Group):
    """A group of commands that ends the process with the right exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and see its output off."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise BrokenOutput from None
            raise

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **more: Any,
    ) -> Any:
        """Run the command; without `standalone_mode`, errors are the caller's."""
        command = partial(super().main, args, prog_name, standalone_mode=False, **more)
        if not standalone_mode:
            return command()
        with warnings.catch_warnings():
            warnings.simplefilter("always", HeadwaterWarning)
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            code = exit_code(command)
        sys.exit(code)


def exit_code(command: Callable[[], Any]) -> int:
    """Run the command, print what went wrong, and give the exit code."""
    try:
        code = command()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("interrupted: no version was applied in part", "yellow")
        return INTERRUPTED
    except HeadwaterError as error:
        print_error(error)
        return STORE if isinstance(error, StoreError) else REFUSED
    except BrokenOutput:
        return _broken_pipe()
    except OSError as error:
        say(f"error[system]: {error}", "red")
        return REFUSED
    except MemoryError as error:
        print_error(refused_memory(error, "a command") or HeadwaterError("out-of-memory", str(error)))
        return REFUSED
    except Exception as error:
        if os.environ.get("HEADWATER_DEBUG"):
            import traceback

            traceback.print_exc()
        else:
            what = str(error).partition("\n")[0]
            say(f"internal error: {type(error).__name__}: {what}", "red")
            say("  this is a bug in Headwater; HEADWATER_DEBUG=1 shows where it happened", None)
        return BUG


def _broken_pipe() -> int:
    """Say nothing, also when Python closes the stream."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _show_warning(otherwise: Callable[..., None], message: Warning | str, *where: Any) -> None:
    """Warnings of ours as errors are shown; where in our code they came from is of no use."""
    if isinstance(message, HeadwaterWarning):
        print_error(message)
    else:
        otherwise(message, *where)


def print_error(error: HeadwaterError | HeadwaterWarning) -> None:
    """The error's own text on standard error, coloured on a terminal."""
    for line in str(error).splitlines():
        head, mark, rest = line.partition("]: ")
        if mark and head.startswith(("error[", "warning[")):
            colour = "red" if head.startswith("error[") else "yellow"
            line = _style(head + "]:", fg=colour, bold=True) + " " + _style(rest, bold=True)
        elif line.lstrip().startswith("= hint:"):
            line = _style(line, fg="cyan")
        elif set(line.strip(" |")) == {"^"}:
            line = _style(line, fg="red")
        _echo(line)


def say(text: str, colour: str | None) -> None:
    """A line on standard error."""
    _echo(_style(text, fg=colour) if colour is not None else text)


def note(text: str) -> None:
    """Something the user may want to know, on standard error."""
    _echo(_style("note:", fg="yellow") + " " + text)


def _style(text: str, **how: Any) -> str:
    return text if os.environ.get("NO_COLOR") else click.style(text, **how)


def _echo(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        click.echo(line, err=True)
