"""The resource pools: what they have, what they do, and how they are configured."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.paging import Window, cut
from resolute.api.pools.messages import (
    DeviceType,
    FittingPolicy,
    GetResourcePools,
    PoolDetail,
    PoolType,
    PrioritySchedulerDetail,
    QueueStats,
    ResourcePool,
    ResourcePoolsAnswer,
    SchedulerType,
)
from resolute.api.pools.queries import QUERIES, PoolRow
from resolute.api.settings import ApiSettings
from resolute.config import pools as configured
from resolute.config.pools import Provider, Scheduler
from resolute.proto.queue import PolicyName

SCHEDULERS = {
    PolicyName.PRIORITY: SchedulerType.PRIORITY,
    PolicyName.FAIR_SHARE: SchedulerType.FAIR_SHARE,
    PolicyName.FIFO: SchedulerType.ROUND_ROBIN,
}

FITTING = {"best": FittingPolicy.BEST, "worst": FittingPolicy.WORST}

REMOVED = "not among the pools that the cluster is configured with: work in it waits until the pool is back"


async def get_resource_pools(call: Call, request: GetResourcePools) -> ResourcePoolsAnswer:
    """The resource pools that the caller may see, with what they have and what they do.

    A pool that is bound to workspaces is seen by those who may see one of them.
    """
    settings = call.gateway.settings
    queries, workspaces = call.gateway.ports.of(QUERIES), call.scope_of("workspace.view")
    bindings = await queries.bindings()
    shown = [
        row
        for row in await queries.pools(settings.pool_names)
        if not (bound := bindings.get(row.name)) or (not request.unbound and any(map(workspaces.covers, bound)))
    ]
    found = cut(shown, Window(request.offset, request.limit))
    return ResourcePoolsAnswer(
        resource_pools=tuple(pool_shown(row, settings) for row in found.rows), pagination=Pagination.of(found.page)
    )


def pool_shown(row: PoolRow, settings: ApiSettings) -> ResourcePool:
    """A pool that agents or work are in, and that the settings do not name, has the settings of the cluster."""
    pool = settings.pool(row.name) or configured.ResourcePool(pool_name=row.name)
    scheduler, provider = settings.scheduler_of(row.name), pool.provider
    most = pool.max_aux_containers_per_agent
    return ResourcePool(
        name=row.name,
        description=pool.description if row.name in settings.pool_names else REMOVED,
        type=PoolType.STATIC if provider is None else PoolType.UNSPECIFIED,
        num_agents=row.agents,
        slots_available=row.slots,
        slots_used=row.used,
        slot_type=DeviceType.of(row.kind),
        slots_per_agent=_slots_per_agent(row, provider),
        aux_container_capacity=most * row.agents,
        aux_container_capacity_per_agent=most,
        aux_containers_running=row.auxiliary,
        default_compute_pool=row.name == settings.default_pool,
        default_aux_pool=row.name == settings.aux_pool,
        min_agents=0 if provider is None else provider.min_instances,
        max_agents=0 if provider is None else provider.max_instances,
        max_idle_agent_period=0 if provider is None else provider.max_idle_agent_period,
        max_agent_starting_period=0 if provider is None else provider.max_agent_starting_period,
        scheduler_type=SCHEDULERS[scheduler.type],
        scheduler_fitting_policy=FITTING[scheduler.fitting_policy],
        resource_manager_metadata={},
        details=PoolDetail(priority_scheduler=_priority(scheduler)),
        stats=queue_stats(row),
    )


def queue_stats(row: PoolRow) -> QueueStats:
    return QueueStats(queued_count=row.queued, scheduled_count=row.scheduled)


def _slots_per_agent(row: PoolRow, provider: Provider | None) -> int:
    """Of the agents that are there, on average; where there are none, of the instances that the pool may start."""
    if row.agents:
        return row.slots // row.agents
    return provider.instance_slots if provider is not None else 0


def _priority(scheduler: Scheduler) -> PrioritySchedulerDetail | None:
    if scheduler.type != PolicyName.PRIORITY:
        return None
    return PrioritySchedulerDetail(preemption=scheduler.preemption, default_priority=scheduler.default_priority)
