"""Agents, slots and the containers on them, as answers show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from resolute.api.pools.messages import (
    Agent,
    Container,
    ContainerState,
    Device,
    DeviceStats,
    DeviceType,
    Slot,
    SlotStats,
)
from resolute.api.pools.queries import AgentRow, ContainerRow, SlotRow
from resolute.api.settings import VERSION
from resolute.api.shown_states import ShareState

MASKED = "********"
"""The id of a container that the caller may not see, as Determined's clients know it."""

CONTAINER_STATES: Mapping[ShareState, ContainerState] = {
    ShareState.ASSIGNED: ContainerState.ASSIGNED,
    ShareState.RUNNING: ContainerState.RUNNING,
    ShareState.EXITED: ContainerState.TERMINATED,
}


def agent_shown(
    row: AgentRow, slots: Sequence[SlotRow], containers: Sequence[ContainerRow], visible: Collection[str]
) -> Agent:
    """`slots` and `containers` are those of the agent; `visible` are the allocations that the caller may see. Of the
    containers of other allocations, the answer shows only that they hold their slots."""
    on_slot = {slot_id: container for container in containers for slot_id in container.slot_ids}
    shown = {one.resources_id: _container(one, slots, one.allocation_id in visible) for one in containers}
    holders = {slot_id: shown[container.resources_id] for slot_id, container in on_slot.items()}
    return Agent(
        id=row.agent_id,
        registered_time=row.joined_at,
        slots={str(slot.slot_id): _slot(slot, holders.get(slot.slot_id)) for slot in slots},
        containers={key: one for key, one in shown.items() if not one.permission_denied},
        resource_pools=(row.pool,),
        addresses=(row.host,),
        enabled=row.enabled,
        draining=row.draining,
        version=VERSION,
        release=row.version,
        slot_stats=_stats(slots, holders),
    )


def without_hardware(agent: Agent) -> Agent:
    """For callers who may not see sensitive information about agents: no address, and no identity of a device."""
    slots = {key: _slot_without(slot) for key, slot in agent.slots.items()}
    containers = {key: _container_without(one) for key, one in agent.containers.items()}
    hidden = {"slots": slots, "containers": containers, "addresses": tuple(MASKED for _ in agent.addresses)}
    return agent.model_copy(update=hidden)


def _slot_without(slot: Slot) -> Slot:
    container = slot.container and _container_without(slot.container)
    return slot.model_copy(update={"device": slot.device and _device_without(slot.device), "container": container})


def _container_without(container: Container) -> Container:
    return container.model_copy(update={"devices": tuple(map(_device_without, container.devices))})


def _device_without(device: Device) -> Device:
    return device.model_copy(update={"id": -1, "uuid": MASKED})


def device_shown(slot: SlotRow) -> Device:
    return Device(id=slot.slot_id, brand=slot.brand, uuid=slot.uuid, type=DeviceType.of(slot.kind))


def _slot(slot: SlotRow, container: Container | None) -> Slot:
    return Slot(
        id=str(slot.slot_id),
        device=device_shown(slot),
        enabled=slot.enabled,
        draining=slot.draining,
        container=container,
    )


def _container(row: ContainerRow, slots: Iterable[SlotRow], visible: bool) -> Container:
    return Container(
        id=row.resources_id if visible else MASKED,
        parent=row.agent_id,
        state=CONTAINER_STATES[row.state],
        devices=tuple(device_shown(slot) for slot in slots if slot.slot_id in row.slot_ids),
        permission_denied=not visible,
    )


def _stats(slots: Sequence[SlotRow], holders: Mapping[int, Container]) -> SlotStats:
    kinds = [DeviceType.of(slot.kind).value for slot in slots]
    brands = [slot.brand for slot in slots]
    return SlotStats(type_stats=_by(kinds, slots, holders), brand_stats=_by(brands, slots, holders))


def _by(names: Sequence[str], slots: Sequence[SlotRow], holders: Mapping[int, Container]) -> dict[str, DeviceStats]:
    """`names`: those of the slots, in their order."""
    groups: dict[str, list[SlotRow]] = {}
    for name, slot in zip(names, slots, strict=True):
        groups.setdefault(name, []).append(slot)
    return {name: _counted(group, holders) for name, group in groups.items()}


def _counted(slots: Sequence[SlotRow], holders: Mapping[int, Container]) -> DeviceStats:
    return DeviceStats(
        total=len(slots),
        disabled=sum(not slot.enabled for slot in slots),
        draining=sum(slot.draining for slot in slots),
        states=Counter(holders[slot.slot_id].state.value for slot in slots if slot.slot_id in holders),
    )
