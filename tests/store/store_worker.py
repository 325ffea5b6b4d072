"""Programs that use a store in a process of their own, for tests to watch, disturb and kill.

What they write follows from the version alone, so that a test can check whatever it finds.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from headwater.errors import StoreError
from headwater.store import Checkpoint, Record, Store


def change(version: int) -> pa.Table:
    """The rows that a version inserts."""
    count = version % 5
    names = [f"node-{version}-{i}" for i in range(count)]
    return pa.table({"src": pa.array(names, pa.string()), "cost": pa.array(range(count), pa.int64())})


def state(version: int) -> pa.Table:
    """All rows at a version, of a size that makes a checkpoint take some writes."""
    return pa.table(
        {"key": list(range(version * 7 % 3000 + 1)), "version": [version] * (version * 7 % 3000 + 1)}
    )


def fixed() -> pa.Table:
    """A table that never changes."""
    name = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), ["x", "y"])
    return pa.table({"path": [["a"], ["a", "b"]], "name": name})


def record(version: int) -> Record:
    return Record(version, "apply", {"says": f"version {version}"}, {"insert/link": change(version)})


def checkpoint(version: int) -> Checkpoint:
    return Checkpoint(version, {"says": f"all of {version}"}, {"state": state(version), "fixed": fixed()})


def write_checkpoint(store: Store) -> None:
    """Make a checkpoint of the store's version, without writing the fixed table again."""
    store.write_checkpoint(checkpoint(store.version), reuse=["fixed"] if store.checkpoint else [])


def check(store: Store) -> int:
    """Assert that all the store holds is right for its versions; return the last one."""
    version = 0
    if store.checkpoint is not None:
        version = store.checkpoint.version
        assert store.checkpoint.meta == checkpoint(version).meta
        assert {n: t.to_pylist() for n, t in store.checkpoint.tables.items()} == {
            n: t.to_pylist() for n, t in checkpoint(version).tables.items()
        }
    for found in store.records():
        version += 1
        expected = record(version)
        assert (found.version, found.kind, found.meta) == (version, expected.kind, expected.meta)
        assert found.tables["insert/link"].equals(expected.tables["insert/link"])
    assert version == store.version
    return version


def check_folder(path: Path) -> None:
    """Assert that a store's folder holds nothing but what its manifest names."""
    text = (path / "manifest.json").read_text()
    assert {p.name for p in path.iterdir()} == {"manifest.json", "lock", "segments", "log"}
    for file in [*(path / "segments").iterdir(), *(path / "log").iterdir()]:
        assert file.name in text, file


def acknowledge(version: int) -> None:
    os.write(1, b"acked %d\n" % version)


def loop(path: str) -> None:
    """Append and make checkpoints for ever, saying what is committed."""
    os.write(1, b"ready\n")
    with Store.open(path) as store:
        for version in itertools.count(store.version + 1):
            store.append(record(version))
            acknowledge(version)
            if version % 3 == 0:
                write_checkpoint(store)


def hold(path: str) -> None:
    """Hold the lock until standard input ends."""
    with Store.open(path):
        os.write(1, b"ready\n")
        sys.stdin.read()


def busy_writer(path: str) -> None:
    """Commit and replace the checkpoint all the time until standard input ends; unsynced, to be quick."""
    os.set_blocking(0, False)
    with Store.open(path, sync=False) as store:
        os.write(1, b"ready\n")
        while True:
            store.append(record(store.version + 1))
            write_checkpoint(store)
            try:
                if not os.read(0, 1):
                    return
            except BlockingIOError:
                continue


def full_disk(path: str) -> None:
    """Append until the system refuses, then again with more room; print both refusals and the version."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with Store.open(path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, unlimited))
        code = fill(store)
        before = store.version
        (log,) = Path(path, "log").iterdir()
        assert log.stat().st_size == store.stats().log_bytes, "undone at once"
        code_again = fill(store)
        assert store.version == before
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
        store.append(record(before + 1))
        print(code, code_again, store.version)


def full_disk_checkpoint(path: str) -> None:
    """Make a checkpoint that does not fit, append, and make it again with more room."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with Store.open(path) as store:
        store.append(record(1))
        write_checkpoint(store)
        store.append(record(2))
        large = {"state": pa.table({"x": [os.urandom(1 << 17)]}), "fixed": fixed()}
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, unlimited))
        try:
            store.write_checkpoint(Checkpoint(2, {}, large), reuse=["fixed"])
        except StoreError as error:
            print(error.code)
        check_folder(Path(path))
        store.append(record(3))
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
        store.write_checkpoint(checkpoint(3), reuse=["fixed"])
        store.append(record(4))
        print(store.version)


def fill(store: Store) -> str:
    """Append until an error; return its code."""
    while True:
        try:
            store.append(record(store.version + 1))
        except StoreError as error:
            return error.code


def small_disk(path: str) -> None:
    """On a file system that is really small: fill it, make room by removing a file, go on."""
    ballast = Path(path).parent / "ballast"
    ballast.write_bytes(b"x" * 50_000)
    with Store.open(path) as store:
        code = fill(store)
        ballast.unlink()
        store.append(record(store.version + 1))
        print(code, check(store) > 10)
    with Store.open(path) as store:
        check(store)


def as_nobody(path: str, mode: str) -> None:
    """Open the store as a user who owns nothing, and print the error's code, or that it went well."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        with Store.open(path, mode=mode) as store:  # type: ignore[arg-type]
            print("fine", check(store))
    except StoreError as error:
        print(error.code)


def killed_at_each_call(path: str) -> None:
    """Run one scenario again and again, each time killed at a later system call, until it runs through.

    The n-th run has the folder `path/n`, acknowledges in the file `path/n.acked`, and dies just before its
    n-th call, counted from 0.
    """
    checkpoint(1)  # Arrow sets things up at first use; do it once, not in every run
    for run in itertools.count():
        child = os.fork()
        if child == 0:
            _scenario(f"{path}/{run}", run)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return
        assert status == -signal.SIGKILL, status


CALLS = (
    os.open, os.mkdir, os.pwrite, os.write, os.ftruncate, os.fsync, os.fdatasync, os.replace, os.unlink,
    fcntl.flock,
)  # fmt: skip


def _scenario(path: str, run: int) -> None:
    acked = os.open(f"{path}.acked", os.O_CREAT | os.O_WRONLY)
    left = run

    def count(_frame: object, event: str, function: object) -> None:
        nonlocal left
        if event == "c_call" and function in CALLS:
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.setprofile(count)
    for _ in range(2):  # the second time on what is there
        with Store.open(path) as store:
            for _ in range(2):
                store.append(record(store.version + 1))
                os.write(acked, b"acked %d\n" % store.version)
                write_checkpoint(store)
            store.append(record(store.version + 1))
            os.write(acked, b"acked %d\n" % store.version)
    sys.setprofile(None)


class WithoutPandas:
    """Arrow imports pandas to convert a list, if it can; that takes longer than most tests here."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutPandas)
    program: Callable[..., None] = globals()[sys.argv[1]]
    program(*sys.argv[2:])
