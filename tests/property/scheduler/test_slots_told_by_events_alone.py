"""Who holds which slot, read from the log alone, whatever the scheduler thinks: nobody before the last one has gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import hypothesis

from resolute.proto.message import Event
from resolute.proto.pool import (
    AgentDisabled,
    AgentEnabled,
    AgentJoined,
    AgentLost,
    ResourcesExited,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
)
from resolute.scheduling.policies import Policy
from tests.property.scheduler.test_promises_of_a_pool import POLICIES, SCRIPTS, Script, told

Slot = tuple[str, int]


class Host:
    """One agent, as the log tells it."""

    def __init__(self) -> None:
        self.slots: set[int] = set()
        self.present, self.enabled = False, True
        self.off: set[int] = set()

    def takes(self, slot: int) -> bool:
        return self.present and self.enabled and slot in self.slots and slot not in self.off


def held_after(events: Iterable[Event]) -> Iterator[dict[Slot, str]]:
    """After every event, the share that holds each slot. Asserts that a slot is free when it is given."""
    hosts: dict[str, Host] = {}
    held: dict[Slot, str] = {}
    for event in events:
        match event:
            case AgentJoined(agent_id=agent_id, slots=slots):
                host = hosts.setdefault(agent_id, Host())
                host.slots, host.present = {slot.id for slot in slots}, True
            case AgentLost(agent_id=agent_id):
                hosts[agent_id].present = False
            case AgentEnabled(agent_id=agent_id) | AgentDisabled(agent_id=agent_id):
                hosts[agent_id].enabled = isinstance(event, AgentEnabled)
            case SlotEnabled(agent_id=agent_id, slot_id=slot_id):
                hosts[agent_id].off.discard(slot_id)
            case SlotDisabled(agent_id=agent_id, slot_id=slot_id):
                hosts[agent_id].off.add(slot_id)
            case SlotsAssigned():
                for place in event.placements:
                    for slot in place.slot_ids:
                        holder = held.setdefault((place.agent_id, slot), place.resources_id)
                        assert holder == place.resources_id, f"slot {slot} of {place.agent_id} is held by {holder}"
                        assert hosts[place.agent_id].takes(slot), f"slot {slot} of {place.agent_id} takes no work"
            case ResourcesExited(resources_id=resources_id):
                held = {slot: holder for slot, holder in held.items() if holder != resources_id}
        yield held


@hypothesis.given(SCRIPTS, POLICIES)
def test_slots_are_given_on_only_after_the_share_that_held_them_has_exited(script: Script, policy: Policy) -> None:
    for _ in held_after(told(script, policy).events):
        pass


@hypothesis.given(SCRIPTS, POLICIES)
def test_the_log_and_the_pool_agree_about_who_holds_what(script: Script, policy: Policy) -> None:
    story = told(script, policy)
    assert [{}, *held_after(story.events)][-1] == {
        (share.placement.agent_id, slot): share.placement.resources_id
        for allocation in story.pool.allocations.values()
        for share in allocation.shares.values()
        if not share.exited
        for slot in share.placement.slot_ids
    }
