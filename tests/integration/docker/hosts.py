"""A cluster whose agents run trials in containers; each agent is a process that a test starts, settles and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resolute.deploy import cluster as described
from resolute.deploy import commands
from resolute.deploy.paths import ClusterPaths
from tests.integration.cluster.local import LocalCluster, until

IMAGE = "python:3.11-slim-bookworm"


def docker(*words: str, check: bool = True) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"docker {' '.join(words)} exited with {done.returncode}: {done.stderr}")
    return done.stdout.strip()


class Host:
    """One agent, and the containers it started."""

    def __init__(self, cluster: LocalCluster, name: str, slots: int, **settings: Any) -> None:
        self.cluster, self.name = cluster, name
        self._paths = ClusterPaths.of("test", cluster.data)
        part = described.AgentPart(name, slots, gpu=False)
        known = described.load(self._paths)
        assert known is not None, "the cluster is up"
        changed = described.with_agent(known, part)
        commands._tell_nats(self._paths, changed)
        self.cluster_id = changed.id
        self._env = {
            **os.environ,
            **described.agent_environment(self._paths, changed, part),
            "RESOLUTE_AGENT_RUNTIME": "docker",
            **_variables(settings),
        }
        self.log = cluster.home / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "resolute.agent"], env=self._env, stderr=log, stdout=log
            )

    @contextmanager
    def settled(self, **settings: Any) -> Iterator[None]:
        """With other settings, for a while."""
        usual, self._env = self._env, {**self._env, **_variables(settings)}
        self.kill(signal.SIGTERM)
        self.start()
        try:
            yield
        finally:
            self._env = usual
            self.kill(signal.SIGTERM)
            self.start()

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.process is not None, "it was started"
        self.process.send_signal(number)
        self.process.wait(30)

    def containers(self, *, alive: bool = False) -> list[str]:
        labels = (f"label=ai.resolute.cluster={self.cluster_id}", f"label=ai.resolute.agent={self.name}")
        words = (
            "ps",
            "-q",
            "--no-trunc",
            *(() if alive else ("-a",)),
            *(w for one in labels for w in ("--filter", one)),
        )
        return docker(*words).split()

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if left := self.containers():
            docker("rm", "-f", "-v", *left)


def _variables(settings: dict[str, Any]) -> dict[str, str]:
    told = {key.upper(): value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    return {f"RESOLUTE_AGENT_{key}": value for key, value in told.items()}


@contextmanager
def container_cluster(home: Path, *, slots: int = 1, **settings: Any) -> Iterator[tuple[LocalCluster, Host]]:
    """A cluster with one agent, whose trials share the host's network, where the gateway of an embedded cluster is."""
    cluster = LocalCluster(home, separate=False, slots=0, agents=0)
    host: Host | None = None
    try:
        cluster.up()
        allowed = {"docker_network": "host", "docker_bind_mounts": [str(cluster.data / "storage")]}
        host = Host(cluster, "host-1", slots, **{**allowed, **settings})
        host.start()
        yield cluster, host
    finally:
        if host is not None:
            host.close()
        cluster.down("--delete-db")


__all__ = ["IMAGE", "Host", "container_cluster", "docker", "until"]
