"""Instances that are agents on the scheduler's own host. Each is a process with a directory of its own.

The lock of the directory is taken before the process is started, the process inherits it, and the kernel releases it
when the process has ended. So an instance that runs is always seen, and two instances never have one name.
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
"""How long the processes of an instance may take to end after SIGTERM; then they are killed."""
_LOCK = "instance.lock"
"""A file in the folder of an instance, locked by its processes for as long as one of them runs."""

_NOT_INHERITED = ("RESOLUTE_", "DET_", "PG")
"""Variables with these prefixes are not passed on: they may hold the cluster's secrets, or a person's login."""
_AGENTS_SETTINGS = "RESOLUTE_AGENT_"


class LocalProvider:
    """An `InstanceProvider` of processes on this host. Owns the directories below `work_dir` of its pool."""

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
        if is_held(folder / _LOCK):
            # A process that has only just been started is not found: it has no environment yet (execve(2)).
            raise Unavailable(f"a process of instance {name} has only just been started")
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
        """Waits for up to STOP_S; returns the processes that still run."""
        deadline = time.monotonic() + STOP_S
        while (living := [process for process in processes if _lives(process)]) and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.02)
        return living

    def _reap(self) -> None:
        """Reaps children that have ended, which would otherwise stay as zombies.

        Methods run on several threads at once. Each step on the dictionary is atomic, so a child that `launch` adds
        meanwhile, perhaps under the name of one that has ended, is neither lost nor an error.
        """
        for name, child in list(self._children.items()):
            if child.poll() is not None and self._children.get(name) is child:
                del self._children[name]


def _id_of(folder: Path) -> str:
    """The id of the instance's process; the instance's name until the process id is in the lock file."""
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
        is_agent = env.get("RESOLUTE_AGENT_WORK_DIR") == str(folder)
        if is_agent or env.get("DET_RUN_DIR", "").startswith(f"{folder}/"):
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
