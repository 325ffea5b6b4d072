"""A Spark session: one that is given, one that is running, or an embedded one.

The embedded session is Spark in local mode inside this process and one Java beside it: it listens on loopback
only, has no web page, keeps its files in a temporary folder, and is quiet. Another master is given by name:
`spark://host:7077`, `local-cluster[2,1,2048]`, `yarn`, `k8s://...`.

Executors run the same Python and must find Headwater. In local modes they get it by `PYTHONPATH` from where
this process has it (an installation or `src/`). On other machines it must be installed.

Ctrl-C: the Java beside us does not hear it, and Spark's own handler, which would cancel jobs at any point, is
replaced by the one that was there before.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import MissingExtra, SparkError
from headwater.spark.java import find_java
from headwater.spark.quiet import debugging, silence
from headwater.spark.scratch import scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED = "spark.headwater.embedded"
"""Set in sessions that are made here."""

_QUIET = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{{1}}: %m%n
appender.stderr.layout.alwaysWriteExceptions = {traces}
"""


def require_pyspark() -> None:
    """Raise `MissingExtra` where PySpark is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "missing-extra", "PySpark is not installed", hint="pip install 'headwater[spark]'"
        ) from error


def running_session() -> SparkSession | None:
    """The session that this process has already, if it has one."""
    require_pyspark()
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() or SparkSession._instantiatedSession


def spark_session(
    master: str | None = None,
    *,
    conf: Mapping[str, Any] | None = None,
    app: str = "headwater",
    log_level: str = "error",
) -> SparkSession:
    """The running session, or a new one on `master` (default: `local[*]` with at most 4 threads).

    `conf` are Spark's settings, and win over those made here. A running session is returned as it is, unless
    it has another master than the one asked for: then this is refused.
    """
    running = running_session()
    if running is not None and not running.sparkContext._jsc.sc().isStopped():
        if master is not None and running.sparkContext.master != master:
            raise SparkError(
                "other-session",
                f"Spark runs here already, on {running.sparkContext.master}, not on {master}",
                hint="stop that session first, or pass it as spark=",
            )
        return running
    master = master or f"local[{min(4, os.cpu_count() or 1)}]"
    folder = scratch_folder("spark")
    settings = {**defaults(master, folder, log_level), **(conf or {})}
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    java = find_java()
    configuration = SparkConf(loadDefaults=True).setMaster(master).setAppName(app)
    configuration.setAll([(key, _text(value)) for key, value in settings.items()])
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    with _environment(JAVA_HOME=str(java.home), PYSPARK_PYTHON=python), _signals(), _silence(log_level):
        try:
            session = SparkSession.builder.config(conf=configuration).getOrCreate()
        except Exception as error:
            raise SparkError(
                "no-spark",
                f"Spark did not start on {master} (Java from {java.origin}): {first_line(error)}",
                hint="is the master reachable? is there memory left? what Spark says is on standard error",
            ) from error
    session.sparkContext.setLogLevel(log_level.upper())
    return session


def defaults(master: str, folder: Path, log_level: str) -> dict[str, Any]:
    """Settings for small and middling data on one machine."""
    logging_file = folder / "log4j2.properties"
    logging_file.write_text(
        _QUIET.format(level=log_level.lower(), traces=str(debugging()).lower()), encoding="utf-8"
    )
    settings: dict[str, Any] = {
        EMBEDDED: True,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.adaptive.enabled": True,
        "spark.sql.execution.arrow.pyspark.enabled": True,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} "
        f"-Dlog4j2.configurationFile={logging_file.as_uri()}",
        "spark.sql.streaming.metricsEnabled": False,
        "spark.sql.streaming.stopTimeout": 30_000,
    }
    if master.startswith("local"):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executorEnv.PYTHONPATH": python_path(),
        }
    return settings


def python_path() -> str:
    """Where executors on this machine find Headwater and what this process can import besides."""
    ours = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(
        dict.fromkeys([ours, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    )


def stop_embedded(session: SparkSession | None) -> None:
    """Stop a session that was made here; leave one that was given alone."""
    if session is not None and session.conf.get(EMBEDDED, "false") == "true":
        session.stop()


def first_line(error: BaseException) -> str:
    """What an exception of Spark's says, without the trace from Java."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:500]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Variables for the Java that is started meanwhile; this process has its own ones back afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _signals() -> Iterator[None]:
    """Put the handler of Ctrl-C back to what it was."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _silence(log_level: str) -> Iterator[None]:
    """Keep Spark's greetings from standard error while it starts, and from Python's log."""
    silence()
    if log_level.lower() in ("info", "debug", "trace"):
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as heard:
        kept = os.dup(2)
        os.dup2(heard.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(kept, 2)
            heard.seek(0)
            sys.stderr.write(heard.read().decode(errors="replace"))
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
