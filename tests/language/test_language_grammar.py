"""The parser comes from the user's cache, or is made where that has none, or none that can be used."""

from pathlib import Path

import pytest

from headwater.language.datalog.grammar import TEXT, grammar, made_grammar, saved_grammar

PROGRAM = "p(X) :- q(X, 1), !r(X).\n"


def test_a_parser_that_was_saved_parses_alike(tmp_path: Path):
    made = made_grammar(TEXT.read_text(encoding="utf-8"), tmp_path / "deep" / "grammar")
    saved = saved_grammar(tmp_path / "deep" / "grammar")
    assert saved is not None
    assert saved.parse(PROGRAM) == made.parse(PROGRAM)


@pytest.mark.parametrize(
    "contents", [b"", b"no pickle", b"\x80\x04K\x01."], ids=["empty", "text", "a number"]
)
def test_a_damaged_one_is_none(tmp_path: Path, contents: bytes):
    (tmp_path / "grammar").write_bytes(contents)
    assert saved_grammar(tmp_path / "grammar") is None


def test_without_a_folder_it_is_made_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADWATER_CACHE", str(tmp_path / "file"))
    grammar.cache_clear()
    try:
        assert grammar().parse(PROGRAM) is not None
    finally:
        grammar.cache_clear()
