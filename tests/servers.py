"""Real servers for tests and benches: PostgreSQL and NATS, each in a directory of its own, free to be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from resolute.deploy import postgres_files, system_users
from tests.ports import free_port

POSTGRES_USER = "pgserver" if os.geteuid() == 0 else None
"""Whom the servers of tests run as."""


class Postgres:
    """One PostgreSQL server on a Unix socket, fsync on; started by root it runs as another user."""

    def __init__(self) -> None:
        # Not under pytest's temporary directory: that is private to this user, and root's server runs as another one.
        self._folder = Path(tempfile.mkdtemp(prefix="resolute-pg-"))
        self._folder.chmod(0o711)
        if POSTGRES_USER is not None:
            system_users.ensure(POSTGRES_USER)
        self._programs = postgres_files.usable_by(POSTGRES_USER)
        self._data = self._folder / "data"
        for folder in (self._data, self._socket):
            folder.mkdir(mode=0o700)
            if POSTGRES_USER is not None:
                shutil.chown(folder, POSTGRES_USER, POSTGRES_USER)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(self._data))
        self.start()
        self._databases = 0

    @property
    def _socket(self) -> Path:
        return self._folder / "socket"

    @property
    def dsn(self) -> str:
        """Of the database `postgres`, whose user may do everything."""
        return self._dsn_of("postgres")

    def _dsn_of(self, database: str) -> str:
        return f"postgresql://postgres:@/{database}?host={self._socket}"

    @property
    def pid(self) -> int:
        """Of the postmaster, whose children do the work."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def fresh_database(self, like: str = "") -> str:
        """The DSN of a database made just now: an empty one, or a copy of the database whose DSN is `like`."""
        self._databases += 1
        name = f"test_{self._databases}"
        # Copying files is quicker here than writing each page into the server's own log: these databases are small.
        self.psql(f"CREATE DATABASE {name} TEMPLATE {_name(like) or 'template1'} STRATEGY file_copy;")
        return self._dsn_of(name)

    def forget_database(self, dsn: str) -> None:
        """Drop a database of `fresh_database`, whoever still holds it."""
        self.psql(f"DROP DATABASE {_name(dsn)} WITH (FORCE);")

    def trust_the_machine(self) -> None:
        """No fsync from now on: for a server that will not be killed, and whose data nobody wants."""
        self.psql("ALTER SYSTEM SET fsync = off;")
        self.psql("SELECT pg_reload_conf();")

    def psql(self, statement: str) -> str:
        return self._run("psql", self.dsn, told=statement)

    def kill(self) -> None:
        """As a power cut would: no process of it survives, and nothing is flushed on the way."""
        postmaster = psutil.Process(self.pid)
        doomed = [postmaster, *postmaster.children(recursive=True)]
        for process in doomed:
            _kill(process)
        wait_for(lambda: all(map(_is_dead, doomed)), what="the end of Postgres")

    def start(self) -> None:
        """Start again, on the same data and the same DSN, after `kill`."""
        for lock in (self._data / "postmaster.pid", self._socket / ".s.PGSQL.5432.lock"):
            # It names a process that is dead, but perhaps not yet reaped; Postgres would take that for alive.
            lock.unlink(missing_ok=True)
        options = f'-h "" -k {self._socket}'
        self._run("pg_ctl", "-w", "-o", options, "-l", str(self._data / "log"), "-D", str(self._data), "start")

    def _run(self, program: str, *words: str, told: str = "") -> str:
        """What it prints; into a file, for a server that it starts would hold a pipe open."""
        user = None if program == "psql" else POSTGRES_USER
        with tempfile.TemporaryFile() as printed:
            done = subprocess.run(
                [self._programs.path(program), *words],
                input=told.encode(), stdout=printed, stderr=subprocess.STDOUT, check=False, cwd="/",
                user=user, group=user, extra_groups=None if user is None else [],
            )  # fmt: skip
            printed.seek(0)
            said = printed.read().decode()
        assert done.returncode == 0, f"{program} {words}: {said}"
        return said

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class Nats:
    """One nats-server with JetStream on a free port, which it keeps through kills and restarts."""

    def __init__(self, config: str = "") -> None:
        """`config`: further lines of nats-server's configuration (accounts, users, limits)."""
        self._folder = Path(tempfile.mkdtemp(prefix="resolute-nats-"))
        self._config = config
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._port}"

    def start(self) -> None:
        ports, config = self._folder / "ports", self._folder / "nats.conf"
        shutil.rmtree(ports, ignore_errors=True)
        ports.mkdir()
        config.write_text(
            f'listen: "127.0.0.1:{self._port}"\nports_file_dir: "{ports}"\n'
            f'jetstream {{ store_dir: "{self._folder / "store"}" }}\n{self._config}\n'
        )
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([_nats_binary(), "-c", str(config)], stdout=log, stderr=log)
        listens = wait_for(lambda: any(ports.glob("*.ports")) or self._gone(), what="nats-server's ports")
        assert listens is True, f"nats-server did not start: {(self._folder / 'log').read_text()}"

    def _gone(self) -> str | None:
        assert self._process is not None
        return "gone" if self._process.poll() is not None else None

    def kill(self, *, wipe: bool = False) -> None:
        """`kill -9`; with `wipe` its JetStream directory is deleted too."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if wipe:
            shutil.rmtree(self._folder / "store", ignore_errors=True)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def wait_for(look: Callable[[], object], *, what: str, within_s: float = 120.0) -> object:
    """The first truthy thing that `look` finds; an error naming `what` when there is none in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.01)
    raise TimeoutError(f"waited {within_s} s for {what}")


def _name(dsn: str) -> str:
    """Of the database."""
    return dsn.partition("?")[0].rpartition("/")[2]


def _nats_binary() -> str:
    beside_python = Path(sys.executable).parent / "nats-server"
    return str(beside_python) if os.access(beside_python, os.X_OK) else "nats-server"


def _is_dead(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _kill(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return
