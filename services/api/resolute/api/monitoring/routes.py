"""What monitoring systems read: the gateway's own metrics, the cluster's state, and where all processes are found."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from resolute.api.call import Call
from resolute.api.kernel.operations import download, operation
from resolute.api.kernel.paging import Window
from resolute.api.monitoring import targets
from resolute.api.monitoring.messages import (
    MetricsDiscovery,
    ProcessMetrics,
    StateMetrics,
    TargetGroup,
    TargetGroups,
)
from resolute.api.monitoring.queries import QUERIES
from resolute.api.monitoring.series import State
from resolute.api.pools.messages import SortAgentsBy
from resolute.api.pools.queries import QUERIES as POOLS
from resolute.api.pools.queries import AgentRow
from resolute.api.routing import MONITOR, SIGNED_IN

TEXT = {"Content-Type": CONTENT_TYPE_LATEST}

ENDED_SHOWN = timedelta(minutes=10)
"""For so long, what has ended is still among the series, with the value 0."""


async def process_metrics(call: Call, request: ProcessMetrics) -> web.Response:
    """Metrics of the process that answers, in Prometheus' text format."""
    text = await asyncio.to_thread(generate_latest)  # tens of milliseconds in a process that holds every service
    return web.Response(body=text, headers=TEXT)


async def state_metrics(call: Call, request: StateMetrics) -> web.Response:
    """The cluster's state in Prometheus' text format: containers, allocations, jobs, experiments, pools."""
    state = await _state(call)
    text = await asyncio.to_thread(state.text)  # of 20,000 allocations it takes most of a second
    return web.Response(body=text, headers=TEXT)


async def _state(call: Call) -> State:
    gateway = call.gateway
    queries, since = gateway.ports.of(QUERIES), gateway.context.now() - ENDED_SHOWN
    return State(
        allocations=await queries.allocations(since),
        containers=await queries.containers(since),
        gpus=await queries.gpus(),
        experiments=await queries.experiments(since),
        counts=await queries.counts(),
        pools=await gateway.ports.of(POOLS).pools(gateway.settings.pool_names),
        log_position=await gateway.context.log.head(),
        shown_position=gateway.read.shown,
        asides=Counter(one.consumer for one in await gateway.context.log.asides()),
    )


async def discovery(call: Call, request: MetricsDiscovery) -> TargetGroups:
    """Where Prometheus finds every process of the cluster, and the exporters on the hosts of agents."""
    settings = call.gateway.settings
    processes = await targets.groups(targets.read(settings.metrics_targets_file))
    ports = settings.agent_exporter_ports
    agents = await _agents(call) if ports else ()
    return TargetGroups(value=(*processes, *(_exporters(agent, ports) for agent in agents)))


async def _agents(call: Call) -> Sequence[AgentRow]:
    pools = call.gateway.ports.of(POOLS)
    return (await pools.agents(call.outside, SortAgentsBy.ID, descending=False, window=Window())).rows


def _exporters(agent: AgentRow, ports: tuple[int, ...]) -> TargetGroup:
    host = f"[{agent.host}]" if ":" in agent.host else agent.host
    return TargetGroup(
        targets=tuple(f"{host}:{port}" for port in ports),
        labels={"det_agent_id": agent.agent_id, "det_resource_pool": agent.pool},
    )


READ = (SIGNED_IN | MONITOR).to("cluster.metrics.view").outside()

ROUTES = (
    download(
        "ProcessMetrics",
        "GET",
        "/debug/prom/metrics",
        process_metrics,
        READ,
        request=ProcessMetrics,
        produces="text/plain",
        tag="Outside /api/v1",
    ),
    download(
        "StateMetrics",
        "GET",
        "/prom/det-state-metrics",
        state_metrics,
        READ,
        request=StateMetrics,
        produces="text/plain",
        tag="Outside /api/v1",
    ),
    operation(
        "MetricsDiscovery",
        "GET",
        "/prom/det-http-sd-config",
        discovery,
        READ,
        request=MetricsDiscovery,
        response=TargetGroups,
        tag="Outside /api/v1",
    ),
)
