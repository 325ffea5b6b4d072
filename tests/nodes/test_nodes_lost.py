"""Nodes that are lost at random moments: nothing is lost with them, and nothing is there twice."""

from __future__ import annotations

from pathlib import Path

import nodes_lost
import pytest


@pytest.mark.parametrize("seed", [1, 2])
def test_five_losses_at_random_moments(tmp_path: Path, seed: int):
    assert nodes_lost.run(5, seed, tmp_path / "state") > 1
