"""Odd values for every argument of every public call: refused with our errors, and nothing is left behind.

Each argument in turn gets each of `ODD`; the others are right. A value may be accepted (`None` often is). If it is
refused, it is by an error of ours, and all that can be seen of the database is as before.
"""

from __future__ import annotations

import datetime
import decimal
import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from database_support import REACH, closure, reach, refusal, rows, state

import headwater as hw
import headwater.pipeline as pipelines
from headwater.database import Database
from headwater.options import Options
from headwater.values.types import MOST_LEVELS

LINKS = [(1, 2), (2, 3), (3, 1), (3, 4)]


class Hostile:
    """Nothing can be asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare me")

    __hash__ = None  # type: ignore[assignment]


def deep(levels: int) -> list[Any]:
    """A list in a list, and so on."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "a bool": lambda: True,
    "zero": lambda: 0,
    "negative": lambda: -1,
    "an int": lambda: 99,
    "beyond 64 bits": lambda: 2**63,
    "beyond floats": lambda: 10**400,
    "beyond digits": lambda: 10**5000,
    "a float": lambda: 1.5,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "below all": lambda: float("-inf"),
    "complex": lambda: 1j,
    "a decimal": lambda: decimal.Decimal("1.5"),
    "empty text": lambda: "",
    "a text": lambda: "link",
    "nul": lambda: "a\0b",
    "half a surrogate pair": lambda: "\ud800",
    "a long text": lambda: "x" * 5000,
    "spaces": lambda: "a b\nc",
    "bytes": lambda: b"link",
    "bytes that are no text": lambda: b"\xff\0",
    "a date": lambda: datetime.date(2024, 1, 1),
    "an empty list": list,
    "a list": lambda: ["link"],
    "a list of lists": lambda: [["k"]],
    "a deep list": lambda: deep(5000),
    "an empty tuple": lambda: (),
    "a tuple": lambda: (1, 2),
    "a tuple of odd things": lambda: (None, [], {}, object()),
    "an empty dict": dict,
    "a dict": lambda: {"f": 3},
    "a dict of rows": lambda: {"link": 3},
    "a dict of odd keys": lambda: {3: None, ("a",): b""},
    "a dict of odd names": lambda: {"a\0b": [(1,)], "\ud800": [(1,)]},
    "a dict of dicts": lambda: {"link": {"link": {}}},
    "a set": lambda: {1, 2},
    "an iterator": lambda: iter(()),
    "a generator": lambda: (x for x in "ab"),
    "an object": object,
    "a hostile object": Hostile,
    "a class": lambda: int,
    "a function": lambda: lambda: None,
    "a function of one": lambda: lambda x: x,
    "a module": lambda: datetime,
    "an exception": lambda: ValueError("no"),
    "a numpy int": lambda: np.int64(3),
    "a numpy float": lambda: np.float64("nan"),
    "a numpy bool": lambda: np.bool_(True),
    "a numpy text": lambda: np.str_("link"),
    "a numpy vector": lambda: np.array([1, 2]),
    "a numpy matrix": lambda: np.array([[1, 2]]),
    "an array of objects": lambda: np.array([[object(), None]], dtype=object),
    "a table": lambda: pa.table({"a": [1], "b": [None]}),
    "an odd table": lambda: pa.table({"a": pa.array([b"x"]), "b": pa.array([{"c": 1}])}),
}


@dataclass(frozen=True)
class Call:
    """A public call: who is called, and arguments that are right."""

    call: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    use: Callable[[Any], Any] = lambda result: None  # of what it returns

    def run(self, **odd: Any) -> None:
        """Call, with some arguments that are not right."""
        self.use(self.call(**{**self.arguments, **odd}))


def ours(found: Callable[..., Any], *given: Any, **named: Any) -> BaseException | None:
    """The error of ours that a call ends in, if it does; any other error goes on."""
    try:
        found(*given, **named)
    except hw.HeadwaterError as error:
        assert isinstance(str(error), str) and error.code
        return error
    return None


def small(path: Path | None = None) -> Database:
    """A database with views of several kinds, and a subscriber."""
    db = reach(LINKS, path=path)
    db.define("total(sum<X>) :- link(X, _). lone(X) :- link(X, _), !reach(X, X). spare(x: int, y: int).")
    db.subscribe("reader", "reach")
    return db


def works(db: Database) -> None:
    """What is there is right, and follows a change."""
    for links in (LINKS, [*LINKS, (4, 5)]):
        db.apply(insert={"link": links}, delete={"link": [(4, 5)]})
        assert set(rows(db, "reach")) == closure(links)


def connected(*given: Any, **options: Any) -> None:
    """Connect and use the database; an odd option may be fine."""
    with hw.connect(*given, **options) as db:
        if db.options.mode == "w" and not db.relations:
            db.define(REACH)
        works(db)


def file_source() -> pipelines.Files:
    """A source that is right."""
    return pipelines.Files("link", "nowhere", "csv")


def print_sink() -> pipelines.Callback:
    """A sink that is right."""
    return pipelines.Callback("reach", print)


CALLS: dict[str, Callable[[Database], Call]] = {
    "define": lambda db: Call(
        db.define, {"text": "n(1).", "source": "s", "insert": {"link": [(9, 9)]}, "folder": "."}
    ),
    "apply": lambda db: Call(
        db.apply, {"insert": {"link": [(9, 9)]}, "delete": {"link": [(1, 2)]}, "marks": {"source": 1}}
    ),
    "what_if": lambda db: Call(
        db.what_if,
        {
            "insert": {"link": [(9, 9)]},
            "delete": {"link": [(1, 2)]},
            "redefine": "link(x: int, y: int). reach(X, Y) :- link(X, Y).",
        },
    ),
    "apply, rows to insert": lambda db: Call(lambda rows: db.apply({"link": rows}), {"rows": [(1, 2)]}),
    "apply, rows of a new relation": lambda db: Call(
        lambda rows: db.apply({"fresh": rows}), {"rows": [(1, 2)]}
    ),
    "apply, rows to delete": lambda db: Call(
        lambda rows: db.apply(delete={"link": rows}), {"rows": [(1, 2)]}
    ),
    "apply, a value": lambda db: Call(lambda value: db.apply({"link": [(7, value)]}), {"value": 1}),
    "apply, a new value": lambda db: Call(lambda value: db.apply({"fresh": [(value,)]}), {"value": 1}),
    "apply, a value to delete": lambda db: Call(
        lambda value: db.apply(delete={"link": [(7, value)]}), {"value": 1}
    ),
    "apply, a mark": lambda db: Call(lambda mark: db.apply(marks={"source": mark}), {"mark": 1}),
    "advance": lambda db: Call(db.advance, {"to": 5}),
    "query": lambda db: Call(db.query, {"text": "reach(1, X), !link(X, 1)"}, lambda found: found.rows()),
    "keep": lambda db: Call(db.keep, {"relation": "reach", "kind": "stored"}),
    "redefine": lambda db: Call(
        db.redefine, {"text": REACH + "total(sum<X>) :- link(X, _).", "source": "s", "folder": "."}
    ),
    "difference": lambda db: Call(
        db.difference,
        {"text": "reach(X, X) :- link(X, _).", "source": "s", "folder": ".", "whole": True},
        str,
    ),
    "add_rule": lambda db: Call(db.add_rule, {"text": "lone(X) :- link(_, X), !reach(X, X)."}),
    "drop_rule": lambda db: Call(db.drop_rule, {"id": "lone#1"}),
    "replace_rule": lambda db: Call(
        db.replace_rule, {"id": "lone#1", "text": "lone(X) :- link(_, X), !reach(X, X)."}
    ),
    "add_column": lambda db: Call(
        lambda relation, column, default: db.add_column(relation, column, default=default),
        {"relation": "spare", "column": "cost: int", "default": 1},
    ),
    "drop_column": lambda db: Call(db.drop_column, {"relation": "spare", "column": "y"}),
    "drop": lambda db: Call(db.drop, {"relation": "lone"}),
    "rename": lambda db: Call(db.rename, {"relation": "lone", "to": "single"}),
    "why": lambda db: Call(
        db.why, {"relation": "reach", "row": (1, 1), "depth": 3, "limit": 100}, lambda why: str(why)
    ),
    "why, a value": lambda db: Call(lambda value: db.why("reach", (1, value)), {"value": 1}),
    "why_not": lambda db: Call(
        db.why_not, {"relation": "reach", "row": (4, 1), "depth": 3, "repairs": 3}, lambda why: str(why)
    ),
    "why_not, a value": lambda db: Call(lambda value: db.why_not("reach", (4, value)), {"value": 1}),
    "depends": lambda db: Call(
        db.depends, {"relation": "link", "row": (1, 2), "limit": 100}, lambda found: str(found)
    ),
    "evaluate": lambda db: Call(
        db.evaluate,
        {
            "view": "reach",
            "annotation": "tropical",
            "base": {"link": 1.0},
            "rules": {"reach#1": 2.0},
            "limit": 1000,
        },
    ),
    "evaluate, values of rows": lambda db: Call(
        lambda value: db.evaluate("reach", "tropical", {"link": value}), {"value": 1.0}
    ),
    "evaluate, a value of a row": lambda db: Call(
        lambda value: db.evaluate("reach", "tropical", {"link": {(1, 2): value}}), {"value": 1.0}
    ),
    "subscribe": lambda db: Call(
        db.subscribe, {"name": "me", "view": "reach", "rows": True, "labels": False}
    ),
    "unsubscribe": lambda db: Call(db.unsubscribe, {"name": "reader"}),
    "owed": lambda db: Call(db.owed, {"name": "reader"}),
    "acknowledge": lambda db: Call(db.acknowledge, {"name": "reader", "version": db.version}),
    "watch": lambda db: Call(
        db.watch,
        {
            "goal": "reach(X, 2)",
            "do": print,
            "on": "added",
            "when": "X > 3",
            "name": "w",
            "coupling": "after",
            "replace": False,
            "retries": 3,
            "pause": 1.0,
        },
    ),
    "watches by name": lambda db: Call(db.watches.__getitem__, {"name": "w"}),
    "names in watches": lambda db: Call(db.watches.__contains__, {"name": "w"}),
    "watches.deliver": lambda db: Call(db.watches.deliver, {"wait": 0.0}),
    "register": lambda db: Call(
        db.register, {"name": "f", "function": abs, "args": ["int"], "returns": "int", "nulls": False}
    ),
    "register_action": lambda db: Call(db.register_action, {"name": "f", "function": print}),
    "info": lambda db: Call(db.info, {"name": "reach"}),
    "the database by name": lambda db: Call(db.__getitem__, {"name": "reach"}),
    "names in the database": lambda db: Call(db.__contains__, {"name": "reach"}),
    "explain": lambda db: Call(db.explain, {"name": "reach"}),
    "types_if": lambda db: Call(db.types_if, {"known": {"link": (None, None)}}),
    "pipeline": lambda db: Call(db.pipeline, {"sources": [], "sinks": [], "spark": None}),
    "pipeline, a source": lambda db: Call(lambda source: db.pipeline([source]), {"source": file_source()}),
    "pipeline, a sink": lambda db: Call(lambda sink: db.pipeline([], [sink]), {"sink": print_sink()}),
    "refresh": lambda db: Call(db.refresh),
    "checkpoint": lambda db: Call(db.checkpoint),
    "rows in a view": lambda db: Call(db["reach"].__contains__, {"row": (1, 2)}),
    "changes by name": lambda db: Call(db.what_if().__getitem__, {"relation": "reach"}),
    "names in changes": lambda db: Call(db.what_if().__contains__, {"relation": "reach"}),
    "why.dnf": lambda db: Call(db.why("reach", (1, 1)).dnf, {"limit": 3}),
    "why.polynomial": lambda db: Call(db.why("link", (1, 2)).polynomial, {"tokens": None}),
    "why.expression": lambda db: Call(db.why("reach", (1, 1)).expression, {"tokens": None}),
    "why.evaluate": lambda db: Call(
        db.why("reach", (1, 1)).evaluate,
        {"annotation": "tropical", "base": {"link": 1.0}, "rules": {"reach#1": 2.0}},
    ),
    "why.lines": lambda db: Call(db.why("reach", (1, 1)).lines, {"terms": 3}),
    "evaluation by row": lambda db: Call(db.evaluate("reach", "tropical").__getitem__, {"row": (1, 2)}),
    "rows in an evaluation": lambda db: Call(db.evaluate("reach", "tropical").__contains__, {"row": (1, 2)}),
    "evaluation.show": lambda db: Call(db.evaluate("reach", "tropical").show, {"row": (1, 2)}),
    "evaluation.fact": lambda db: Call(db.evaluate("reach", "why").fact, {"number": 0}),
    "evaluation.update": lambda db: Call(
        db.evaluate("reach", "tropical", {"link": 1.0}).update,
        {"base": {"link": {(1, 2): 5.0}}, "rules": {"reach#1": 2.0}},
    ),
}


# ------------------------------------------------------------------ calls of an open database


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments_are_refused_or_taken_and_nothing_else(name: str, tmp_path: Path):
    folders = (tmp_path / str(number) for number in itertools.count())
    for argument in CALLS[name](small()).arguments:
        db = small(next(folders))
        for odd in ODD.values():
            call = CALLS[name](db)
            before = state(db)
            error = ours(call.run, **{argument: odd()})
            if state(db) != before:
                assert error is None
                db.close()
                db = small(next(folders))
        works(db)
        db.close()


def test_every_public_method_is_attacked():
    """A method that is added to the database is added to `CALLS`."""
    methods = {name for name, _ in inspect.getmembers(Database, callable) if not name.startswith("_")}
    assert methods - set(CALLS) == {"close"}
    for name in methods & CALLS.keys():
        parameters = inspect.signature(getattr(Database, name)).parameters
        assert set(parameters) - {"self", "options"} <= set(CALLS[name](small()).arguments), name


# ------------------------------------------------------------------ opening one

OPTIONS = [field.name for field in fields(Options)]


@pytest.mark.parametrize("option", OPTIONS)
def test_odd_options(option: str):
    for odd in ODD.values():
        if option == "nodes" and not isinstance(odd(), bool) and isinstance(odd(), int):
            continue  # counted below
        ours(connected, **{option: odd()})


def test_odd_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for odd in ODD.values():
        ours(connected, odd())


def test_a_folder_whose_name_is_no_text(tmp_path: Path):
    """Bytes that are not UTF-8, as shells hand them over."""
    folder = tmp_path / "state\udcff"
    with hw.connect(folder) as db:
        db.define("reach(X) :- link(X, _).")
        db.apply(insert={"link": [(1, 2)]})
        db.checkpoint()
    with hw.connect(folder, mode="r") as db:
        assert list(db["reach"].rows()) == [(1,)]


@pytest.mark.parametrize("part", range(3))
def test_odd_functions(part: int):
    def connect(odd: Any) -> None:
        declared: list[Any] = [abs, ["int"], "int"]
        declared[part] = odd
        connected(functions={"f": tuple(declared)})

    for odd in ODD.values():
        ours(connect, odd())
        ours(connected, functions={"f": odd()})


@pytest.mark.parametrize("nodes", [0, -1, True, 2.0, "2", 1025, 2**63, 10**400])
def test_odd_numbers_of_nodes(nodes: Any):
    assert refusal(lambda: hw.connect(run="threads", nodes=nodes)) == "unknown-option"
    assert refusal(lambda: hw.start_nodes(nodes, run="threads")) == "unknown-option"


# ------------------------------------------------------------------ sources and sinks

MAKERS = [name for name in pipelines.__all__ if name not in ("Pipeline", "load", "feed_stream")]
RIGHT = {
    "relation": "link", "view": "reach", "path": "links", "format": "csv", "table": "links", "url": "sqlite://",
    "frame": lambda session: None, "call": print,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in MAKERS if not name.endswith("Report")])
def test_odd_sources_and_sinks(name: str):
    make = getattr(pipelines, name)
    parameters = inspect.signature(make).parameters
    needed = {key for key, one in parameters.items() if one.default is inspect.Parameter.empty}
    for argument in parameters:
        for odd in ODD.values():
            given = {key: RIGHT[key] for key in needed} | {argument: odd()}
            ours(make, **given)


def test_paths_of_sources_may_be_paths(tmp_path: Path):
    assert pipelines.Files("link", tmp_path, "csv") == pipelines.Files("link", str(tmp_path), "csv")


def test_odd_pipeline_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for odd in ODD.values():
        assert ours(pipelines.load, odd()) is not None


# ------------------------------------------------------------------ in words


def test_a_version_that_is_not_there_cannot_be_acknowledged():
    db = small()
    with pytest.raises(hw.DataError) as caught:
        db.acknowledge("reader", 99)
    assert (
        str(caught.value)
        == f"error[wrong-type]: version is 99\n  = hint: a whole number from 0 to {db.version}"
    )
    assert [one.version for one in db.owed("reader")] == [db.version]
    db.acknowledge("reader", db.version)
    db.apply(insert={"link": [(4, 5)]})
    assert [one.version for one in db.owed("reader")] == [db.version]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: small().advance(to=10**400), "is not a time"),
        (lambda: hw.connect(5), "path is 5"),
        (lambda: hw.connect("a\0b"), r"path is 'a\\x00b'"),
        (lambda: hw.connect(functions={"f": 3}), r"functions\['f'\] is 3"),
        (lambda: small()[["k"]], r"\['k'\] is not the name of a relation"),
        (
            lambda: small().apply({"link": [(1, 10**5000)]}),
            "<an int that cannot be shown> does not fit 64 bits",
        ),
    ],
)
def test_the_error_says_what_was_given(call: Callable[[], Any], said: str):
    with pytest.raises(hw.DataError, match=said):
        call()


def test_a_user_function_that_fails_is_named():
    db = small()
    with pytest.raises(hw.EvaluationError, match="ZeroDivisionError") as caught:
        db.evaluate("reach", "tropical", lambda relation, row: 1 / 0)
    assert caught.value.code == "function-failed" and isinstance(caught.value.__cause__, ZeroDivisionError)


def test_lists_are_nested_as_deep_as_the_disk_can_hold(tmp_path: Path):
    db = hw.connect(tmp_path)
    db.apply(insert={"deep": [(deep(MOST_LEVELS - 1),)]})
    assert refusal(lambda: db.apply(insert={"deeper": [(deep(MOST_LEVELS),)]})) == "wrong-type"
    db.checkpoint()
    db.close()
    again = hw.connect(tmp_path)
    assert len(again["deep"]) == 1 and "deeper" not in again
