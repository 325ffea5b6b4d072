"""A disk that is really full: refused, undone, and usable again as soon as there is room."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import store_worker

from headwater.errors import StoreError
from headwater.store import Store


def test_appends_beyond_the_limit_of_the_system(tmp_path: Path, run: Callable[..., str]):
    code, again, version = run("full_disk", tmp_path).split()
    assert code == again == "disk-full"
    with Store.open(tmp_path) as store:
        assert store.stats().torn_bytes == 0
        assert store_worker.check(store) == int(version) > 3


def test_a_checkpoint_beyond_the_limit_of_the_system(tmp_path: Path, run: Callable[..., str]):
    assert run("full_disk_checkpoint", tmp_path).split() == ["disk-full", "4"]
    store_worker.check_folder(tmp_path)
    with Store.open(tmp_path) as store:
        assert store_worker.check(store) == 4


def may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, timeout=10).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount a file system")
def test_a_file_system_without_room(tmp_path: Path, run: Callable[..., str]):
    mount = f'mount -t tmpfs -o size=150k none {tmp_path} && exec "$@"'
    assert run("small_disk", tmp_path / "state", prefix=("unshare", "-rm", "sh", "-c", mount, "sh")) == (
        "disk-full True"
    )


def test_creating_on_a_device_that_takes_nothing(tmp_path: Path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, before[1]))
    try:
        with pytest.raises(StoreError) as caught:
            Store.open(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.code == "disk-full" and "00000000.log" in caught.value.message
    assert not (tmp_path / "manifest.json").exists()
    Store.open(tmp_path).close()
    store_worker.check_folder(tmp_path)
