"""Agents, slots, allocations, tasks, jobs and resource pools, as the wire shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import asyncpg

from resolute.api.settings import VERSION, ApiSettings
from resolute.api.shown_states import AllocationState, Phase, ShareState
from resolute.api.wire import timestamp
from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.queue import PolicyName

AGENTS = """SELECT agent_id, pool, host, version, enabled, draining, joined_at FROM read_pools.agents"""

# What holds for an agent holds for its slots. Of an agent that was in several pools, those of where it is, or was last.
SLOTS = """SELECT s.agent_id, s.slot_id, s.kind, s.brand, s.uuid, s.enabled AND a.enabled AS enabled,
    s.draining OR a.draining AS draining
FROM (SELECT DISTINCT ON (agent_id) * FROM read_pools.agents WHERE agent_id = ANY($1::text[])
      ORDER BY agent_id, alive DESC, joined_at DESC, pool) a
JOIN read_pools.slots s USING (agent_id, pool) ORDER BY s.agent_id, s.slot_id"""

CONTAINERS = f"""SELECT resources_id, agent_id, slot_ids, state, address, allocation_id FROM read_tasks.placements
WHERE agent_id = ANY($1::text[]) AND state <> '{ShareState.EXITED}' ORDER BY resources_id"""

DEVICE_TYPES = {"cuda": "TYPE_CUDA", "rocm": "TYPE_ROCM", "cpu": "TYPE_CPU", "artificial": "TYPE_CPU"}

MASKED = "********"
"""The id of a container that the caller may not know, as other clients know it."""

CONTAINER_STATES = {
    ShareState.ASSIGNED: "STATE_ASSIGNED",
    ShareState.RUNNING: "STATE_RUNNING",
    ShareState.EXITED: "STATE_TERMINATED",
}


def agent_json(
    row: asyncpg.Record,
    slots: Sequence[asyncpg.Record],
    containers: Sequence[asyncpg.Record],
    visible: Collection[str],
) -> dict[str, Any]:
    """`visible`: the allocations whose containers the caller may know. Of others it is shown that they are there."""
    on_slot = {slot_id: container for container in containers for slot_id in container["slot_ids"]}
    shown = {container["resources_id"]: _container_json(container, slots, visible) for container in containers}
    return {
        "id": row["agent_id"],
        "registeredTime": timestamp(row["joined_at"]),
        "slots": {
            str(slot["slot_id"]): slot_json(
                slot, shown[on_slot[slot["slot_id"]]["resources_id"]] if slot["slot_id"] in on_slot else None
            )
            for slot in slots
        },
        "containers": {key: one for key, one in shown.items() if not one["permissionDenied"]},
        "resourcePools": [row["pool"]],
        "addresses": [row["host"]],
        "enabled": row["enabled"],
        "draining": row["draining"],
        "version": VERSION,
        "release": row["version"],
        "slotStats": _slot_stats(slots, on_slot),
    }


def slot_json(slot: asyncpg.Record, container: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": str(slot["slot_id"]),
        "device": _device_json(slot),
        "enabled": slot["enabled"],
        "draining": slot["draining"],
        "container": container,
    }


def _device_json(slot: asyncpg.Record) -> dict[str, Any]:
    return {
        "id": slot["slot_id"],
        "brand": slot["brand"],
        "uuid": slot["uuid"],
        "type": DEVICE_TYPES.get(slot["kind"], "TYPE_UNSPECIFIED"),
    }


def _container_json(
    container: asyncpg.Record, slots: Sequence[asyncpg.Record], visible: Collection[str]
) -> dict[str, Any]:
    denied = container["allocation_id"] not in visible
    return {
        "id": MASKED if denied else container["resources_id"],
        "parent": container["agent_id"],
        "state": CONTAINER_STATES[container["state"]],
        "devices": [_device_json(slot) for slot in slots if slot["slot_id"] in container["slot_ids"]],
        "permissionDenied": denied,
    }


def _slot_stats(slots: Sequence[asyncpg.Record], on_slot: dict[int, asyncpg.Record]) -> dict[str, Any]:
    stats: dict[str, dict[str, Any]] = {"typeStats": {}, "brandStats": {}}
    for slot in slots:
        kinds = (("typeStats", DEVICE_TYPES.get(slot["kind"], "TYPE_UNSPECIFIED")), ("brandStats", slot["brand"]))
        for group, name in kinds:
            entry = stats[group].setdefault(name, {"states": Counter(), "disabled": 0, "draining": 0, "total": 0})
            entry["total"] += 1
            entry["disabled"] += not slot["enabled"]
            entry["draining"] += slot["draining"]
            if slot["slot_id"] in on_slot:
                entry["states"][CONTAINER_STATES[on_slot[slot["slot_id"]]["state"]]] += 1
    return stats


# ---------------------------------------------------------------- allocations and tasks

ALLOCATION_STATES = {
    **{state: f"STATE_{state}" for state in AllocationState},
    AllocationState.ASSIGNED: f"STATE_{Phase.STARTING}",
}


def allocation_json(row: asyncpg.Record) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "allocationId": row["allocation_id"],
        "taskId": row["task_id"],
        "slots": row["slots"],
        "state": ALLOCATION_STATES[row["state"]],
        "isReady": row["state"] == AllocationState.RUNNING,
    }
    if row["started_at"] is not None:
        shown["startTime"] = timestamp(row["started_at"])
    if row["ended_at"] is not None:
        shown |= {"endTime": timestamp(row["ended_at"]), "exitReason": row["why"]}
        if row["exit_code"] is not None:
            shown["statusCode"] = row["exit_code"]
    return shown


def task_json(task_id: str, allocations: Sequence[asyncpg.Record], trial: asyncpg.Record | None) -> dict[str, Any]:
    kind = allocations[0]["task_type"] if allocations else "TRIAL"
    started_at = trial["started_at"] if trial else allocations[0]["requested_at"]
    ends = [row["ended_at"] for row in allocations]
    ended_at = trial["ended_at"] if trial else max(ends) if all(ends) else None
    shown = {
        "taskId": task_id,
        "taskType": f"TASK_TYPE_{kind}",
        "startTime": timestamp(started_at),
        "allocations": [allocation_json(row) for row in allocations],
    }
    if ended_at is not None:
        shown["endTime"] = timestamp(ended_at)
    return shown


def summary_json(
    row: asyncpg.Record, shares: Sequence[asyncpg.Record], slots: Sequence[asyncpg.Record], scheduler: str
) -> dict[str, Any]:
    """An allocation among the cluster's running and waiting ones."""
    return {
        "taskId": row["task_id"],
        "allocationId": row["allocation_id"],
        "name": row["name"],
        "registeredTime": timestamp(row["requested_at"]),
        "resources": [_resources_json(share, slots) for share in shares],
        "slotsNeeded": row["slots"],
        "resourcePool": row["pool"],
        "schedulerType": scheduler,
        "priority": row["priority"],
        "proxyPorts": [],
    }


def _resources_json(share: asyncpg.Record, slots: Sequence[asyncpg.Record]) -> dict[str, Any]:
    devices = [
        _device_json(slot)
        for slot in slots
        if slot["agent_id"] == share["agent_id"] and slot["slot_id"] in share["slot_ids"]
    ]
    shown = {
        "resourcesId": share["resources_id"],
        "allocationId": share["allocation_id"],
        "resourcesType": "docker-container",
        "containerId": share["resources_id"],
        "agentDevices": {share["agent_id"]: {"devices": devices}},
    }
    if share["state"] == ShareState.RUNNING:
        shown["started"] = {"addresses": [], "nativeResourcesId": ""}
    return shown


# ---------------------------------------------------------------- resource pools

POOLS = f"""SELECT pool.name, coalesce(a.agents, 0) AS agents, coalesce(a.slots, 0) AS slots,
    coalesce(a.kind, '') AS kind,
    coalesce(u.used, 0) AS used, coalesce(u.auxiliary, 0) AS auxiliary, coalesce(q.queued, 0) AS queued,
    coalesce(q.scheduled, 0) AS scheduled
FROM (SELECT unnest($1::text[]) AS name UNION SELECT pool FROM read_pools.agents WHERE alive
      UNION SELECT pool FROM read_tasks.allocations WHERE ended_at IS NULL) pool
LEFT JOIN (SELECT a.pool, count(DISTINCT a.agent_id) AS agents, count(s.slot_id) AS slots, max(s.kind) AS kind
           FROM read_pools.agents a LEFT JOIN read_pools.slots s USING (agent_id, pool) WHERE a.alive GROUP BY a.pool) a
    ON a.pool = pool.name
LEFT JOIN (SELECT l.pool, sum(cardinality(p.slot_ids)) AS used,
                  count(*) FILTER (WHERE cardinality(p.slot_ids) = 0) AS auxiliary
           FROM read_tasks.placements p JOIN read_tasks.allocations l USING (allocation_id)
           WHERE l.ended_at IS NULL AND p.state <> '{ShareState.EXITED}' GROUP BY l.pool) u ON u.pool = pool.name
LEFT JOIN (SELECT pool, count(DISTINCT job_id) FILTER (WHERE state = '{AllocationState.QUEUED}') AS queued,
                  count(DISTINCT job_id) FILTER (WHERE state <> '{AllocationState.QUEUED}') AS scheduled
           FROM read_tasks.allocations WHERE ended_at IS NULL GROUP BY pool) q ON q.pool = pool.name
ORDER BY pool.name"""

SCHEDULERS = {
    PolicyName.PRIORITY: "SCHEDULER_TYPE_PRIORITY",
    PolicyName.FAIR_SHARE: "SCHEDULER_TYPE_FAIR_SHARE",
    # The wire has no name for it; clients know this one, and show no priority.
    PolicyName.FIFO: "SCHEDULER_TYPE_ROUND_ROBIN",
}

FITTING = {"best": "FITTING_POLICY_BEST", "worst": "FITTING_POLICY_WORST"}

REMOVED = "not among the pools that the cluster is configured with: work in it waits until the pool is back"

NOT_IN_A_CLOUD = (
    *("agentDockerImage", "agentDockerNetwork", "agentDockerRuntime", "agentFluentImage", "clusterName"),
    *("containerStartupScript", "imageId", "instanceType", "location", "masterCertName"),
    *("masterUrl", "startupScript", "accelerator"),
)


def pool_json(row: asyncpg.Record, settings: ApiSettings) -> dict[str, Any]:
    """A pool that agents or work are in, but the settings no longer name, has the cluster's own settings."""
    name, agents = row["name"], row["agents"]
    pool = settings.pool(name) or ResourcePool(pool_name=name)
    scheduler = settings.scheduler_of(name)
    most = pool.max_aux_containers_per_agent
    return {
        **dict.fromkeys(NOT_IN_A_CLOUD, ""),
        **_elastic_json(pool),
        "name": name,
        "description": pool.description if name in settings.pool_names else REMOVED,
        "numAgents": agents,
        "slotsAvailable": row["slots"],
        "slotsUsed": int(row["used"]),
        "slotType": DEVICE_TYPES.get(row["kind"], "TYPE_UNSPECIFIED"),
        "auxContainerCapacity": most * agents,
        "auxContainerCapacityPerAgent": most,
        "auxContainersRunning": row["auxiliary"],
        "defaultComputePool": name == settings.default_pool,
        "defaultAuxPool": name == settings.aux_pool,
        "preemptible": False,  # of its instances, by a cloud
        "schedulerType": SCHEDULERS[scheduler.type],
        "schedulerFittingPolicy": FITTING[scheduler.fitting_policy],
        "resourceManagerMetadata": {},
        "details": {"aws": None, "gcp": None, "priorityScheduler": _priority_json(scheduler)},
        "stats": stats_json(row),
        "slotsPerAgent": _slots_per_agent(row, pool),
    }


def _elastic_json(pool: ResourcePool) -> dict[str, Any]:
    if (provider := pool.provider) is None:
        fixed = {"minAgents": 0, "maxAgents": 0, "maxIdleAgentPeriod": 0, "maxAgentStartingPeriod": 0}
        return {"type": "RESOURCE_POOL_TYPE_STATIC", **fixed}
    return {
        "type": "RESOURCE_POOL_TYPE_UNSPECIFIED",  # the wire knows static pools and those of clouds
        "minAgents": provider.min_instances,
        "maxAgents": provider.max_instances,
        "maxIdleAgentPeriod": provider.max_idle_agent_period,
        "maxAgentStartingPeriod": provider.max_agent_starting_period,
    }


def _slots_per_agent(row: asyncpg.Record, pool: ResourcePool) -> int:
    if row["agents"]:
        return int(row["slots"] // row["agents"])
    return pool.provider.instance_slots if pool.provider is not None else 0


def _priority_json(scheduler: Scheduler) -> dict[str, Any] | None:
    if scheduler.type != PolicyName.PRIORITY:
        return None
    return {"preemption": scheduler.preemption, "defaultPriority": scheduler.default_priority, "k8Priorities": []}


def stats_json(row: asyncpg.Record) -> dict[str, int]:
    return {"queuedCount": row["queued"], "scheduledCount": row["scheduled"]}
