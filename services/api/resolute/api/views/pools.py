"""Allocations and tasks, as the wire shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from resolute.api.pools.messages import DeviceType
from resolute.api.shown_states import AllocationState, Phase, ShareState
from resolute.api.wire import timestamp

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


def _device_json(slot: asyncpg.Record) -> dict[str, Any]:
    return {
        "id": slot["slot_id"],
        "brand": slot["brand"],
        "uuid": slot["uuid"],
        "type": DeviceType.of(slot["kind"]),
    }
