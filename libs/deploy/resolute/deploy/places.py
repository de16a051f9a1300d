"""Where an embedded cluster keeps what: one directory a cluster, private to its owner."""

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
class Places:
    root: Path

    @classmethod
    def of(cls, cluster_name: str, data_dir: Path | None) -> Places:
        return cls((data_dir or default_root(cluster_name)).expanduser().absolute())

    @property
    def description(self) -> Path:
        """What the cluster is: its id, ports, agents. There once the cluster was up."""
        return self.root / "cluster.json"

    @property
    def turn(self) -> Path:
        """The lock of the command that is changing the cluster."""
        return self.root / "command.lock"

    @property
    def nats(self) -> Path:
        return self.root / "nats"

    @property
    def run(self) -> Path:
        """Of no use once nothing runs."""
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
        """What protects the secrets of configurations. Without it they cannot be opened, whoever has the database."""
        return self.secrets / "sealing.keys"

    @property
    def metrics_token(self) -> Path:
        """What a monitoring system shows to read the cluster's metrics."""
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
        """Checkpoints, unless they are to be kept elsewhere."""
        return self.root / "storage"

    def agent(self, name: str) -> Path:
        return self.root / "agents" / name

    @property
    def instances(self) -> Path:
        """Agents that an elastic pool started."""
        return self.root / "instances"

    @property
    def of_root(self) -> Path:
        """Where root keeps what the user that Postgres then runs as has to get at."""
        return Path("/var/lib/resolute") / self.digest

    @property
    def socket_dir(self) -> Path:
        """Postgres' socket, in a directory whose name is short enough for one."""
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
    """Make `folder` for its owner's eyes only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def write_private(file: Path, text: str) -> None:
    """Write whole or not at all, for its owner's eyes only."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.write(text)
    beside.replace(file)
