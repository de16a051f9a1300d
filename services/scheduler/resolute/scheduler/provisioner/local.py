"""Instances that are agents on the scheduler's own host: each a process with a directory, which is its machine.

The lock of that directory is taken before there is a process to hold it, and the kernel lets go of it when the process
ends. So there is no moment in which an instance runs and cannot be seen, and no two of one name.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from resolute.config.pools import ResourcePool
from resolute.proto.errors import Unavailable
from resolute.scheduler.provisioner.provider import LaunchFailed
from resolute.scheduler.provisioner.settings import LocalSettings
from resolute.scheduling.elastic.fleet import Instance
from resolute.service.locks import is_held

STOP_S = 10.0
"""How long processes of an instance may take to end when asked to; then they are killed."""
_LOCK = "instance.lock"
"""A file in the folder of an instance, locked by its processes for as long as one of them runs."""

_NOT_INHERITED = ("RESOLUTE_", "DET_", "PG")
"""The cluster's secrets, and a person's login."""
_AGENTS_SETTINGS = "RESOLUTE_AGENT_"


class LocalProvider:
    def __init__(self, pool: ResourcePool, settings: LocalSettings) -> None:
        assert pool.provider is not None, f"pool {pool.pool_name} is not elastic"
        self._pool, self._artificial, self._settings = pool.pool_name, pool.provider.artificial_slots, settings
        self._root = settings.work_dir.absolute() / pool.pool_name
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def launch(self, instance: Instance) -> None:
        folder = self._root / instance.name
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._children[instance.name] = self._spawn(instance, folder, lock)
            except BlockingIOError:
                return
            finally:
                os.close(lock)
        except OSError as error:
            raise LaunchFailed(f"{error.strerror}: {error.filename or self._settings.python}") from error

    def terminate(self, name: str) -> None:
        folder = self._root / name
        living = list(_processes_of(folder))
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in living:
                _signal(process, number)
            living = self._wait(living)
        if living:
            raise Unavailable(f"processes {[process.pid for process in living]} of instance {name} do not end")
        shutil.rmtree(folder, ignore_errors=True)

    def running(self) -> Mapping[str, str]:
        self._reap()
        if not self._root.is_dir():
            return {}
        return {folder.name: _id_of(folder) for folder in self._root.iterdir() if is_held(folder / _LOCK)}

    def _spawn(self, instance: Instance, folder: Path, lock: int) -> subprocess.Popen[bytes]:
        with self._log_of(instance.name).open("ab") as log:
            process = subprocess.Popen(
                [self._settings.python, "-m", "resolute.agent"],
                env=self._environment(instance, folder),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                start_new_session=True,
            )
        os.truncate(lock, 0)
        os.pwrite(lock, str(process.pid).encode(), 0)
        return process

    def _log_of(self, name: str) -> Path:
        folder = self._settings.log_dir or self._root.parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder / f"{name}.log"

    def _environment(self, instance: Instance, folder: Path) -> dict[str, str]:
        settings = self._settings
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_AGENTS_SETTINGS) or not name.startswith(_NOT_INHERITED)
        }
        values = {
            "ID": instance.agent_id,
            "POOL": self._pool,
            "SLOTS": str(instance.slots),
            "ARTIFICIAL": str(self._artificial).lower(),
            "NATS_URL": settings.nats_url,
            "MASTER_URL": settings.master_url,
            "CLUSTER_ID": settings.cluster_id,
            "WORK_DIR": str(folder),
            "LOG_FORMAT": "json",
        }
        if settings.seed_dir is not None:
            values["NATS_SEED_FILE"] = str(settings.seed_dir / f"agent-{instance.agent_id}.seed")
        return {**inherited, **{f"RESOLUTE_AGENT_{name}": value for name, value in values.items()}}

    def _wait(self, processes: list[psutil.Process]) -> list[psutil.Process]:
        """Those that still run after a while."""
        deadline = time.monotonic() + STOP_S
        while (living := [process for process in processes if _lives(process)]) and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.02)
        return living

    def _reap(self) -> None:
        """Of processes that have ended their parent has to take note."""
        self._children = {name: child for name, child in self._children.items() if child.poll() is None}


def _id_of(folder: Path) -> str:
    """Its process; until that is written down, its name."""
    try:
        return (folder / _LOCK).read_text() or folder.name
    except OSError:
        return folder.name


def _processes_of(folder: Path) -> Iterator[psutil.Process]:
    """The processes of the instance: the agent, its tasks, and their children; each has the folder in its
    environment."""
    for process in psutil.process_iter():
        try:
            env = process.environ()
        except (psutil.Error, OSError):
            continue
        tells = env.get("RESOLUTE_AGENT_WORK_DIR") == str(folder)
        if tells or env.get("DET_RUN_DIR", "").startswith(f"{folder}/"):
            yield process


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
