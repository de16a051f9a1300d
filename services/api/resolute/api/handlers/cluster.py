"""The cluster's hardware: agents, their slots, resource pools."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import asyncpg

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.routing import ADMIN, SIGNED_IN, Route
from resolute.api.views.listing import OF_EXPERIMENT, Where, listed, order_by
from resolute.api.views.pools import AGENTS, CONTAINERS, POOLS, SLOTS, agent_json, pool_json
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.pool import DisableAgent, DisableSlot, EnableAgent, EnableSlot, SchedulerCommand

SORT = {"SORT_BY_ID": "agent_id", "SORT_BY_TIME": "joined_at"}


async def get_agents(call: Call) -> dict[str, Any]:
    """The agents that are there, with slots and what runs on them."""
    where = Where(call.outside)
    where.plain("alive")
    order = order_by(call, SORT, "agent_id", tie="agent_id")
    rows, page = await listed(call, AGENTS, "SELECT count(*) FROM read_pools.agents", where, order)
    agents = await _agents(call, rows)
    for agent in agents:
        if call.query.flag("excludeSlots"):
            agent["slots"] = {}
        if call.query.flag("excludeContainers"):
            agent["containers"] = {}
    return {"agents": agents, "pagination": page.as_json()}


async def _agents(call: Call, rows: Any) -> list[dict[str, Any]]:
    ids = [row["agent_id"] for row in rows]
    slots = await call.gateway.read.rows(SLOTS, ids)
    containers = await call.gateway.read.rows(CONTAINERS, ids)

    def of(row: asyncpg.Record, parts: list[asyncpg.Record]) -> list[asyncpg.Record]:
        return [part for part in parts if part["agent_id"] == row["agent_id"]]

    visible = await _visible(call, containers)
    return [agent_json(row, of(row, slots), of(row, containers), visible) for row in rows]


async def _visible(call: Call, containers: list[asyncpg.Record]) -> Collection[str]:
    """The allocations of `containers` whose names the caller may see."""
    allocations, scope = [container["allocation_id"] for container in containers], call.scope_of("task.view")
    if scope.is_everything:
        return allocations
    where = Where(scope, OF_EXPERIMENT.format("experiment_id"))
    where.add("allocation_id = ANY(?::text[])", allocations)
    rows = await call.gateway.read.rows(f"SELECT allocation_id FROM read_tasks.allocations{where.sql}", *where.args)
    return {row["allocation_id"] for row in rows}


async def _agent_row(call: Call) -> asyncpg.Record:
    agent_id = call.path["agentId"]
    row = await call.gateway.read.row(f"{AGENTS} WHERE alive AND agent_id = $1", agent_id)
    if row is None:
        raise NotFound(f"agent {agent_id} not found")
    return row


async def _agent(call: Call) -> dict[str, Any]:
    return (await _agents(call, [await _agent_row(call)]))[0]


async def _slot(call: Call) -> dict[str, Any]:
    slots: dict[str, dict[str, Any]] = (await _agent(call))["slots"]
    slot = slots.get(str(_slot_id(call)))
    if slot is None:
        raise NotFound(f"slot {call.path['slotId']} of agent {call.path['agentId']} not found")
    return slot


def _slot_id(call: Call) -> int:
    text = call.path["slotId"]
    if not text.isdecimal():
        raise InvalidConfig(f"slotId: {text!r} is not a slot's number")
    return int(text)


async def get_agent(call: Call) -> dict[str, Any]:
    """One agent."""
    return {"agent": await _agent(call)}


async def get_slots(call: Call) -> dict[str, Any]:
    """An agent's slots."""
    return {"slots": list((await _agent(call))["slots"].values())}


async def get_slot(call: Call) -> dict[str, Any]:
    """One slot."""
    return {"slot": await _slot(call)}


async def enable_agent(call: Call) -> dict[str, Any]:
    """Let work start on an agent again."""
    return await _on_agent(call, lambda pool, agent: EnableAgent(pool, agent))


async def disable_agent(call: Call) -> dict[str, Any]:
    """Start nothing more on an agent, and end what runs there; `drain` lets it end by itself."""
    return await _on_agent(call, lambda pool, agent: DisableAgent(pool, agent, drain=bool(call.body.get("drain"))))


async def enable_slot(call: Call) -> dict[str, Any]:
    """Let work start on a slot again."""
    return await _on_slot(call, lambda pool, agent: EnableSlot(pool, agent, _slot_id(call)))


async def disable_slot(call: Call) -> dict[str, Any]:
    """Start nothing more on a slot, and end what holds it; `drain` lets it end by itself."""
    drain = bool(call.body.get("drain"))
    return await _on_slot(call, lambda pool, agent: DisableSlot(pool, agent, _slot_id(call), drain=drain))


Make = Callable[[str, str], SchedulerCommand]


async def _on_agent(call: Call, make: Make) -> dict[str, Any]:
    row = await _agent_row(call)
    await call.send(make(row["pool"], row["agent_id"]))
    return {"agent": await _agent(call)}


async def _on_slot(call: Call, make: Make) -> dict[str, Any]:
    await _slot(call)
    row = await _agent_row(call)
    await call.send(make(row["pool"], row["agent_id"]))
    return {"slot": await _slot(call)}


async def get_resource_pools(call: Call) -> dict[str, Any]:
    """The resource pools, with what they have and what they do."""
    settings = call.gateway.settings
    rows = await call.gateway.read.rows(POOLS, settings.pool_names)
    page = wire.page_of(len(rows), offset=call.query.number("offset"), limit=call.query.number("limit"))
    return {
        "resourcePools": [pool_json(row, settings) for row in wire.cut(rows, page)],
        "pagination": page.as_json(),
    }


VIEW = SIGNED_IN.to("cluster.view").outside().showing("task.view")
EDIT = ADMIN.to("cluster.edit").outside().showing("task.view")
AGENT = "/api/v1/agents/{agentId}"
SLOT = f"{AGENT}/slots/{{slotId}}"

ROUTES = (
    Route("GetAgents", "GET", "/api/v1/agents", get_agents, VIEW),
    Route("GetAgent", "GET", AGENT, get_agent, VIEW),
    Route("GetSlots", "GET", f"{AGENT}/slots", get_slots, VIEW),
    Route("GetSlot", "GET", SLOT, get_slot, VIEW),
    Route("EnableAgent", "POST", f"{AGENT}/enable", enable_agent, EDIT),
    Route("DisableAgent", "POST", f"{AGENT}/disable", disable_agent, EDIT),
    Route("EnableSlot", "POST", f"{SLOT}/enable", enable_slot, EDIT),
    Route("DisableSlot", "POST", f"{SLOT}/disable", disable_slot, EDIT),
    Route("GetResourcePools", "GET", "/api/v1/resource-pools", get_resource_pools, VIEW),
)
