"""What an embedded cluster is and what of it runs, for `det deploy local status`."""

from __future__ import annotations

import http
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

from resolute.agent import isolation
from resolute.cli.output import table
from resolute.config.pools import ResourcePool, Scheduler
from resolute.deploy import metrics, processes
from resolute.deploy.cluster import AgentPart, Cluster, process_names
from resolute.deploy.paths import ClusterPaths
from resolute.deploy.processes import ChildStatus
from resolute.deploy.readiness import get


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One process of the cluster."""

    name: str
    state: str
    """`ready`, `not ready` (it runs, and its page `/ready` says no), `running` (it has no such page), or `stopped`."""
    pid: int | None
    starts: int
    metrics: str
    """The URL of its metrics; empty where it has none."""


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One agent: its process, and what it offers."""

    process: ProcessStatus
    pool: str
    slots: int | None
    """None where the agent counts what its host has."""
    runtime: str
    isolation: str
    """How far its trials are kept apart: `users`, `hidden`, `none` (see `resolute.agent.isolation`), `containers`, or
    `unknown` before the agent has said it."""


@dataclass(frozen=True, slots=True)
class PoolStatus:
    name: str
    scheduler: str
    agents: int
    elastic_agents: int
    """So many may be started when work waits."""
    default_for: str
    """`compute`, `aux`, `compute and aux`, or nothing."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    name: str
    id: str
    running: bool
    ready: bool
    """Whether every process runs and works."""
    supervisor_pid: int | None
    address: str
    version: str
    """Of the wire that the gateway speaks; empty where it does not answer."""
    release: str
    """Of the Resolute that is installed here."""
    data_dir: str
    storage: str
    discovery: str
    """The URL by which Prometheus finds all processes."""
    metrics_token_file: str
    pools: Sequence[PoolStatus]
    agents: Sequence[AgentStatus]
    services: Sequence[ProcessStatus]


def look(paths: ClusterPaths, cluster: Cluster) -> ClusterStatus:
    supervisor = processes.supervisor_pid(paths)
    children = {child.name: child for child in processes.statuses(paths)} if supervisor is not None else {}
    agents = tuple(_agent(paths, cluster, agent, children) for agent in cluster.agents)
    names = {agent.name for agent in cluster.agents}
    others = ["postgres", "nats", *(name for name in process_names(cluster) if name not in names)]
    services = tuple(_process(cluster, name, children) for name in others)
    every = [*services, *(agent.process for agent in agents)]
    status, page = get(cluster.url, "/info") if supervisor is not None else (0, {})
    return ClusterStatus(
        name=cluster.name,
        id=cluster.id,
        running=supervisor is not None,
        ready=status == http.HTTPStatus.OK and all(one.state in ("ready", "running") for one in every),
        supervisor_pid=supervisor,
        address=cluster.url,
        version=str(page.get("version", "")),
        release=version("resolute"),
        data_dir=str(paths.root),
        storage=cluster.storage,
        discovery=f"{cluster.url}/prom/det-http-sd-config",
        metrics_token_file=str(paths.metrics_token),
        pools=_pools(cluster),
        agents=agents,
        services=services,
    )


def _process(cluster: Cluster, name: str, children: dict[str, ChildStatus]) -> ProcessStatus:
    child = children.get(name)
    where = metrics.address(cluster, name, here=True)
    alive = child is not None and child.pid is not None
    return ProcessStatus(
        name=name,
        state=_state(where) if alive else "stopped",
        pid=child.pid if child is not None else None,
        starts=child.starts if child is not None else 0,
        metrics=f"http://{where}/metrics" if where else "",
    )


def _state(where: str) -> str:
    if not where:
        return "running"
    return "ready" if get(f"http://{where}", "/ready")[0] == http.HTTPStatus.OK else "not ready"


def _agent(paths: ClusterPaths, cluster: Cluster, agent: AgentPart, children: dict[str, ChildStatus]) -> AgentStatus:
    return AgentStatus(
        process=_process(cluster, agent.name, children),
        pool=agent.pool,
        slots=agent.slots,
        runtime=agent.runtime,
        isolation="containers" if agent.runtime == "docker" else _isolation(paths, agent.name),
    )


def _isolation(paths: ClusterPaths, agent: str) -> str:
    try:
        return (paths.agent(agent) / isolation.NOTE).read_text().partition(":")[0].strip() or "unknown"
    except OSError:
        return "unknown"


def _pools(cluster: Cluster) -> tuple[PoolStatus, ...]:
    described = (
        ResourcePool(pool_name=pool) if isinstance(pool, str) else ResourcePool.model_validate(pool)
        for pool in cluster.pools
    )
    return tuple(
        PoolStatus(
            name=pool.pool_name,
            scheduler=(pool.scheduler or Scheduler()).type,
            agents=sum(agent.pool == pool.pool_name for agent in cluster.agents),
            elastic_agents=len(pool.elastic_agents),
            default_for=_default_for(cluster, pool.pool_name),
        )
        for pool in described
    )


def _default_for(cluster: Cluster, pool: str) -> str:
    uses = {"compute": cluster.compute_pool, "aux": cluster.default_aux_pool or cluster.compute_pool}
    return " and ".join(use for use, name in uses.items() if name == pool)


# ---------------------------------------------------------------- as text


def for_programs(status: ClusterStatus) -> str:
    return json.dumps(asdict(status), indent=2, sort_keys=True)


def for_people(status: ClusterStatus) -> Iterator[str]:
    state = "ready" if status.ready else "running, but not all of it is ready" if status.running else "not running"
    by = f" (supervisor pid {status.supervisor_pid})" if status.running else ""
    yield f"cluster   {status.name}: {state}{by}"
    yield f"address   {status.address}"
    yield f"version   {status.version or '(no answer)'}, Resolute {status.release}"
    yield f"data      {status.data_dir}"
    yield f"storage   {status.storage}"
    yield f"metrics   {status.discovery} lists the processes; the token is in {status.metrics_token_file}"
    yield ""
    yield from table(
        ("Pool", "Scheduler", "Agents", "Default for"),
        [(pool.name, pool.scheduler, _agents_of(pool), pool.default_for or "-") for pool in status.pools],
    )
    yield ""
    yield from table(
        ("Agent", "State", "Process", "Starts", "Pool", "Slots", "Runtime", "Isolation", "Metrics"),
        [_of_agent(one) for one in status.agents],
    )
    yield ""
    yield from table(
        ("Service", "State", "Process", "Starts", "Metrics"),
        [(*_of_process(one), one.metrics or "-") for one in status.services],
    )


def _agents_of(pool: PoolStatus) -> str:
    return f"{pool.agents} and up to {pool.elastic_agents} elastic" if pool.elastic_agents else str(pool.agents)


def _of_agent(one: AgentStatus) -> tuple[str, ...]:
    slots = "all" if one.slots is None else str(one.slots)
    return (*_of_process(one.process), one.pool, slots, one.runtime, one.isolation, one.process.metrics or "-")


def _of_process(one: ProcessStatus) -> tuple[str, str, str, str]:
    return one.name, one.state, "-" if one.pid is None else str(one.pid), str(one.starts)
