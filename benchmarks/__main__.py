"""`python -m benchmarks`: what `script/bench` runs."""

from benchmarks.command import command
from headwater.cli.outcome import exit_code

raise SystemExit(exit_code(lambda: command.main(prog_name="script/bench", standalone_mode=False)))
