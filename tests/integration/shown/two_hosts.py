"""Two pretended hosts on one machine: each a network of its own, and one bridge that joins them.

A container that only sleeps stands for a host. The host's agent works in that container's network, and so do the
containers of its trials. On its own network a host reaches nobody but the machine; on the bridge it reaches the other.
The gateway and NATS, which listen on loopback, are passed on to where hosts see the machine.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from resolute.deploy import cluster as described
from resolute.deploy.paths import ClusterPaths
from tests.integration.cluster.local import LocalCluster
from tests.integration.docker.hosts import IMAGE, Host, docker

NAMES = ("host-a", "host-b")

MASTER = """
resource_manager:
  type: agent
  scheduler: {type: priority, preemption: true, default_priority: 50}
resource_pools:
  - {pool_name: default, agent_reconnect_wait: 5s}
"""


class FarHost(Host):
    """An agent that sees the network of a sleeping container, and nothing else of it."""

    sleeper: str

    def start(self) -> None:
        pid = docker("inspect", "-f", "{{.State.Pid}}", self.sleeper)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["nsenter", "-t", pid, "-n", sys.executable, "-m", "resolute.agent"],
                env=self._env,
                stderr=log,
                stdout=log,
            )


@dataclass(frozen=True, slots=True)
class TwoHosts:
    cluster: LocalCluster
    hosts: tuple[FarHost, FarHost]

    def named(self, name: str) -> FarHost:
        return next(host for host in self.hosts if host.name == name)


@contextmanager
def two_hosts(home: Path) -> Iterator[TwoHosts]:
    home.chmod(0o755)
    (home / "master.yaml").write_text(MASTER)
    flags = ("--master-config-path", str(home / "master.yaml"))
    cluster = LocalCluster(home, separate=False, slots=0, agents=0, flags=flags)
    with ExitStack() as stack:
        stack.callback(lambda: cluster.down("--delete-db"))
        cluster.up()
        _announce(cluster)
        joint = stack.enter_context(_network("joint"))
        hosts = tuple(stack.enter_context(_host(cluster, name, joint)) for name in NAMES)
        yield TwoHosts(cluster, (hosts[0], hosts[1]))


def _announce(cluster: LocalCluster) -> None:
    """Have the cluster know both, so that NATS lets them in."""
    paths = ClusterPaths.of("test", cluster.data)
    known = described.load(paths)
    assert known is not None, "the cluster is up"
    for name in NAMES:
        known = described.with_agent(known, described.AgentPart(name, 2, False, "docker"))
    described.save(paths, known)


@contextmanager
def _host(cluster: LocalCluster, name: str, joint: str) -> Iterator[FarHost]:
    known = described.load(ClusterPaths.of("test", cluster.data))
    assert known is not None, "the cluster is up"
    with ExitStack() as stack:
        own = stack.enter_context(_network(name))
        sleeper = stack.enter_context(_sleeper(name, own, joint))
        gateway = docker("network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", own)
        nats = stack.enter_context(passed_on(gateway, known.nats_port))
        master = stack.enter_context(passed_on(gateway, cluster.port))
        host = FarHost(
            cluster,
            name,
            2,
            nats_url=f"nats://{gateway}:{nats}",
            master_url=f"http://{gateway}:{master}",
            docker_network=f"container:{sleeper}",
            docker_bind_mounts=[str(cluster.data / "storage")],
        )
        host.sleeper = sleeper
        stack.callback(host.close)
        host.start()
        yield host


@contextmanager
def _network(name: str) -> Iterator[str]:
    found = docker("network", "create", f"resolute-test-{name}-{uuid.uuid4().hex[:8]}")
    try:
        yield found
    finally:
        docker("network", "rm", found, check=False)


@contextmanager
def _sleeper(name: str, *networks: str) -> Iterator[str]:
    """A container on all of `networks`."""
    first, *others = networks
    found = docker(
        "run", "-d", "--init", "--rm", "--hostname", name, "--network", first, IMAGE, "sleep", "infinity"
    )  # fmt: skip
    try:
        for other in others:
            docker("network", "connect", other, found)
        yield found
    finally:
        docker("rm", "-f", found, check=False)


@contextmanager
def passed_on(address: str, port: int) -> Iterator[int]:
    """A port at `address` whose connections go on to `port` on loopback."""
    with socket.create_server((address, 0)) as listener:
        threading.Thread(target=_accept, args=(listener, port), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, port: int) -> None:
    with contextlib.suppress(OSError):  # it was closed
        while True:
            near, _ = listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", port))
            except OSError:
                near.close()
                continue
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def agents(cluster: LocalCluster) -> list[str]:
    """Those that the cluster has at the moment."""
    return [agent["id"] for agent in cluster.get("/api/v1/agents")["agents"]]
