"""Agents and their slots in each pool, and the workspaces that pools are bound to: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.bindings import PoolBound, PoolUnbound
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AgentDisabled, AgentEnabled, AgentJoined, AgentLost, SlotDisabled, SlotEnabled


@dataclass(frozen=True, slots=True)
class Agent:
    agent_id: str
    pool: str
    host: str
    version: str
    enabled: bool
    draining: bool
    alive: bool
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class Slot:
    agent_id: str
    pool: str
    slot_id: int
    kind: str
    brand: str
    uuid: str
    enabled: bool
    draining: bool


@dataclass(frozen=True, slots=True)
class Binding:
    pool: str
    workspace_id: int


AGENTS = Table("agents", Agent, key=("agent_id", "pool"))

SLOTS = Table("slots", Slot, key=("agent_id", "pool", "slot_id"), lookups=("agent_id",))

BINDINGS = Table("bindings", Binding, key=("pool", "workspace_id"))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _joined(joined: AgentJoined, recorded: Recorded, rows: Rows) -> None:
    """An agent that joins again is as enabled as it was, and so are those of its slots that it still has."""
    agent_id, pool = joined.agent_id, recorded.key
    before = rows.get(AGENTS, agent_id, pool)
    enabled, draining = (before.enabled, before.draining) if before is not None else (True, False)
    at = recorded.recorded_at
    rows.put(AGENTS, Agent(agent_id, pool, joined.host, joined.version, enabled, draining, alive=True, joined_at=at))
    _slots_joined(joined, pool, rows)


def _slots_joined(joined: AgentJoined, pool: str, rows: Rows) -> None:
    known = {slot.slot_id: slot for slot in rows.where(SLOTS, "agent_id", joined.agent_id) if slot.pool == pool}
    for slot_id in known.keys() - {slot.id for slot in joined.slots}:
        rows.remove(SLOTS, joined.agent_id, pool, slot_id)
    for slot in joined.slots:
        before = known.get(slot.id)
        enabled, draining = (before.enabled, before.draining) if before is not None else (True, False)
        rows.put(SLOTS, Slot(joined.agent_id, pool, slot.id, slot.kind, slot.brand, slot.uuid, enabled, draining))


def _lost(lost: AgentLost, recorded: Recorded, rows: Rows) -> None:
    rows.change(AGENTS, lost.agent_id, recorded.key, alive=False)


def _enabled(enabled: AgentEnabled, recorded: Recorded, rows: Rows) -> None:
    rows.change(AGENTS, enabled.agent_id, recorded.key, enabled=True, draining=False)


def _disabled(disabled: AgentDisabled, recorded: Recorded, rows: Rows) -> None:
    rows.change(AGENTS, disabled.agent_id, recorded.key, enabled=False, draining=disabled.drain)


def _slot_enabled(enabled: SlotEnabled, recorded: Recorded, rows: Rows) -> None:
    rows.change(SLOTS, enabled.agent_id, recorded.key, enabled.slot_id, enabled=True, draining=False)


def _slot_disabled(disabled: SlotDisabled, recorded: Recorded, rows: Rows) -> None:
    rows.change(SLOTS, disabled.agent_id, recorded.key, disabled.slot_id, enabled=False, draining=disabled.drain)


def _bound(bound: PoolBound, recorded: Recorded, rows: Rows) -> None:
    rows.put(BINDINGS, Binding(bound.pool, bound.workspace_id))


def _unbound(unbound: PoolUnbound, recorded: Recorded, rows: Rows) -> None:
    rows.remove(BINDINGS, unbound.pool, unbound.workspace_id)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    AgentJoined: _joined,
    AgentLost: _lost,
    AgentEnabled: _enabled,
    AgentDisabled: _disabled,
    SlotEnabled: _slot_enabled,
    SlotDisabled: _slot_disabled,
    PoolBound: _bound,
    PoolUnbound: _unbound,
}

PROJECTION = Projection(
    slice="pools",
    version=2,
    tables=(AGENTS, SLOTS, BINDINGS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.POOL.name, streams.BINDINGS.name}),
    project=project,
    ids={"agentId": (AGENTS, "agent_id"), "slotId": (SLOTS, "slot_id")},
)
