"""How agents are shown to callers who may not see sensitive information about them."""

from __future__ import annotations

from datetime import UTC, datetime

from resolute.api.pools.queries import AgentRow, ContainerRow, SlotRow
from resolute.api.pools.shown import MASKED, agent_shown, without_hardware
from resolute.api.shown_states import ShareState

AGENT = AgentRow("a", "main", "host-1", "1.0", enabled=True, draining=False, joined_at=datetime(2026, 1, 1, tzinfo=UTC))
SLOT = SlotRow("a", 0, "cuda", "A100", "GPU-0", enabled=True, draining=False)
CONTAINER = ContainerRow("c", "a", "allocation", (0,), ShareState.RUNNING)


def test_addresses_and_devices_are_masked_and_what_is_busy_is_not() -> None:
    shown = agent_shown(AGENT, [SLOT], [CONTAINER], {"allocation"})
    masked = without_hardware(shown)
    assert (masked.id, masked.addresses, masked.resource_pools) == ("a", (MASKED,), ("main",))
    container = masked.slots["0"].container
    assert container is not None
    for device in (masked.slots["0"].device, container.devices[0], masked.containers["c"].devices[0]):
        assert device is not None
        assert (device.id, device.brand, device.uuid) == (-1, "A100", MASKED)
    assert masked.slot_stats == shown.slot_stats
    assert "host-1" not in masked.model_dump_json()
    assert "GPU-0" not in masked.model_dump_json()
