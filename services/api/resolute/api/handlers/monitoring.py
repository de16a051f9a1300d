"""What monitoring systems read: the gateway's own metrics, the cluster's state, and where all processes are found."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from resolute.api import metrics_targets, wire
from resolute.api.call import Call
from resolute.api.pools.queries import AGENTS, POOLS
from resolute.api.routing import MONITOR, SIGNED_IN, Route
from resolute.api.views import state_metrics

TEXT = {"Content-Type": CONTENT_TYPE_LATEST}


async def process_metrics(call: Call) -> web.StreamResponse:
    """Metrics of the process that answers, in Prometheus' text format."""
    text = await asyncio.to_thread(generate_latest)  # tens of milliseconds in a process that holds every service
    return web.Response(body=text, headers=TEXT)


async def state(call: Call) -> web.StreamResponse:
    """The cluster's state in Prometheus' text format: containers, allocations, jobs, experiments, pools."""
    read, settings = call.gateway.read, call.gateway.settings
    found = state_metrics.State(
        allocations=await read.rows(state_metrics.ALLOCATIONS),
        containers=await read.rows(state_metrics.CONTAINERS),
        gpus=await read.rows(state_metrics.GPUS),
        experiments=await read.rows(state_metrics.EXPERIMENTS),
        counts=await read.rows(state_metrics.COUNTS),
        pools=await read.rows(POOLS, settings.pool_names),
        log_position=await call.gateway.context.log.head(),
        shown_position=read.shown,
        asides=Counter(one.consumer for one in await call.gateway.context.log.asides()),
    )
    text = await asyncio.to_thread(found.text)  # of 20,000 allocations it takes most of a second
    return web.Response(body=text, headers=TEXT)


async def discovery(call: Call) -> web.StreamResponse:
    """Where Prometheus finds every process of the cluster, and the exporters on the hosts of agents."""
    settings = call.gateway.settings
    groups = await metrics_targets.groups(metrics_targets.read(settings.metrics_targets_file))
    ports = settings.agent_exporter_ports
    agents = await call.gateway.read.rows(f"{AGENTS} WHERE alive ORDER BY agent_id") if ports else []
    exporters = [_exporters(row["agent_id"], row["pool"], row["host"], ports) for row in agents]
    return wire.json_response([*groups, *exporters])


def _exporters(agent_id: str, pool: str, host: str, ports: tuple[int, ...]) -> dict[str, Any]:
    shown = f"[{host}]" if ":" in host else host
    return {
        "targets": [f"{shown}:{port}" for port in ports],
        "labels": {"det_agent_id": agent_id, "det_resource_pool": pool},
    }


READ = (SIGNED_IN | MONITOR).to("cluster.metrics.view").outside()

ROUTES = (
    Route("ProcessMetrics", "GET", "/debug/prom/metrics", process_metrics, READ),
    Route("StateMetrics", "GET", "/prom/det-state-metrics", state, READ),
    Route("MetricsDiscovery", "GET", "/prom/det-http-sd-config", discovery, READ),
)
