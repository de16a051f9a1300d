"""The append-only event log: Postgres for clusters, memory for simulations, one contract for both."""

from __future__ import annotations

from resolute.eventlog.log import Appended, Aside, EventLog, Snapshot, Sought
from resolute.eventlog.memory import MemoryEventLog

__all__ = ["Appended", "Aside", "EventLog", "MemoryEventLog", "Snapshot", "Sought"]
