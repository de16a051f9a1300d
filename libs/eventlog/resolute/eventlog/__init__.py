"""The append-only event log: Postgres for clusters, memory for simulations, one contract for both."""

from __future__ import annotations

from resolute.eventlog.log import Appended, EventLog, Snapshot
from resolute.eventlog.memory import MemoryEventLog

__all__ = ["Appended", "EventLog", "MemoryEventLog", "Snapshot"]
