"""Nemo as a rival: it reads base rows from files and derives everything anew, as it would after every change."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.workload import Row
from headwater.errors import MissingExtra


class NemoRival:
    """Base rows in files, and what Nemo derives from them."""

    def __init__(self, text: str, base: Mapping[str, Sequence[Row]]):
        try:
            import nmo_python
        except ImportError as error:
            raise MissingExtra(
                "missing-extra", "nemo-python is not installed", hint="pip install 'headwater[bench]'"
            ) from error
        self._nemo = nmo_python
        self._folder = tempfile.TemporaryDirectory()
        self._base = {name: dict.fromkeys(rows) for name, rows in base.items()}
        self._text = text
        self._engine: Any = None
        for name in base:
            self._write(name)

    def delete(self, relation: str, row: Row) -> None:
        """Take a base row away."""
        del self._base[relation][row]
        self._write(relation)

    def insert(self, relation: str, row: Row) -> None:
        """Bring a base row back."""
        self._base[relation][row] = None
        self._write(relation)

    def recompute(self) -> float:
        """Read the files and derive everything; the seconds that took."""
        imports = "".join(
            f'@import {name} :- csv{{resource="{self._path(name)}", format=({self._format(name)})}} .\n'
            for name in self._base
        )
        self._engine = None
        started = time.perf_counter()
        engine = self._nemo.NemoEngine(self._nemo.load_string(imports + self._text))
        engine.reason()
        self._engine = engine
        return time.perf_counter() - started

    def answer(self, relation: str) -> list[npt.NDArray[Any]]:
        """The columns of what was derived."""
        rows = list(self._engine.result(relation))
        return [np.asarray(_plain(column)) for column in zip(*rows, strict=True)]

    def close(self) -> None:
        """Free memory and files."""
        self._engine = None
        self._folder.cleanup()

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.csv"

    def _format(self, name: str) -> str:
        first = next(iter(self._base[name]))
        return ", ".join("int" if isinstance(value, int) else "string" for value in first)

    def _write(self, name: str) -> None:
        with self._path(name).open("w", newline="") as file:
            csv.writer(file).writerows(self._base[name])


def _plain(column: Sequence[Any]) -> Sequence[Any]:
    """Strings without the quotes in which Nemo gives them."""
    return [value[1:-1] for value in column] if isinstance(column[0], str) else column
