"""Imports follow the layers of ARCHITECTURE.md; those for annotations only do not count, except of the facade."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headwater"
LAYERS = re.findall(r"^\d+\. `(\w+)`:", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE)
USERS = ("files", "cli", "demo")
"""Layers that may use the package as its users do: `import headwater`."""


DOORS = {
    ("database/database.py", "headwater.pipeline"),
    ("values/strings.py", "headwater.kernel.texts"),
}
"""Doors into layers below, named in ARCHITECTURE.md: a method that imports what it opens when it is called."""


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(node: ast.AST, *, for_types: bool = False) -> Iterator[str]:
    """The modules of ours that code imports, whatever happens when; those for annotations only if asked for."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not for_types:
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            if child.module == "headwater":
                yield from (f"headwater.{alias.name}" for alias in child.names)
            else:
                yield child.module or ""
        yield from imports(child, for_types=for_types)


def test_every_layer_is_listed():
    there = {layer_of(file) for file in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert there <= set(LAYERS)


def test_a_layer_imports_only_from_layers_above_it():
    wrong = []
    for file in sorted(PACKAGE.rglob("*.py")):
        layer = layer_of(file)
        if layer in ("__init__", "__main__"):
            continue
        above = set(LAYERS[: LAYERS.index(layer) + 1])
        for module in imports(ast.parse(file.read_text(encoding="utf-8"))):
            if not re.match(r"headwater(\.|$)", module):
                continue
            target = (module.split(".") + [""])[1]
            if target in ("", "__version__"):
                good = layer in USERS
            else:
                good = target in above or (str(file.relative_to(PACKAGE)), module) in DOORS
            if not good:
                wrong.append(f"{file.relative_to(PACKAGE)} imports {module}")
    assert not wrong


def test_nothing_below_the_facade_knows_it_even_by_its_type():
    wrong = []
    for file in sorted(PACKAGE.rglob("*.py")):
        layer = layer_of(file)
        if layer in ("__init__", "__main__") or LAYERS.index(layer) >= LAYERS.index("database"):
            continue
        for module in imports(ast.parse(file.read_text(encoding="utf-8")), for_types=True):
            if module.startswith("headwater.database"):
                wrong.append(f"{file.relative_to(PACKAGE)} imports {module}")
    assert not wrong


def test_the_package_does_not_import_the_benchmarks():
    for file in PACKAGE.rglob("*.py"):
        for module in imports(ast.parse(file.read_text(encoding="utf-8"))):
            assert module.partition(".")[0] != "benchmarks", file


def test_the_kernel_imports_none_of_the_others():
    """But what loads numba whole, as other libraries."""
    for file in (PACKAGE / "kernel").glob("*.py"):
        for module in imports(ast.parse(file.read_text(encoding="utf-8"))):
            own = module.startswith("headwater.kernel") or module == "headwater.loading"
            assert own or not module.startswith("headwater."), module
