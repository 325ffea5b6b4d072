"""Public calls: their signatures, and arguments that they do not have. (Odd values: `test_database_arguments`.)"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from database_support import REACH, reach, refusal, rows

import headwater as hw
import headwater.pipeline as pipelines
from headwater.database.relation_view import RelationView
from headwater.nodes.nodes import Nodes
from headwater.options import Options
from headwater.provenance.ask.depends import Depends
from headwater.provenance.ask.evaluation import Evaluation
from headwater.provenance.ask.why import Why
from headwater.provenance.ask.why_not import WhyNot
from headwater.version.changes import Change, Changes

LINKS = [(1, 2), (2, 3)]

# ------------------------------------------------------------------ connect and Database


def test_connect_has_the_options_by_name():
    parameters = list(inspect.signature(hw.connect).parameters.values())
    options = inspect.signature(Options).parameters
    assert [one.name for one in parameters] == ["path", *(field.name for field in fields(Options))]
    assert all(one.default == options[one.name].default for one in parameters[1:])
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters[1:])
    documented = inspect.getdoc(hw.connect)
    assert documented is not None and all(f"`{one.name}`" in documented for one in parameters)


def test_connect_hands_every_option_on():
    for given in (
        Options(),
        Options(mode="w", strategy="dred", threads="wait", budget=7, max_rounds=5, memory="1 GB"),
    ):
        assert hw.connect(**vars(given)).options == given


def test_the_database_is_public():
    db = hw.connect()
    assert type(db) is hw.Database and "Database" in dir(hw)
    assert inspect.signature(hw.Database).parameters.keys() == inspect.signature(hw.connect).parameters.keys()
    with pytest.raises(AttributeError, match="headwater.*Databases"):
        _ = hw.Databases


def test_a_database_says_what_it_is(tmp_path: Path):
    db = hw.connect()
    assert repr(db) == "<headwater.Database in memory, version 0: nothing defined>"
    db = reach(LINKS, path=tmp_path / "state")
    assert repr(db) == f"<headwater.Database in {tmp_path}/state, version 2: base link; views reach>"
    db.close()
    assert repr(db) == f"<headwater.Database in {tmp_path}/state, closed>"
    db = hw.connect()
    db.define(" ".join(f"p{number}(X) :- q(X)." for number in range(10)))
    assert repr(db) == (
        "<headwater.Database in memory, version 1: base q; views p0, p1, p2, p3, p4, p5, p6, p7 and 2 more>"
    )


# ------------------------------------------------------------------ arguments that a call does not have


def objects() -> Iterator[tuple[str, type, Any]]:
    """What public calls are made on."""
    db = reach(LINKS)
    changes = db.apply(insert={"link": [(3, 4)]})
    yield "Database", hw.Database, db
    yield "RelationView", RelationView, db["reach"]
    yield "Changes", Changes, changes
    yield "Change", Change, changes["reach"]
    yield "Why", Why, db.why("reach", (1, 2))
    yield "WhyNot", WhyNot, db.why_not("reach", (4, 1))
    yield "Depends", Depends, db.depends("link", (1, 2))
    yield "Evaluation", Evaluation, db.evaluate("reach", "tropical")
    yield "Pipeline", pipelines.Pipeline, db.pipeline([])
    with hw.start_nodes(1, run="threads") as nodes:
        yield "Nodes", Nodes, nodes


def calls() -> Mapping[str, Callable[..., Any]]:
    """Every public call by name."""
    found: dict[str, Callable[..., Any]] = {
        name: getattr(hw, name) for name in ("connect", "spark_session", "start_nodes", "Database")
    }
    found |= {name: getattr(pipelines, name) for name in pipelines.__all__ if not name.endswith("Report")}
    for name, kind, one in objects():
        for method, function in inspect.getmembers(kind, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("headwater"):
                found[f"{name}.{method}"] = getattr(one, method)
    return found


def test_arguments_that_a_call_does_not_have_are_told_so():
    found = calls()
    assert len(found) > 60
    for name, call in found.items():
        kinds = {one.kind for one in inspect.signature(call).parameters.values()}
        for given, named, open_ended in (
            ((), {"no_such": 1}, inspect.Parameter.VAR_KEYWORD),
            ((None,) * 30, {}, inspect.Parameter.VAR_POSITIONAL),
        ):
            if open_ended in kinds:
                continue
            with pytest.raises(hw.HeadwaterError) as caught:
                call(*given, **named)
            error = caught.value
            assert error.code == "wrong-arguments", name
            called = name.rpartition(".")[2]
            assert error.message.startswith(called) and error.hint is not None and called in error.hint, name
            assert "self" not in str(error) and "__init__" not in str(error), name


def test_arguments_that_a_call_lacks_are_told_so():
    for name, call in calls().items():
        parameters = inspect.signature(call).parameters.values()
        if any(
            one.default is one.empty
            and one.kind is not one.VAR_POSITIONAL
            and one.kind is not one.VAR_KEYWORD
            for one in parameters
        ):
            assert refusal(call) == "wrong-arguments", name


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda db: hw.connect(strategi="dred"),
            "error[wrong-arguments]: connect has no argument strategi\n  = hint: did you mean strategy? connect(",
        ),
        (
            lambda db: hw.Database(mod="r"),
            "error[wrong-arguments]: Database has no argument mod\n  = hint: did you mean mode? Database(path=None",
        ),
        (
            lambda db: db.apply(inserts={"link": []}),
            "error[wrong-arguments]: apply has no argument inserts\n"
            "  = hint: did you mean insert? apply(insert=None, delete=None, *, marks=None)",
        ),
        (
            lambda db: db.why("reach"),
            "error[wrong-arguments]: why: missing a required argument: 'row'\n"
            "  = hint: why(relation, row, *, depth=None, limit=10000)",
        ),
        (
            lambda db: db["reach"].rows(5),
            "error[wrong-arguments]: rows: too many positional arguments\n  = hint: rows(",
        ),
    ],
)
def test_the_error_shows_how_to_call(call: Callable[[hw.Database], Any], said: str):
    with pytest.raises(hw.DataError) as caught:
        call(reach(LINKS))
    assert str(caught.value).startswith(said)


def test_a_type_error_inside_a_call_stays_what_it_is():
    """It is a fault of ours, and must not be told to users as theirs."""
    from headwater.calls import public

    @public
    def broken(x: int) -> int:
        return x + "1"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(1)


# ------------------------------------------------------------------ define, of a file


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "network.dl").write_text('#include "base.dl"\n' + REACH)
    (tmp_path / "base.dl").write_text("link(1, 2). link(2, 3).\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "network.dl"


@pytest.mark.parametrize("given", [str, Path, lambda path: path.name, lambda path: Path(path.name)])
def test_define_takes_a_path(program: Path, given: Callable[[Path], Any]):
    db = hw.connect()
    db.define(given(program))
    assert rows(db, "reach") == [(1, 2), (1, 3), (2, 3)]
    assert [source for _, source in db.texts] == [str(given(program))]


def test_errors_in_a_file_name_it(program: Path):
    program.write_text("\nreach(X, Y) :- link(X).")
    with pytest.raises(hw.RuleError) as caught:
        hw.connect().define("network.dl")
    assert caught.value.place is not None and (caught.value.place.source, caught.value.place.line) == (
        "network.dl",
        2,
    )


@pytest.mark.parametrize(
    ("given", "code", "hint"),
    [
        ("netwrok.dl", "missing-file", "did you mean network.dl?"),
        (Path("netwrok.dl"), "missing-file", "did you mean network.dl?"),
        ("no/network.dl", "missing-file", "there is no folder"),
        ("zzz.dl", "missing-file", "give rules as a text, or the path of a file of them"),
        (Path("."), "unreadable", None),
        ("./nowhere", "missing-file", "give rules as a text"),
        ("/", "unreadable", None),
        ("latin.dl", "not-utf8", "save the file as UTF-8"),
    ],
)
def test_a_path_that_leads_nowhere(program: Path, given: Any, code: str, hint: str | None):
    (program.parent / "latin.dl").write_bytes(b'p("\xe9").')
    with pytest.raises(hw.DataError) as caught:
        hw.connect().define(given)
    assert caught.value.code == code
    assert hint is None or hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text", ["", " \n", "% see network.dl", "// network.dl", "p(1). % network.dl", ".type t <: symbol"]
)
def test_texts_are_no_paths(program: Path, text: str):
    hw.connect().define(text)


# ------------------------------------------------------------------ a closed database


@pytest.mark.parametrize("options", [{}, {"run": "threads", "nodes": 1}], ids=["here", "nodes"])
def test_a_closed_database_refuses_every_call(options: dict[str, Any]):
    db = reach(LINKS, **options)
    view, changes = db["reach"], db.apply(insert={"link": [(3, 4)]})
    inserted = sorted(changes["reach"].inserted)
    db.close()
    db.close()
    for call in (
        lambda: db["reach"],
        lambda: db.relations,
        lambda: "reach" in db,
        lambda: db.apply(insert={"link": [(5, 6)]}),
        lambda: db.what_if(insert={"link": [(5, 6)]}),
        lambda: db.define("p(1)."),
        lambda: db.advance(5),
        lambda: db.why("reach", (1, 2)),
        lambda: db.explain(),
        lambda: db.owed("me"),
        lambda: db.checkpoint(),
        lambda: db.register("f", abs, returns="int"),
        lambda: len(view),
        lambda: view.rows(),
        lambda: view.arrow(),
        lambda: (1, 2) in view,
        lambda: view.columns,
    ):
        assert refusal(call) == "closed"
    assert sorted(changes["reach"].inserted) == inserted and db.version == 3


def test_what_changed_can_be_read_after_the_end():
    with reach([(n, n + 1) for n in range(20)]) as db:
        changes = db.apply(delete={"link": [(n, n + 1) for n in range(20)]})
    assert len(changes["reach"].deleted) == 210
