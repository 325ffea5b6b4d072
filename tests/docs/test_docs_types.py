"""The tables of docs/types.md are those of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.values.type_cells import SYSTEMS, table

TEXT = (Path(__file__).parents[2] / "docs" / "types.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_table_of_a_system_is_what_is_tested(system: str) -> None:
    section = TEXT.split(f"\n## {system}\n", 1)[1].split("\n## ", 1)[0]
    assert [line for line in section.splitlines() if line.startswith("|")] == table(system)
