"""What active rules do after a version: insert and delete, exactly once; call, append and run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import headwater as hw

BASE = "alarm(x: int, level: string). ticket(x: int). page(x: int).\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own, for relative paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def defined(rules, path=None, **options):
    db = hw.connect(path, **options)
    db.define(BASE + rules)
    return db


def states(db):
    return {name: watch.state for name, watch in db.watches.items()}


# ------------------------------------------------------------------ rows of base relations


def test_insert_and_delete_after_are_later_versions():
    db = defined(
        "on +alarm(X, _), X > 3 do after insert ticket(X).\non -alarm(X, _) do after delete ticket(X)."
    )
    changes = db.apply(insert={"alarm": [(1, "a"), (5, "b"), (6, "b")]})
    assert changes.version == 2 and "ticket" not in changes
    assert db.version == 3 and sorted(db["ticket"].rows()) == [(5,), (6,)]
    db.apply(delete={"alarm": [(5, "b")]})
    assert db.version == 5 and db["ticket"].rows() == [(6,)]
    db.apply(insert={"alarm": [(2, "a")]})
    assert db.version == 6


def test_rules_cause_each_other_and_come_to_rest():
    db = defined(
        "first: on +alarm(X, _) do after insert ticket(X).\n"
        "second: on +ticket(X), X < 5 do after insert ticket(X + 1)."
    )
    db.apply(insert={"alarm": [(1, "a")]})
    assert sorted(db["ticket"].rows()) == [(1,), (2,), (3,), (4,), (5,)] and db.version == 7


def test_rules_that_never_rest_are_parked():
    db = defined("up: on +ticket(X) do after insert ticket(X + 1).", max_cascade=10)
    db.apply(insert={"ticket": [(1,)]})
    up = db.watches["up"]
    assert up.state == "parked" and "error[cascade]: up -> up" in up.error and len(db["ticket"]) == 12
    up.skip()
    db.close()


def test_an_insert_that_is_refused_is_retried_and_parked():
    """Here by a rule that refuses it: its version is undone, that of the event is not."""
    fill = "fill: on +alarm(X, _) do after insert ticket(X)."
    db = defined(f"{fill}\nguard: on +ticket(X), X > 3 do refuse 'no'.")
    db.apply(insert={"alarm": [(9, "a")]})
    fill = db.watches["fill"]
    assert (
        fill.state == "retrying" and "error[refused]" in fill.error and db.version == 2 and fill.owed == (2,)
    )
    db.apply(insert={"ticket": [(1,)]})
    fill.skip()
    assert fill.owed == () and db["ticket"].rows() == [(1,)]


def test_facts_of_the_text_that_brings_the_rule_are_events(tmp_path):
    db = defined('alarm(7, "x").\non +alarm(X, _) do after insert ticket(X).', tmp_path / "state")
    assert db["ticket"].rows() == [(7,)] and db.version == 2
    db.close()


def test_a_rule_that_is_dropped_owes_nothing(tmp_path):
    db = defined("caller: on +alarm(X, _) do call nobody(X).", tmp_path / "state")
    db.apply(insert={"alarm": [(1, "a")]})
    assert db.watches["caller"].owed == (2,)
    with pytest.raises(hw.DataError) as caught:
        db.watches["caller"].stop()
    assert caught.value.code == "still-defined"
    with pytest.warns(hw.HeadwaterWarning, match="rule caller goes, and with it 1 events"):
        db.drop_rule("caller")
    assert list(db.watches) == []
    db.close()
    with hw.connect(tmp_path / "state") as again:
        assert list(again.watches) == []


def test_names_of_rules_and_watches_do_not_meet():
    db = defined("mine: on +alarm(X, _) do call nobody(X).")
    with pytest.raises(hw.DataError) as caught:
        db.watch("alarm", print, name="mine")
    assert caught.value.code == "other-watch"
    db.watch("alarm", print, name="other")
    with pytest.raises(hw.DataError) as caught:
        db.define("other: on +alarm(X, _) do call nobody(X).")
    assert caught.value.code == "other-watch"


@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_is_owed_to_a_rule_is_there_after_a_restart(tmp_path, checkpoint):
    """By rules that were there in the log, or in the checkpoint."""
    db = defined("caller: on +alarm(X, _) do call page(X).", tmp_path / "state")
    db.apply(insert={"alarm": [(1, "a")]})
    if checkpoint:
        db.checkpoint()
    db.apply(insert={"alarm": [(2, "a")]})
    db.close()
    calls = []
    with hw.connect(tmp_path / "state", actions={"page": calls.append}) as db:
        assert calls == [1, 2] and db.watches["caller"].owed == ()
    with hw.connect(tmp_path / "state", actions={"page": calls.append}) as db:
        assert calls == [1, 2] and db.watches["caller"].delivered == 3


# ------------------------------------------------------------------ call


def test_call_gets_values_and_what_it_asks_for():
    calls = []

    def notify(x, text, *, version, change):
        calls.append((x, text, version, change))

    db = defined('on alarm(X, L), X > 0 do call notify(X + 1, cat(L, "!")).', actions={"notify": notify})
    db.apply(insert={"alarm": [(1, "a"), (0, "b")]})
    db.apply(delete={"alarm": [(1, "a")]})
    assert calls == [(2, "a!", 2, "insert"), (2, "a!", 3, "delete")]


def test_a_function_that_is_not_there_parks_the_rule_until_it_is():
    db = defined("caller: on +alarm(X, _) do call notify(X).")
    db.apply(insert={"alarm": [(1, "a")]})
    caller = db.watches["caller"]
    assert (
        caller.state == "parked"
        and "error[unknown-action]" in caller.error
        and "register_action" in caller.error
    )
    calls = []
    db.register_action("notify", calls.append)
    assert calls == [1] and caller.state == "following"


def test_a_function_that_fails_is_called_again_with_all_rows():
    calls, broken = [], [True]

    def notify(x):
        calls.append(x)
        if broken[0] and len(calls) == 2:
            raise OSError("down")

    db = defined("caller: on +alarm(X, _) do call notify(X).", actions={"notify": notify})
    db.apply(insert={"alarm": [(1, "a"), (2, "a")]})
    assert states(db) == {"caller": "retrying"} and len(calls) == 2
    db.watches["caller"].retry()
    assert sorted(calls) == [1, 1, 2, 2]


def test_a_call_in_the_version_can_undo_it():
    def check(x):
        if x > 3:
            raise ValueError("too much")

    db = defined("on +alarm(X, _) do now call check(X).", actions={"check": check})
    db.apply(insert={"alarm": [(1, "a")]})
    with pytest.raises(hw.EvaluationError, match="too much"):
        db.apply(insert={"alarm": [(4, "a")]})
    assert db.version == 2 and db["alarm"].rows() == [(1, "a")]
    db.define("on +alarm(X, _) do now call nobody(X).")
    with pytest.raises(hw.DataError) as caught:
        db.apply(insert={"alarm": [(2, "a")]})
    assert caught.value.code == "unknown-action" and db.version == 3


@pytest.mark.parametrize("coupling", ["now", "after"])
def test_events_of_views_that_are_watched_or_virtual(coupling):
    db = defined(f".kind hot watched\nhot(X) :- alarm(X, _).\non +hot(X) do {coupling} insert ticket(X).")
    db.apply(insert={"alarm": [(1, "a")]})
    assert db["ticket"].rows() == [(1,)]
    for change in (
        lambda: db.define(
            f".kind lazy virtual\nlazy(X) :- alarm(X, _).\non +lazy(X) do {coupling} insert ticket(X)."
        ),
        lambda: db.keep("hot", "virtual"),
    ):
        with pytest.raises(hw.RuleError) as caught:
            change()
        assert caught.value.code == "virtual-relation" and "watched" in caught.value.hint


# ------------------------------------------------------------------ append


def test_append_writes_a_file_a_version(here):
    db = defined("on alarm(X, L) do append 'out/alarms.parquet', append 'alarms.csv', append 'alarms.jsonl'.")
    db.apply(insert={"alarm": [(1, "a")]})
    db.apply(insert={"alarm": [(2, "b")]}, delete={"alarm": [(1, "a")]})
    expected = [(1, "a", "insert", 2), (1, "a", "delete", 3), (2, "b", "insert", 3)]
    table = pq.read_table("out/alarms.parquet")
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == sorted(expected)
    assert table.column_names == ["x", "level", "_change_type", "_commit_version"]
    parts = sorted(Path("alarms.csv").iterdir())
    assert [csv.read_csv(part).num_rows for part in parts] == [1, 2]
    lines = [
        line for part in sorted(Path("alarms.jsonl").iterdir()) for line in part.read_text().splitlines()
    ]
    assert sorted(tuple(json.loads(line).values()) for line in lines) == sorted(expected)


def test_appending_again_changes_nothing(here):
    db = defined("keep: on alarm(X, L) do append 'a.parquet'.", here / "state")
    db.apply(insert={"alarm": [(1, "a")]})
    db.close()
    before = pq.read_table("a.parquet")
    (here / "state" / "watches.json").unlink()
    with hw.connect(here / "state") as db:
        assert db.watches["keep"].owed == () and pq.read_table("a.parquet").equals(before)
    assert len(list(Path("a.parquet").iterdir())) == 1


@pytest.mark.parametrize("path", ["alarms.doc", "alarms", ""])
def test_a_format_that_nobody_knows_parks_the_rule(here, path):
    db = defined(f"keep: on alarm(X, L) do append '{path}'.")
    db.apply(insert={"alarm": [(1, "a")]})
    assert states(db) == {"keep": "parked"} and "unknown-format" in db.watches["keep"].error


def test_a_file_in_the_way(here):
    Path("a.parquet").write_text("mine")
    db = defined("keep: on alarm(X, L) do append 'a.parquet'.")
    db.apply(insert={"alarm": [(1, "a")]})
    assert "cannot-write" in db.watches["keep"].error and Path("a.parquet").read_text() == "mine"
    Path("a.parquet").unlink()
    assert db.watches["keep"].retry() == 1


# ------------------------------------------------------------------ run

SCRIPT = """
import os, sys
with open("said", "a") as file:
    file.write("".join(os.environ["HEADWATER_" + name] for name in ("VERSION", "VIEW", "WATCH")))
    file.write(sys.argv[1] + sys.stdin.read())
sys.exit(int(sys.argv[2]))
"""


def test_run_gets_rows_as_lines_of_json(here):
    Path("script.py").write_text(SCRIPT)
    db = defined(f"runs: on alarm(X, L) do run '{sys.executable} script.py \"a b; echo\" 0'.")
    db.apply(insert={"alarm": [(1, "ä")]})
    assert Path("said").read_text() == (
        '2alarmrunsa b; echo{"x": 1, "level": "ä", "_change_type": "insert", "_commit_version": 2}\n'
    )
    assert states(db) == {"runs": "following"}


@pytest.mark.parametrize(
    ("command", "state", "said"),
    [
        (f"{sys.executable} -c \"import sys; sys.exit('dead')\"", "retrying", "exit code 1: dead"),
        ("no-such-command --at-all", "retrying", "No such file"),
        ("echo \"unclosed", "parked", "closing quotation"),
        (" ", "parked", "no command"),
        (f"{sys.executable} -c \"import time; time.sleep(60)\"", "retrying", "not done after 0.2 seconds"),
    ],
)  # fmt: skip
def test_a_command_that_fails(here, command, state, said):
    text = command.replace("'", "\\'")
    db = defined(f"runs: on alarm(X, L) do run '{text}'.", action_timeout=0.2 if "sleep" in command else 60)
    db.apply(insert={"alarm": [(1, "a")]})
    runs = db.watches["runs"]
    assert (runs.state, db.version) == (state, 2) and said in runs.error and "command-failed" in runs.error


def test_a_command_that_reads_nothing_is_done(here):
    db = defined("runs: on alarm(X, L) do run 'true'.")
    db.apply(insert={"alarm": [(n, "a" * 100) for n in range(5000)]})
    assert states(db) == {"runs": "following"}


# ------------------------------------------------------------------ readers, nodes


def test_a_command_may_leave_a_process_behind(here):
    db = defined("""runs: on +alarm(X, _) do run 'sh -c "sleep 5 &"'.""", action_timeout=4)
    db.apply(insert={"alarm": [(1, "high")]})
    assert states(db) == {"runs": "following"} and db.watches["runs"].error is None


def test_a_command_that_says_much_is_told_by_its_end(here):
    said = "print('x' * 3_000_000, file=sys.stderr); print('y' * 3_000_000); sys.exit('the end')"
    (here / "much.py").write_text(f"import sys; {said}")
    db = defined(f"runs: on +alarm(X, _) do run '{sys.executable} much.py'.")
    db.apply(insert={"alarm": [(1, "high")]})
    error = db.watches["runs"].error or ""
    assert error.endswith("the end") and len(error) < 1000


def test_a_reader_does_nothing(tmp_path):
    calls = []
    db = defined("caller: on +alarm(X, _) do call notify(X).", tmp_path / "state")
    db.apply(insert={"alarm": [(1, "a")]})
    with hw.connect(tmp_path / "state", mode="r", actions={"notify": calls.append}) as reader:
        assert reader.watches["caller"].state == "waiting"
        db.apply(insert={"alarm": [(2, "a")]})
        reader.refresh()
        assert reader.watches["caller"].owed == (2, 3) and calls == []
    db.close()


def test_on_nodes(tmp_path):
    calls = []
    with hw.connect(tmp_path / "state", run="threads", nodes=2, actions={"notify": calls.append}) as db:
        db.define(
            BASE + "on +alarm(X, _), X > 1 do call notify(X).\non +alarm(X, _) do after insert ticket(X)."
        )
        events = []
        db.watch("ticket", events.append)
        db.apply(insert={"alarm": [(1, "a"), (2, "a")]})
        assert calls == [2] and sorted(db["ticket"].rows()) == [(1,), (2,)]
        assert [sorted(event.inserted) for event in events] == [[(1,), (2,)]]
