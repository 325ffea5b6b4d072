"""The command `headwater` as a process: `python -m headwater`, and what is installed under that name."""

import os
import sys
from importlib.abc import MetaPathFinder

from headwater.cli import main

WITH_FRAMES = ("pipeline", "bench")
"""Commands that may come to hold data frames: Spark's, or those of what we measure against."""


class WithoutPandas(MetaPathFinder):
    """For this process, pandas is not installed.

    pyarrow imports it, where it is, with the first value that it converts. That takes longer than most commands, none
    of which has a use for it.
    """

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse it; other modules are found by others."""
        if name == "pandas":
            raise ModuleNotFoundError("no command needs pandas", name=name)


def replace_closed_streams() -> None:
    """Let standard streams that whoever started the process has closed lead nowhere.

    In their order, so that each gets its own number again, and no file that is opened later does.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def command() -> None:
    """Run the command that the process was started with."""
    replace_closed_streams()
    if not set(WITH_FRAMES) & set(sys.argv[1:2]):
        sys.meta_path.insert(0, WithoutPandas())
    main(prog_name="headwater")


if __name__ == "__main__":
    command()
