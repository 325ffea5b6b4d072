"""One word an idea: no two classes of the package, or of the benchmarks, have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def classes() -> dict[str, list[str]]:
    """The modules in which a class of each name is defined."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in (ROOT / "src" / "headwater", ROOT / "benchmarks"):
        for file in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(file.relative_to(ROOT).as_posix())
    return found


def test_no_two_classes_share_a_name():
    shared = {name: files for name, files in classes().items() if len(files) > 1}
    assert shared == {}
