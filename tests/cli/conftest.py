"""Folders in which commands run."""

from pathlib import Path

import pytest
from cli_folder import REACH, Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


@pytest.fixture
def reach(folder: Folder) -> Folder:
    """A folder with a program and facts."""
    folder.write("reach.dl", REACH)
    folder.write("facts/link.facts", "b\tc\na\tb\n")
    return folder


@pytest.fixture
def state(reach: Folder) -> Folder:
    """The same, run once and kept in `state`."""
    reach.done("run", "reach.dl", "-F", "facts", "-D", "out", "-s", "state")
    return reach
