"""A PostgreSQL server of our own: a cluster in a temporary folder, reached through a socket there.

Debian's package is used where it is installed, and installed where we are root and apt can. `NoServer` says why
there is none.
"""

from __future__ import annotations

import fcntl
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)


class NoServer(Exception):
    """There is none here; says why."""


def binaries() -> Path:
    """Where `initdb` and `postgres` are; installs them if that can be done."""
    with open(Path(tempfile.gettempdir()) / "headwater-postgresql.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes, and apt in one
        return _binaries()


def _binaries() -> Path:
    found = _installed()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "postgresql"]):
            done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
            if done.returncode:
                raise NoServer(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace')[-200:]}")
        found = _installed()
    if found is None:
        raise NoServer("PostgreSQL is not installed, and only root can install it with apt-get")
    return found


def _installed() -> Path | None:
    places = [Path(place) for pattern in _PLACES for place in sorted(glob.glob(pattern), reverse=True)]
    on_path = shutil.which("initdb")
    places += [Path(on_path).parent] if on_path else []
    return next((place for place in places if (place / "initdb").exists()), None)


@dataclass
class Server:
    """A running cluster."""

    folder: Path
    port: int
    binaries: Path

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql+psycopg://{user}@/{database}?host={self.folder}&port={self.port}"

    def new_database(self) -> str:
        """The address of a new, empty database."""
        import psycopg

        name = f"t{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self._plain("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def _plain(self, database: str) -> str:
        return f"host={self.folder} port={self.port} user=postgres dbname={database}"

    def stop(self) -> None:
        control, data = str(self.binaries / "pg_ctl"), str(self.folder / "data")
        _run([control, "-D", data, "-m", "immediate", "-t", "100", "stop"])
        shutil.rmtree(self.folder, ignore_errors=True)


def start() -> Server:
    """A new cluster, as cheap as one can be: nothing is synced, and it listens to its socket only."""
    place = binaries()
    folder = Path(tempfile.mkdtemp(prefix="hwpg"))
    if os.geteuid() == 0:
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            raise NoServer("we are root, and there is no user postgres to run a server as") from None
        os.chown(folder, user.pw_uid, user.pw_gid)
    data, port = folder / "data", 5432
    _run(
        [
            str(place / "initdb"),
            "-D",
            str(data),
            "-U",
            "postgres",
            "-A",
            "trust",
            "-N",
            "--no-locale",
            "-E",
            "UTF8",
        ]
    )
    options = (
        f"-c listen_addresses='' -c unix_socket_directories={folder} -c port={port} -c fsync=off"
        " -c wal_level=logical -c max_wal_senders=2 -c max_replication_slots=20 -c shared_buffers=16MB"
        " -c max_connections=30 -c autovacuum=off"
    )
    _run([str(place / "pg_ctl"), "-D", str(data), "-l", str(folder / "log"), "-w", "-o", options, "start"])
    return Server(folder, port, place)


def _run(command: list[str]) -> None:
    """As the user postgres, if we are root: a server refuses to be root's."""
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise NoServer(f"{command[-1]}: {done.stdout.decode(errors='replace')[-300:]}")
