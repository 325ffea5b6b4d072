"""The command as a process: exit codes, standard streams, signals."""

import os
import signal
import subprocess
import sys
import time

import click
import pytest
from cli_folder import SOURCE, Folder

import headwater
from headwater.cli import main
from headwater.cli.outcome import exit_code
from headwater.errors import DataError, MissingExtra, StoreError


def test_a_whole_flow(reach: Folder) -> None:
    run = reach.process("run", "reach.dl", "-F", "facts", "-s", "state")
    out, error = run.communicate(timeout=120)
    assert (run.returncode, out.count("\n")) == (0, 7), error
    apply = reach.process("apply", "-s", "state", "--delete", "link(b,c)", "--json")
    out, error = apply.communicate(timeout=120)
    assert '"reach": {"kind": "view", "inserted": 0, "deleted": 2}' in out
    assert "\x1b" not in error


def test_a_broken_pipe_is_quiet(folder: Folder) -> None:
    folder.write("p.dl", "p(X) :- X = range(0, 300000).")
    process = folder.process("run", "p.dl", "--no-sort")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(120) == 141


def test_streams_that_are_closed_lead_nowhere(reach: Folder) -> None:
    command = f"{sys.executable} -m headwater query -s state 'reach(X, Y)'"
    reach.done("run", "reach.dl", "-F", "facts", "-s", "state")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for closed in (">&-", "<&- >&- 2>&-"):
        ended = subprocess.run(["sh", "-c", f"{command} {closed}"], cwd=reach.path, env=environment)
        assert ended.returncode == 0, closed


def test_control_c(folder: Folder) -> None:
    os.mkfifo(folder.path / "q.facts")
    folder.write("p.dl", ".input q\np(X) :- q(X).")
    process = folder.process("run", "p.dl")
    with open(folder.path / "q.facts", "wb"):  # opens when the command does
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in error


def test_help_is_quick_and_imports_no_engine() -> None:
    heavy = "{'numpy', 'numba', 'pyarrow', 'rich', 'lark'}"
    code = f"import sys; import headwater.cli; print({heavy} & set(sys.modules))"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    started = time.perf_counter()
    out = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout
    assert out == "set()\n"
    assert time.perf_counter() - started < 5  # a tenth of a second, on a machine with nothing else to do


def test_version(folder: Folder) -> None:
    assert folder.done("--version") == f"headwater {headwater.__version__}\n"


def test_every_command_has_an_example(folder: Folder) -> None:
    assert list(main.commands) == [
        "run", "apply", "define", "show", "query", "watch", "why", "why-not", "what-if", "depends", "explain",
        "check", "compact", "pipeline", "exchange", "sketch", "net", "bench",
    ]  # fmt: skip
    for name in main.commands:
        if name != "bench":
            assert f"headwater {name} " in folder.done(name, "--help").split("Example")[1]
    assert "Recursive views" in folder.done("--help")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (DataError("wrong-type", "no"), 1, "error[wrong-type]: no\n"),
        (MissingExtra("missing-extra", "no", hint="pip"), 1, "error[missing-extra]: no\n  = hint: pip\n"),
        (StoreError("locked", "no"), 3, "error[locked]: no\n"),
        (click.UsageError("what?"), 2, "Error: what?\n"),
        (KeyboardInterrupt(), 130, "interrupted: no version was applied in part\n"),
        (OSError(28, "No space left on device"), 1, "error[system]: [Errno 28] No space left on device\n"),
        (ZeroDivisionError("oh\nno"), 70, "internal error: ZeroDivisionError: oh\n"),
    ],
)
def test_errors_and_exit_codes(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, text: str
) -> None:
    def fail() -> None:
        raise error

    assert exit_code(fail) == code
    shown = capsys.readouterr().err
    assert shown.startswith(text)
    assert "Traceback" not in shown


def test_a_bug_can_be_traced(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DEBUG", "1")
    assert exit_code(lambda: 1 / 0) == 70
    assert "Traceback" in capsys.readouterr().err


def test_benchmarks_need_what_they_measure_against(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks.command", None)
    said = folder.refused("bench", "--help")
    assert "script/bench" in said and "pip install 'headwater[bench]'" in said


def test_benchmarks_are_no_part_of_the_package(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headwater, "__file__", str(folder.path / "lib" / "headwater" / "__init__.py"))
    assert "clone the repository, and run script/bench in it" in folder.refused("bench", "engine", "--quick")


def test_benchmarks_from_a_clone(folder: Folder) -> None:
    assert "engine" in folder.done("bench", "--help")
