"""Pipeline files: what they may say, and what is refused, at its place. No Spark starts here."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw
from headwater.pipeline import load
from headwater.pipeline.kinds import CHOICE, SINKS, SOURCES
from headwater.pipeline.settings import parse_settings

DOCUMENT = Path(__file__).parents[2] / "docs" / "pipeline.md"
PROGRAM = "link(src: string, dst: string). reach(X, Y) :- link(X, Y)."
HEAD = 'program = "p.dl"\nstate = "state"\n'
SOURCE = HEAD + '[[source]]\nrelation = "link"\nkind = "csv"\npath = "in.csv"\n'
SINK = HEAD + '[[sink]]\nview = "reach"\nkind = "feed"\npath = "out"\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.dl").write_text(PROGRAM)
    return tmp_path


REFUSED = [
    # text, code, line (None: no place), a word of the message, a word of the hint
    ("program = ", "toml-syntax", 1, "not TOML", None),
    ('program = "p.dl"\n[[source]\n', "toml-syntax", 2, "not TOML", None),
    ('state = "s"\n', "missing-key", None, "no program", "program ="),
    ('program = "p.dl"\n', "missing-key", None, "no state", "state ="),
    ('program = "q.dl"\nstate = "s"\n', "missing-file", 1, "q.dl", "Datalog"),
    (HEAD + "stat = 1\n", "unknown-key", 3, "no key stat", "did you mean state?"),
    (HEAD + 'every = "1s"\n', "wrong-type", 3, "every is '1s'", "a number"),
    (HEAD + "every = -1\n", "wrong-type", 3, "every is -1", "0 or more"),
    (HEAD + "every = true\n", "wrong-type", 3, "every is True", "a number"),
    (HEAD + "[spark]\nmaste = 1\n", "unknown-key", 4, "no key maste in [spark]", "did you mean master?"),
    (HEAD + "[spark]\nmaster = 2\n", "wrong-type", 4, "master is 2", "a text"),
    (HEAD + "[source]\nrelation = 'link'\n", "wrong-type", 3, "source is {", "list of tables"),
    (HEAD + "source = [1]\n", "wrong-type", 3, "not a table", "[[source]]"),
    (HEAD + "[[source]]\nkind = 'csv'\n", "missing-key", 3, "no relation", "relation"),
    (HEAD + "[[source]]\nrelation = 'link'\n", "missing-key", 3, "no kind", "one of csv, parquet"),
    (
        HEAD + "[[source]]\nrelation = 'link'\nkind = 'tsv'\n",
        "unknown-kind",
        5,
        "'tsv'",
        "one of csv, parquet",
    ),
    (HEAD + "[[source]]\nrelation = 'link'\nkind = 3\n", "unknown-kind", 5, "3", "one of csv"),
    (HEAD + "[[source]]\nrelation = 'link'\nkind = 'csv'\n", "missing-key", 5, "needs path", "path ="),
    (SOURCE + "table = 'x'\n", "unknown-key", 7, "no key table", "there are"),
    (SOURCE + "on_null = 'dorp'\n", "unknown-option", 7, "on_null is 'dorp'", "did you mean drop?"),
    (SOURCE + "on_nul = 'drop'\n", "unknown-key", 7, "no key on_nul", "did you mean on_null?"),
    (SOURCE + "on_null = true\n", "wrong-type", 7, "on_null is True", "a text"),
    (SOURCE + "nan = 'NULL'\n", "unknown-option", 4, "nan of Files is 'NULL'", "value, null"),
    (SOURCE + "header = 'no'\n", "wrong-type", 7, "header is 'no'", "true or false"),
    (SOURCE.replace("csv", "feed") + "header = false\n", "bad-source", 4, "only CSV", "leave header out"),
    (SOURCE.replace("csv", "json") + "header = false\n", "unknown-key", 7, "no key header", "there are"),
    (SOURCE + "wher = 'x'\n", "unknown-key", 7, "no key wher", "did you mean where?"),
    (SOURCE + "where = 3\n", "wrong-type", 7, "where is 3", "a text"),
    (SOURCE + "columns = 'src'\n", "wrong-type", 7, "columns is 'src'", "a table"),
    (SOURCE + "columns = { src = 1 }\n", "wrong-type", 7, "columns.src is 1", 'src = "1"'),
    (SOURCE + "[source.options]\nheader = false\n", "wrong-type", 7, "options.header", "in quotes"),
    (SOURCE + SOURCE[len(HEAD) :] + "mode = 'x'\n", "unknown-key", 11, "no key mode", None),
    (
        HEAD + "[[source]]\nrelation = 'lnk'\nkind = 'table'\ntable = 't'\n",
        "unknown-relation",
        4,
        "lnk",
        "link",
    ),
    (
        HEAD + "[[source]]\nrelation='link'\nkind='stream'\npath='p'\nformat='csv'\n",
        "missing-key",
        4,
        "schema",
        "both",
    ),
    (
        HEAD + "[[source]]\nrelation='link'\nkind='sqlalchemy'\nurl='x'\n",
        "bad-source",
        4,
        "a table or a query",
        None,
    ),
    (
        HEAD + "[[source]]\nrelation='reach'\nkind='table'\ntable='t'\n",
        "derived-relation",
        None,
        "reach",
        ".input",
    ),
    (SOURCE + SOURCE[len(HEAD) :], "same-name", None, "csv:in.csv", "name"),
    (SINK + "mode = 'merge'\n", "unknown-key", 7, "no key mode", "there are"),
    (SINK.replace("feed", "delta") + "mode = 'upsert'\n", "bad-sink", 4, "no mode 'upsert'", "merge"),
    (SINK.replace("reach", "rech"), "unknown-relation", 4, "rech", "reach"),
    (
        HEAD + "[[sink]]\nview = 'reach'\nkind = 'python'\ncall = 'no.such:thing'\n",
        "bad-sink",
        4,
        "no.such",
        "module",
    ),
]


@pytest.mark.parametrize(("text", "code", "line", "word", "hint"), REFUSED, ids=lambda v: None)
def test_what_is_refused(folder, text, code, line, word, hint):
    (folder / "p.toml").write_text(text)
    with pytest.raises(hw.HeadwaterError) as refused:
        load(folder / "p.toml")
    error = refused.value
    assert error.code == code, error
    assert word in error.message
    assert hint is None or hint in (error.hint or "")
    assert (error.place.line if error.place else None) == line, error


def test_a_program_that_is_wrong_is_refused_at_its_own_place(folder):
    (folder / "p.dl").write_text("reach(X, Y) :- link(X).")
    (folder / "p.toml").write_text(HEAD)
    with pytest.raises(hw.RuleError) as refused:
        load(folder / "p.toml")
    assert refused.value.place.source.endswith("p.dl")


def test_a_state_of_another_program_is_refused(folder):
    (folder / "p.toml").write_text(HEAD)
    load(folder / "p.toml").close()
    (folder / "p.dl").write_text(PROGRAM + "\nreach(X, X) :- link(X, _).")
    with pytest.raises(hw.DataError) as refused:
        load(folder / "p.toml")
    assert refused.value.code == "other-program"


def test_paths_are_relative_to_the_file_and_names_are_not(folder):
    settings = parse_settings(SOURCE + SINK[len(HEAD) :], folder / "p.toml")
    assert settings.state == folder / "state"
    assert settings.sources[0].values["path"] == str(folder / "in.csv")
    assert settings.sources[0].values["name"] == "csv:in.csv"
    assert settings.sinks[0].values["name"] == "feed:out"


def test_a_file_of_refused_rows_is_relative_to_the_pipelines_file(folder):
    settings = parse_settings(SOURCE + "on_null = 'refused.jsonl'\nheader = false\n", folder / "p.toml")
    assert settings.sources[0].values["on_null"] == str(folder / "refused.jsonl")
    source = settings.sources[0].make(SOURCES)
    assert (source.on_null, source.header, source.nan) == (str(folder / "refused.jsonl"), False, "value")


def test_every_kind_and_every_key_is_in_the_document():
    text = DOCUMENT.read_text(encoding="utf-8")
    common = text.split("## Columns, filters and missing values\n", 1)[1].split("\n## ", 1)[0]
    assert all(f"`{key}`" in common or f"`{key} =" in common for key in CHOICE)
    for title, kinds in (("Sources", SOURCES), ("Sinks", SINKS)):
        part = text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
        for name, kind in kinds.items():
            row = next((line for line in part.splitlines() if line.startswith(f"| `{name}`")), "")
            for key in (*kind.needs, *(k for k in kind.may if k not in CHOICE)):
                assert f"`{key}`" in row, (name, key)
