"""What an embedded cluster needs of Docker: that it answers, a network for its tasks, and to leave nothing behind.

Agents start the containers (`resolute.agent`); here is what surrounds them. Containers and networks are known by the
label that names their cluster.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resolute.proto.errors import Refused

CLUSTER, AGENT = "ai.resolute.cluster", "ai.resolute.agent"
TIMEOUT_S = 30
REMEDY = (
    "install Docker and start it (`make docker` does so on Debian and Ubuntu, as root), and see that you may use it "
    "(be in the group docker, or set DOCKER_HOST); without it leave out --runtime docker: trials then run as processes"
)


def has_image(name: str) -> bool:
    """Whether the daemon has it already. Raises Refused where none answers."""
    with _docker() as api:
        return bool(api.images(name))


def network_of(cluster_id: str) -> str:
    return f"resolute-{cluster_id}"


def network(cluster_id: str) -> str:
    """Make the cluster's network where it is missing; the address at which its containers reach this host.

    Raises Refused where Docker does not answer, or is on another machine.
    """
    name = network_of(cluster_id)
    with _docker() as api:
        if not api.networks(names=[name], filters={"label": f"{CLUSTER}={cluster_id}"}):
            mtu = _uplink_mtu()
            options = {"com.docker.network.driver.mtu": str(mtu)} if mtu else {}
            api.create_network(name, "bridge", options, check_duplicate=True, labels={CLUSTER: cluster_id})
        address = str(api.inspect_network(name)["IPAM"]["Config"][0]["Gateway"])
    if not _is_ours(address):
        raise Refused(
            f"cannot use --runtime docker: containers would look for the gateway at {address}, which is no address of "
            "this machine: Docker is on another one (DOCKER_HOST), or in a virtual machine (Docker Desktop). Run the "
            "cluster there, or all of it in containers (compose/)"
        )
    return address


def remove(cluster_id: str, agents: frozenset[str] | None = None) -> int:
    """End the containers of the cluster, or of some of its agents; how many there were. Nothing where Docker is not."""
    labels = [f"{CLUSTER}={cluster_id}"]
    try:
        with _docker() as api:
            found = api.containers(all=True, filters={"label": labels})
            doomed = [one for one in found if agents is None or one["Labels"].get(AGENT) in agents]
            for container in doomed:
                _remove(api, container["Id"])
    except Refused:
        return 0
    return len(doomed)


def remove_network(cluster_id: str) -> None:
    """Once nothing is on it any more."""
    try:
        with _docker() as api:
            for found in api.networks(filters={"label": f"{CLUSTER}={cluster_id}"}):
                api.remove_network(found["Id"])
    except Refused:
        return


def _remove(api: Any, container_id: str) -> None:
    from docker.errors import APIError

    try:
        api.remove_container(container_id, force=True, v=True)
    except APIError as error:
        if error.status_code not in (404, 409):  # gone, or going
            raise


@contextmanager
def _docker() -> Iterator[Any]:
    """The Docker daemon's API. Raises Refused where no daemon answers, or the daemon refuses."""
    import docker  # only those who run containers pay for it
    import requests
    from docker.errors import APIError, DockerException

    try:
        client = docker.from_env(version="auto", timeout=TIMEOUT_S)
    except (DockerException, requests.RequestException, OSError) as error:
        raise Refused(f"cannot run containers: no Docker daemon answers ({error}); {REMEDY}") from error
    try:
        yield client.api
    except APIError as error:
        raise Refused(f"cannot run containers: Docker says: {error.explanation or error}") from error
    except (requests.RequestException, OSError) as error:
        raise Refused(f"cannot run containers: Docker went away ({error}); {REMEDY}") from error
    finally:
        client.close()


def _is_ours(address: str) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _uplink_mtu() -> int | None:
    """The largest packet that this machine's way out takes: a network with larger ones stalls without a word."""
    try:
        routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
        uplink = next(words[0] for words in routes if words[1] == "00000000")
        return int(Path(f"/sys/class/net/{uplink}/mtu").read_text())
    except (OSError, StopIteration, ValueError, IndexError):
        return None
