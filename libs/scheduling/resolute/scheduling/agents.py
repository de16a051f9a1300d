"""One agent, as its pool sees it: slots, which of them are held, and whether work may be placed there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from resolute.proto.pool import Slot


@dataclass(frozen=True, slots=True)
class Agent:
    id: str
    slots: Mapping[int, Slot] = field(default_factory=dict)
    host: str = ""
    version: str = ""
    present: bool = False
    enabled: bool = True
    draining: bool = False
    """Whether it was disabled to let what it runs end by itself."""
    disabled_slots: frozenset[int] = frozenset()
    draining_slots: frozenset[int] = frozenset()
    """Those of them that were disabled so."""
    held: Mapping[int, str] = field(default_factory=dict)
    """Allocation ids by slot id."""
    shares: Mapping[str, str] = field(default_factory=dict)
    """Allocation ids by resources_id, of all that is placed here, with or without slots."""

    @property
    def usable(self) -> frozenset[int]:
        """Slots that work may be placed on, held or not."""
        if not (self.present and self.enabled):
            return frozenset()
        return frozenset(self.slots) - self.disabled_slots

    @property
    def free(self) -> frozenset[int]:
        return self.usable - frozenset(self.held)

    @property
    def zero_slot_tasks(self) -> int:
        return len(set(self.shares.values()) - set(self.held.values()))


def hold(agent: Agent, resources_id: str, allocation_id: str, slot_ids: Iterable[int]) -> Agent:
    taken = dict.fromkeys(slot_ids, allocation_id)
    assert not taken.keys() & agent.held.keys(), f"{agent.id}: a slot of {sorted(taken)} is held already"
    return replace(agent, held={**agent.held, **taken}, shares={**agent.shares, resources_id: allocation_id})


def release(agent: Agent, resources_id: str, slot_ids: Iterable[int]) -> Agent:
    freed = frozenset(slot_ids)
    return replace(
        agent,
        held={slot: holder for slot, holder in agent.held.items() if slot not in freed},
        shares={share: holder for share, holder in agent.shares.items() if share != resources_id},
    )


def joined(agent: Agent | None, agent_id: str, slots: Iterable[Slot], host: str, version: str) -> Agent:
    """What its operators switched off stays off, and what it runs stays its own."""
    known = agent or Agent(agent_id)
    return replace(known, slots={slot.id: slot for slot in slots}, host=host, version=version, present=True)


def slot_enabled(agent: Agent, slot_id: int) -> Agent:
    off, draining = agent.disabled_slots - {slot_id}, agent.draining_slots - {slot_id}
    return replace(agent, disabled_slots=off, draining_slots=draining)


def slot_disabled(agent: Agent, slot_id: int, drain: bool) -> Agent:
    draining = agent.draining_slots | {slot_id} if drain else agent.draining_slots - {slot_id}
    return replace(agent, disabled_slots=agent.disabled_slots | {slot_id}, draining_slots=draining)
