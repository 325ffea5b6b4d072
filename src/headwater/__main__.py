"""The command `headwater` as a process: `python -m headwater`, and what is installed under that name."""

import gc
import os
import sys

WITH_FRAMES = ("pipeline", "bench")
"""Commands that may come to hold data frames: Spark's, or those of what we measure against."""


UNUSED = ("pandas", "cloudpickle")
"""What pyarrow imports where it is installed."""
OBJECTS_BEFORE_COLLECTING = 50_000
"""How many more objects there may be than before, until what is garbage among them is looked for. Python looks some
hundred times while it imports what a command needs, and finds next to nothing."""


class WithoutUnused:
    """For this process, some libraries are not installed.

    pyarrow imports them, where they are, when it is imported or with the first value that it converts. That takes
    longer than most commands, none of which has a use for them.
    """

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse them; other modules are found by others."""
        if name in UNUSED:
            raise ModuleNotFoundError(f"no command needs {name}", name=name)


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
    gc.set_threshold(OBJECTS_BEFORE_COLLECTING, *gc.get_threshold()[1:])
    if not set(WITH_FRAMES) & set(sys.argv[1:2]):
        sys.meta_path.insert(0, WithoutUnused())
    from headwater.cli import main

    main(prog_name="headwater")


if __name__ == "__main__":
    command()
