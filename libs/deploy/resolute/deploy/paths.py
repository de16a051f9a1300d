"""The files and folders of an embedded cluster: one directory for each cluster, which only its owner can read."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

_SOCKET_PATH_MAX = 100
"""A Unix socket's path has to fit into 108 bytes."""


def default_root(cluster_name: str) -> Path:
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "resolute" / cluster_name


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    root: Path

    @classmethod
    def of(cls, cluster_name: str, data_dir: Path | None) -> ClusterPaths:
        return cls((data_dir or default_root(cluster_name)).expanduser().absolute())

    @property
    def description(self) -> Path:
        """The description of the cluster: its id, ports, agents. The file exists once the cluster was up."""
        return self.root / "cluster.json"

    @property
    def command_lock(self) -> Path:
        """The lock of the command that is changing the cluster."""
        return self.root / "command.lock"

    @property
    def nats(self) -> Path:
        return self.root / "nats"

    @property
    def run(self) -> Path:
        """Files that are needed only while the cluster runs."""
        return self.root / "run"

    @property
    def plan(self) -> Path:
        return self.run / "plan.json"

    @property
    def status(self) -> Path:
        return self.run / "status.json"

    @property
    def lock(self) -> Path:
        return self.run / "supervisor.lock"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets"

    @property
    def sealing_keys(self) -> Path:
        """The keys that encrypt the secrets of configurations. Without this file the database alone does not reveal
        them."""
        return self.secrets / "sealing.keys"

    @property
    def metrics_token(self) -> Path:
        """The token with which a monitoring system reads the cluster's metrics."""
        return self.secrets / "metrics.token"

    @property
    def metrics_targets(self) -> Path:
        """Where the processes serve their metrics."""
        return self.run / "metrics.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def storage(self) -> Path:
        """The folder of checkpoints, unless the configuration names another one."""
        return self.root / "storage"

    def agent(self, name: str) -> Path:
        return self.root / "agents" / name

    @property
    def instances(self) -> Path:
        """Agents that an elastic pool started."""
        return self.root / "instances"

    @property
    def of_root(self) -> Path:
        """For a cluster of root: the files that the user has to reach whom Postgres runs as."""
        return Path("/var/lib/resolute") / self.digest

    @property
    def socket_dir(self) -> Path:
        """The directory of Postgres' socket; its name is short enough for the path of a socket."""
        if os.geteuid() == 0:
            return self.of_root / "socket"
        if len(str(self.run)) > _SOCKET_PATH_MAX - len("/.s.PGSQL.5432"):
            short = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
            return Path(short) / f"resolute-{os.geteuid()}-{self.digest}"
        return self.run

    @property
    def digest(self) -> str:
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:12]


def make_private(folder: Path) -> Path:
    """Makes `folder`, which only its owner can read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def write_private(file: Path, text: str) -> None:
    """Writes the whole file or nothing; only its owner can read it."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.write(text)
    beside.replace(file)
