"""The bus between the services: NATS for clusters, memory for simulations, one contract for both."""

from __future__ import annotations

from resolute.bus.bus import Bus, CommandHandler, Subscription
from resolute.bus.memory import Faults, MemoryBus

__all__ = ["Bus", "CommandHandler", "Faults", "MemoryBus", "Subscription"]
