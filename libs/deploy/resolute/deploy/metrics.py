"""Where the processes of an embedded cluster serve their metrics, and how Prometheus and people learn of it.

Each service process and each agent has a port of its own, which it keeps for as long as the cluster exists. The list
of them lies in a file beside the supervisor's plan; the gateway reads it for `/prom/det-http-sd-config`.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Mapping, Sequence

from resolute.deploy import checks
from resolute.deploy.cluster import Cluster, process_names
from resolute.deploy.environment_settings import AGENT_HEALTH_HOST, HEALTH_HOST
from resolute.deploy.paths import ClusterPaths, write_private
from resolute.proto.errors import Refused
from resolute.service import metrics_token

EVERYWHERE = ("0.0.0.0", "::")


def ports(
    names: Sequence[str], known: Mapping[str, int], first: int | None = None, others: Collection[int] = ()
) -> dict[str, int]:
    """A port for each process: `first` and those after it where one is wanted, in this order; else the one it had, or
    one that is free and none of `others`. Raises Refused for one that is wanted and taken."""
    if first is not None:
        for number, name in enumerate(names):
            _check_wanted(name, first + number)
        return {name: first + number for number, name in enumerate(names)}
    chosen: dict[str, int] = {}
    for name in names:
        port = checks.free_port(known.get(name, 0))
        while port in chosen.values() or port in others:
            port = checks.free_port()
        chosen[name] = port
    return chosen


def _check_wanted(name: str, port: int) -> None:
    try:
        checks.port_is_free("127.0.0.1", port, "--metrics-port")
    except Refused as error:
        raise Refused(f"cannot serve the metrics of {name}: {error.message}") from error


def another(cluster: Cluster) -> int:
    """A port for a process that joins: the one after all others where that is free."""
    return checks.free_port(max(cluster.metrics_ports.values(), default=-1) + 1)


def host_of(cluster: Cluster, name: str) -> str:
    """Where the process listens."""
    agents = {agent.name: {**cluster.given, **agent.given} for agent in cluster.agents}
    given = agents[name].get(AGENT_HEALTH_HOST) if name in agents else cluster.given.get(HEALTH_HOST)
    return given or "127.0.0.1"


def address(cluster: Cluster, name: str, *, here: bool) -> str:
    """`host:port` of a process, empty where it has none; `here`: as this machine calls it, else as others do."""
    if (port := cluster.metrics_ports.get(name)) is None:
        return ""
    host = host_of(cluster, name)
    if host in EVERYWHERE:
        host = ("127.0.0.1" if host == "0.0.0.0" else "::1") if here else socket.gethostname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def tell_the_gateway(paths: ClusterPaths, cluster: Cluster) -> None:
    """Write the list of all processes."""
    found = {name: address(cluster, name, here=False) for name in process_names(cluster)}
    listed = [{"process": name, "address": where} for name, where in found.items() if where]
    write_private(paths.metrics_targets, json.dumps(listed, indent=1))


def ensure_token(paths: ClusterPaths) -> None:
    """The token that opens metrics from elsewhere; made the first time."""
    if not paths.metrics_token.exists():
        write_private(paths.metrics_token, metrics_token.new() + "\n")
