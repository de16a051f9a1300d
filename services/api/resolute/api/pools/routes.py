"""Agents, their slots, and resource pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from resolute.api.call import Call
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.pools.available import AVAILABLE
from resolute.api.pools.messages import (
    Agent,
    AgentAnswer,
    AgentsAnswer,
    DisableAgent,
    DisabledAgentAnswer,
    DisabledSlotAnswer,
    DisableSlot,
    EnableAgent,
    EnabledAgentAnswer,
    EnabledSlotAnswer,
    EnableSlot,
    GetAgent,
    GetAgents,
    GetResourcePools,
    GetSlot,
    GetSlots,
    ResourcePoolsAnswer,
    Slot,
    SlotAnswer,
    SlotsAnswer,
)
from resolute.api.pools.queries import QUERIES, AgentRow, PoolQueries
from resolute.api.pools.resource_pools import get_resource_pools
from resolute.api.pools.shown import agent_shown, without_hardware
from resolute.api.routing import ADMIN, SIGNED_IN
from resolute.proto import pool as commands
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.pool import SchedulerCommand


async def get_agents(call: Call, request: GetAgents) -> AgentsAnswer:
    """The agents that are there, with slots and what runs on them."""
    found = await _queries(call).agents(
        call.outside,
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
    agents = await _shown(call, found.rows)
    return AgentsAnswer(
        agents=tuple(_without(agent, request) for agent in agents), pagination=Pagination.of(found.page)
    )


async def get_agent(call: Call, request: GetAgent) -> AgentAnswer:
    """One agent."""
    return AgentAnswer(agent=await _agent(call, request.agent_id))


async def get_slots(call: Call, request: GetSlots) -> SlotsAnswer:
    """An agent's slots."""
    return SlotsAnswer(slots=tuple((await _agent(call, request.agent_id)).slots.values()))


async def get_slot(call: Call, request: GetSlot) -> SlotAnswer:
    """One slot."""
    return SlotAnswer(slot=await _slot(call, request))


async def enable_agent(call: Call, request: EnableAgent) -> EnabledAgentAnswer:
    """Let work start on an agent again."""
    return EnabledAgentAnswer(agent=await _changed_agent(call, request.agent_id, commands.EnableAgent))


async def disable_agent(call: Call, request: DisableAgent) -> DisabledAgentAnswer:
    """Start nothing more on an agent, and end what runs there; `drain` lets it end by itself."""
    drain = request.body.drain
    agent = await _changed_agent(
        call, request.agent_id, lambda pool, agent_id: commands.DisableAgent(pool, agent_id, drain=drain)
    )
    return DisabledAgentAnswer(agent=agent)


async def enable_slot(call: Call, request: EnableSlot) -> EnabledSlotAnswer:
    """Let work start on a slot again."""
    return EnabledSlotAnswer(slot=await _changed_slot(call, request, commands.EnableSlot))


async def disable_slot(call: Call, request: DisableSlot) -> DisabledSlotAnswer:
    """Start nothing more on a slot, and end what holds it; `drain` lets it end by itself."""
    drain = request.body.drain
    slot = await _changed_slot(
        call, request, lambda pool, agent_id, slot_id: commands.DisableSlot(pool, agent_id, slot_id, drain=drain)
    )
    return DisabledSlotAnswer(slot=slot)


# ---------------------------------------------------------------- agents and slots


def _queries(call: Call) -> PoolQueries:
    return call.gateway.ports.of(QUERIES)


async def _shown(call: Call, rows: Sequence[AgentRow]) -> list[Agent]:
    queries, agents = _queries(call), [row.agent_id for row in rows]
    slots, containers = await queries.slots(agents), await queries.containers(agents)
    allocations = [container.allocation_id for container in containers]
    visible = await queries.allocations_within(call.scope_of("task.view"), allocations)
    agents_shown = [
        agent_shown(
            row,
            [slot for slot in slots if slot.agent_id == row.agent_id],
            [container for container in containers if container.agent_id == row.agent_id],
            visible,
        )
        for row in rows
    ]
    if call.scope_of(HARDWARE).is_everything:
        return agents_shown
    return [without_hardware(agent) for agent in agents_shown]


def _without(agent: Agent, request: GetAgents) -> Agent:
    """The agent without what the request excludes."""
    slots = {} if request.exclude_slots else agent.slots
    containers = {} if request.exclude_containers else agent.containers
    return agent.model_copy(update={"slots": slots, "containers": containers})


async def _row(call: Call, agent_id: str) -> AgentRow:
    row = await _queries(call).agent(agent_id)
    if row is None:
        raise NotFound(f"agent {agent_id} not found")
    return row


async def _agent(call: Call, agent_id: str) -> Agent:
    return (await _shown(call, [await _row(call, agent_id)]))[0]


async def _slot(call: Call, request: GetSlot | EnableSlot | DisableSlot) -> Slot:
    agent = await _agent(call, request.agent_id)
    slot = agent.slots.get(str(_number(request.slot_id)))
    if slot is None:
        raise NotFound(f"slot {request.slot_id} of agent {request.agent_id} not found")
    return slot


def _number(slot_id: str) -> int:
    if not slot_id.isdecimal():
        raise InvalidConfig(f"slotId: {slot_id!r} is not a slot's number")
    return int(slot_id)


async def _changed_agent(call: Call, agent_id: str, make: Callable[[str, str], SchedulerCommand]) -> Agent:
    row = await _row(call, agent_id)
    await call.send(make(row.pool, row.agent_id))
    return await _agent(call, agent_id)


async def _changed_slot(
    call: Call, request: EnableSlot | DisableSlot, make: Callable[[str, str, int], SchedulerCommand]
) -> Slot:
    await _slot(call, request)
    row = await _row(call, request.agent_id)
    await call.send(make(row.pool, row.agent_id, _number(request.slot_id)))
    return await _slot(call, request)


HARDWARE = "cluster.agents.hardware.view"
VIEW = SIGNED_IN.to("cluster.view").outside().showing("task.view").showing(HARDWARE)
VIEW_POOLS = SIGNED_IN.to("cluster.view").outside().showing("workspace.view")
EDIT = ADMIN.to("cluster.agents.edit").outside().showing("task.view").showing(HARDWARE)
AGENT = "/api/v1/agents/{agentId}"
SLOT = f"{AGENT}/slots/{{slotId}}"
TAG = "Cluster"

ROUTES = (
    *AVAILABLE,
    operation(
        "GetAgents", "GET", "/api/v1/agents", get_agents, VIEW, request=GetAgents, response=AgentsAnswer, tag=TAG
    ),
    operation("GetAgent", "GET", AGENT, get_agent, VIEW, request=GetAgent, response=AgentAnswer, tag=TAG),
    operation("GetSlots", "GET", f"{AGENT}/slots", get_slots, VIEW, request=GetSlots, response=SlotsAnswer, tag=TAG),
    operation("GetSlot", "GET", SLOT, get_slot, VIEW, request=GetSlot, response=SlotAnswer, tag=TAG),
    operation(
        "EnableAgent",
        "POST",
        f"{AGENT}/enable",
        enable_agent,
        EDIT,
        request=EnableAgent,
        response=EnabledAgentAnswer,
        tag=TAG,
    ),
    operation(
        "DisableAgent",
        "POST",
        f"{AGENT}/disable",
        disable_agent,
        EDIT,
        request=DisableAgent,
        response=DisabledAgentAnswer,
        tag=TAG,
    ),
    operation(
        "EnableSlot",
        "POST",
        f"{SLOT}/enable",
        enable_slot,
        EDIT,
        request=EnableSlot,
        response=EnabledSlotAnswer,
        tag=TAG,
    ),
    operation(
        "DisableSlot",
        "POST",
        f"{SLOT}/disable",
        disable_slot,
        EDIT,
        request=DisableSlot,
        response=DisabledSlotAnswer,
        tag=TAG,
    ),
    operation(
        "GetResourcePools",
        "GET",
        "/api/v1/resource-pools",
        get_resource_pools,
        VIEW_POOLS,
        request=GetResourcePools,
        response=ResourcePoolsAnswer,
        tag="Internal",
    ),
)
