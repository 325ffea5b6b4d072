"""Lines for the preprocessor: what they do, and that places stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.errors import LanguageError
from headwater.language.datalog import parse
from headwater.language.datalog.preprocess import preprocess


def read(text: str, **options) -> list[str]:
    """The lines of a text that are left, without those that are blank or say where others came from."""
    lines = preprocess(text, "<text>", **options).split("\n")
    return [line.strip() for line in lines if line.strip() and not line.startswith("#line")]


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.dl").write_text(text)
    return folder


# ------------------------------------------------------------------ macros

EXPANSIONS = [
    ('#define N 3\np(N, NN, "N").', 'p(3, NN, "N").'),
    ("#define N 3 // three\np(N). // N", "p(3)."),
    ("#define A B\n#define B A\np(A).", "p(A)."),
    ("#define A B + 1\n#define B 2\np(A).", "p(2 + 1)."),
    ("#define f(x, y) g(y, x)\np(f(1, h(2, 3))).", "p(g(h(2, 3), 1))."),
    ("#define f(x) [x]\np(f(f(1)), f).", "p([[1]], f)."),
    ("#define f() 1\np(f()).", "p(1)."),
    ('#define f(x) x\np(f("a, )")).', 'p("a, )").'),
    ("#define both(x) \\\n  left(x), \\\n  right(x)\np(X) :- both(X).", "p(X) :- left(X),    right(X)."),
    ("#define name(x) #x\np(name(a b)).", 'p("a b").'),
    ("#define join(x, y) x ## _ ## y\n#define a b\np(join(a, 1)).", "p(a_1)."),
    ("#define N 3\n#undef N\np(N).", "p(N)."),
    ("#define N 3\n#define N 3\np(N).", "p(3)."),
    ("#define EMPTY\np(EMPTY 1).", "p( 1)."),
    ("  #  define N 3\np(N).", "p(3)."),
]


@pytest.mark.parametrize("text, expected", EXPANSIONS)
def test_macros(text, expected):
    assert read(text) == [expected]


def test_a_use_over_several_lines_keeps_the_lines_behind_it():
    text = "#define f(x, y) x + y\np(f(1,\n  2)).\nq(X)."
    assert preprocess(text, "<text>") == "\np(1 + 2\n).\nq(X)."


def test_a_macro_of_the_user():
    assert read("p(N).", macros={"N": "5"}) == ["p(5)."]
    assert read("#ifndef N\n#define N 1\n#endif\np(N).", macros={"N": "5"}) == ["p(5)."]


# ------------------------------------------------------------------ conditions

CONDITIONS = [
    ("#ifdef A\np(1).\n#else\np(2).\n#endif", ["p(2)."]),
    ("#define A\n#ifdef A\np(1).\n#else\np(2).\n#endif", ["p(1)."]),
    ("#ifndef A\np(1).\n#endif\nq(1).", ["p(1).", "q(1)."]),
    ("#ifdef A\n#ifdef B\np(1).\n#else\np(2).\n#endif\n#else\np(3).\n#endif", ["p(3)."]),
    ('#ifdef A\n#define B\n#include "none"\n#error no\n#if X\n#endif\n#endif\n#ifdef B\np(1).\n#endif', []),
]


@pytest.mark.parametrize("text, expected", CONDITIONS)
def test_conditions(text, expected):
    assert read(text) == expected


def test_what_is_in_a_comment_or_a_string_is_no_line_of_the_preprocessor():
    assert read("/*\n#define N 3\n*/\np(N).") == ["p(N)."]
    assert [a.link for a in parse("p(X) :- #link(X).\n#q(X) :- p(X).").rules[1].heads] == [True]


# ------------------------------------------------------------------ included files


def test_files_include_files_beside_them(tmp_path):
    (tmp_path / "sub").mkdir()
    write(tmp_path, a='#include "sub/b.dl"\na(1).')
    write(tmp_path / "sub", b='#include "c.dl"\nb(1).', c="c(1).")
    assert read('#include "a.dl"\np(1).', folder=tmp_path) == ["c(1).", "b(1).", "a(1).", "p(1)."]
    assert read('.include "a.dl"\np(1).', folder=tmp_path) == ["c(1).", "b(1).", "a(1).", "p(1)."]


def test_files_in_folders_of_the_user(tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "library").mkdir()
    write(tmp_path / "library", shared="shared(1).")
    folders = {"folder": tmp_path / "program", "include": [tmp_path / "library"]}
    assert read('#include "shared.dl"', **folders) == ["shared(1)."]
    assert read("#include <shared.dl>", **folders) == ["shared(1)."]
    assert read('#include "../library/shared.dl"', **folders) == ["shared(1)."]


def test_a_file_that_is_guarded_or_asks_for_it_is_read_once(tmp_path):
    write(
        tmp_path,
        guarded="#ifndef SEEN\n#define SEEN\na(1).\n#endif",
        pragma="#pragma once\nb(1).",
        once=".once\nc(1).",
    )
    text = "".join(f'#include "{name}.dl"\n' for name in ("guarded", "pragma", "once")) * 2
    assert read(text, folder=tmp_path) == ["a(1).", "b(1).", "c(1)."]


def test_macros_go_in_and_out_of_included_files(tmp_path):
    write(tmp_path, defines="#define N 3\nq(M).")
    assert read('#define M 4\n#include "defines.dl"\np(N).', folder=tmp_path) == ["q(4).", "p(3)."]


# ------------------------------------------------------------------ places


def place(text: str, **options) -> tuple[str, int, int]:
    with pytest.raises(LanguageError) as caught:
        parse(text, "main.dl", **options)
    found = caught.value.place
    assert found is not None
    return Path(found.source).name, found.line, found.column


def test_errors_are_placed_in_the_file_they_are_in(tmp_path):
    write(tmp_path, good="a(1).\n\nb(1).", bad="a(1).\n\n  p(1,).\n", open='a("x).')
    assert place('#include "good.dl"\n\n#include "bad.dl"\n', folder=tmp_path) == ("bad.dl", 3, 7)
    assert place('#include "open.dl"', folder=tmp_path) == ("open.dl", 1, 3)
    assert place('p(1).\n#include "good.dl"\n\n q(1,).', folder=tmp_path) == ("main.dl", 4, 6)
    assert place("#define TWO(x) \\\n  x\nq(TWO(1)).\n q(1,).") == ("main.dl", 4, 6)


def test_a_text_says_where_it_came_from_when_it_is_read_again(tmp_path):
    write(tmp_path, part="a(N).")
    text = preprocess('#define N 1\n#include "part.dl"\nb(N).', "main.dl", folder=tmp_path)
    assert preprocess(text, "main.dl") == text
    program = parse(text, "main.dl")
    assert program.text == text
    places = [rule.place for rule in program.rules]
    assert [(Path(p.source).name, p.line) for p in places if p] == [("part.dl", 1), ("main.dl", 3)]


def test_the_lines_of_the_c_preprocessor_are_followed():
    text = '# 1 "a.dl"\na(1).\n# 7 "b.dl" 2\nb(1).'
    assert [(rule.place.source, rule.place.line) for rule in parse(text).rules] == [("a.dl", 1), ("b.dl", 7)]


# ------------------------------------------------------------------ refusals

REFUSALS = [
    ("#define f(x) x\np(f(1, 2)).", "preprocessor", 2, 3, "f takes 1 arguments, given 2"),
    ("#define f(x) x\np(f(1.", "preprocessor", 2, 3, "not closed"),
    ("#define f(x, x) x", "preprocessor", 1, 1, "each once"),
    ("#define N 1\n#define N 2", "preprocessor", 2, 1, "N is defined already"),
    ("p(1).\n#endif", "preprocessor", 2, 1, "#endif without #ifdef"),
    ("#else", "preprocessor", 1, 1, "#else without #ifdef"),
    ("#ifdef A\n#else\n#else\n#endif", "preprocessor", 3, 1, "#else without #ifdef"),
    ("#ifdef A B\n#endif", "preprocessor", 1, 1, "expected one name after #ifdef"),
    ("#ifdef A\n#elif B\n#endif", "unsupported", 2, 1, "#elif is not supported"),
    ("#error it's no good", "preprocessor", 1, 1, "it's no good"),
    ("#include none.dl", "preprocessor", 1, 1, 'expected #include "file"'),
    ('#include "none.dl"', "include", 1, 1, "there is no file none.dl"),
]


@pytest.mark.parametrize("text, code, line, column, words", REFUSALS)
def test_refusals(text, code, line, column, words, tmp_path):
    with pytest.raises(LanguageError) as caught:
        parse(text, folder=tmp_path)
    error = caught.value
    assert (error.code, error.place.line, error.place.column) == (code, line, column)
    assert words in error.message


def test_files_elsewhere_are_refused(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    write(tmp_path, secret="secret(1).")
    (folder / "link.dl").symlink_to(tmp_path / "secret.dl")
    for name in ("../secret.dl", str(tmp_path / "secret.dl"), "link.dl"):
        with pytest.raises(LanguageError, match="outside the program's folder") as caught:
            parse(f'#include "{name}"', folder=folder)
        assert caught.value.code == "include"


def test_files_that_include_each_other_are_refused(tmp_path):
    write(tmp_path, a='a(1).\n#include "b.dl"', b='\n\n#include "a.dl"', self='#include "self.dl"')
    assert place('#include "a.dl"', folder=tmp_path) == ("b.dl", 3, 1)
    assert place('#include "self.dl"', folder=tmp_path) == ("self.dl", 1, 1)


def test_files_that_are_included_too_often_are_refused(tmp_path):
    for i in range(40):
        write(tmp_path, **{f"a{i}": f'#include "a{i + 1}.dl"\n#include "a{i + 1}.dl"\n'})
    write(tmp_path, a40="")
    with pytest.raises(LanguageError, match="more than 10,000 files are included") as caught:
        parse('#include "a0.dl"', folder=tmp_path)
    assert caught.value.code == "include" and caught.value.place is not None


def test_files_that_include_each_other_in_a_long_row_are_refused(tmp_path):
    for i in range(70):
        write(tmp_path, **{f"a{i}": f'#include "a{i + 1}.dl"'})
    with pytest.raises(LanguageError, match="more than 64 files include each other in a row") as caught:
        parse('#include "a0.dl"', folder=tmp_path)
    assert caught.value.code == "include" and caught.value.place.source.endswith("a63.dl")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5_000, "loop.dl", ".", "folder", "/dev/zero"])
def test_names_that_are_no_files(name, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.dl").symlink_to(tmp_path / "loop.dl")
    with pytest.raises(LanguageError) as caught:
        parse(f'#include "{name}"', folder=tmp_path)
    assert caught.value.code == "include" and caught.value.place is not None


def test_a_file_that_is_not_utf8(tmp_path):
    (tmp_path / "latin.dl").write_bytes(b'p("\xe9").')
    assert place('#include "latin.dl"', folder=tmp_path) == ("main.dl", 1, 1)


def test_macros_that_explode_are_refused():
    text = "#define a0 x\n" + "".join(f"#define a{i} a{i - 1} a{i - 1}\n" for i in range(1, 60)) + "p(a59)."
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert caught.value.code == "preprocessor" and caught.value.place.line == 61


def test_macros_whose_arguments_explode_are_refused():
    text = (
        "#define a0(x) x\n" + "".join(f"#define a{i}(x) a{i - 1}(x x)\n" for i in range(1, 60)) + "p(a59(1))."
    )
    with pytest.raises(LanguageError, match="expands to more than") as caught:
        parse(text)
    assert caught.value.code == "preprocessor" and caught.value.place.line == 61


def test_macros_that_use_each_other_in_a_long_chain_are_refused():
    text = "".join(f"#define a{i} a{i + 1}\n" for i in range(5_000)) + "p(a0)."
    with pytest.raises(LanguageError, match="macros use each other"):
        parse(text)
