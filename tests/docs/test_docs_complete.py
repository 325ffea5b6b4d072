"""The documents name what there is: options, methods, fields, codes, functions, modules; links lead somewhere."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from headwater.database import Database
from headwater.database.relation_view import RelationView
from headwater.errors import HeadwaterError
from headwater.exchange.confederation import Confederation
from headwater.exchange.peer import Peer
from headwater.exchange.relation import PeerRelationView
from headwater.exchange.why import PeerWhy
from headwater.maintain.strategies import STRATEGIES
from headwater.options import Options
from headwater.rules.rewrites import REWRITES
from headwater.values.functions import Functions
from headwater.version.changes import Change, Changes
from headwater.version.statistics import StratumStatistics, VersionStatistics

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headwater"
BENCHMARKS = ROOT / "benchmarks"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
INTERNAL = {"catalog", "engine", "runner"}
"""Attributes of a database that are not part of the interface."""


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    found = re.search(
        rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", text(name), re.DOTALL | re.MULTILINE
    )
    assert found is not None, f"{name} has no section {title}"
    return found[2]


def quoted(words: str) -> set[str]:
    """Names in backticks, outside of blocks of code."""
    words = re.sub(r"^```.*?^```$", "", words, flags=re.DOTALL | re.MULTILINE)
    return {name for code in re.findall(r"`([^`]+)`", words) for name in re.findall(r"[\w-]+", code)}


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - INTERNAL


def test_every_option_of_connect_is_in_the_reference():
    assert {field.name for field in fields(Options)} <= quoted(section("docs/reference.md", "connect"))


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        (Database, "Database"),
        (Changes, "Changes"),
        (Change, "Changes"),
        (RelationView, "RelationView"),
        (Confederation, "Exchange"),
        (Peer, "Exchange"),
        (PeerRelationView, "Exchange"),
        (PeerWhy, "Exchange"),
    ],
)
def test_every_public_method_is_in_the_reference(kind, title):
    assert public(kind) <= quoted(section("docs/reference.md", title))


@pytest.mark.parametrize("kind", [VersionStatistics, StratumStatistics])
def test_every_field_of_the_statistics_is_in_the_reference(kind):
    assert {field.name for field in fields(kind)} <= quoted(section("docs/reference.md", "Statistics"))


def codes() -> set[str]:
    """Every code that is written in the source as the first argument of an error."""
    kinds = {kind.__name__ for kind in HeadwaterError.__subclasses__()}
    found = set()
    for file in (*PACKAGE.rglob("*.py"), *BENCHMARKS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in kinds
                and node.args
            ):
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(first.value)
    return found


def test_every_error_code_is_in_the_documents():
    documented = quoted(section("docs/reference.md", "Errors by code")) | quoted(
        section("docs/language.md", "What is refused")
    )
    assert codes() <= documented


def test_every_function_is_in_the_table_and_no_other():
    table = [line for line in section("docs/language.md", "Functions").splitlines() if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`([^`]+)`", line.split(" | ")[0])}
    assert named == set(Functions().names())


def test_every_strategy_is_in_the_how_to():
    assert set(STRATEGIES) <= quoted(section("docs/howto.md", "Choose a strategy"))


def test_every_rewrite_is_in_the_architecture():
    assert {rewrite.__name__ for rewrite in REWRITES} <= quoted(text("ARCHITECTURE.md"))


def test_every_module_is_in_the_architecture():
    missing = []
    for file in sorted((*PACKAGE.rglob("*.py"), *BENCHMARKS.rglob("*.py"))):
        package = file.parent.relative_to(PACKAGE if PACKAGE in file.parents else ROOT).as_posix()
        words = section("ARCHITECTURE.md", "The top" if package == "." else f"`{package}/`")
        if file.name != "__init__.py" and file.stem not in quoted(words):
            missing.append(file.relative_to(ROOT).as_posix())
    assert not missing


def test_every_dependency_has_a_reason():
    listed = re.findall(r'"([\w-]+)>=', text("pyproject.toml"))
    assert set(listed) - {"hatchling"} <= quoted(section("ARCHITECTURE.md", "Dependencies"))


def anchors(document: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_no_path_of_a_certain_machine_is_in_the_documents(document):
    assert not re.search(r"/(home|root|work|tmp)/", document.read_text(encoding="utf-8"))


def test_the_walks_name_modules_that_exist():
    words = section("CONTRIBUTING.md", "Eight walks") + section("CONTRIBUTING.md", "How to add")
    named = set(re.findall(r"`((?:\w+/)+\w*)(?:\.\w+)?`", words))
    assert len(named) > 40
    roots = (PACKAGE, ROOT)
    missing = {
        name
        for name in named
        if not any((root / name).is_dir() or (root / f"{name}.py").exists() for root in roots)
    }
    assert not missing
