"""Leases of agents: a message of an agent renews its lease, and an agent whose lease has run out is lost.

Times are in seconds of a monotonic clock, and are passed in. Gray and Cheriton, "Leases", SOSP 1989.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Leases:
    """The leases that one scheduler knows. They are not in the log: a heartbeat decides nothing, and a scheduler that
    starts again gives every agent a fresh lease."""

    wait_s: Mapping[str, float]
    """By pool: the length of a lease. The owner may add pools."""
    renewed_s: dict[tuple[str, str], float] = field(default_factory=dict)
    """By (pool, agent id): when the last message came."""
    _ticked_s: float | None = None

    def renew(self, pool: str, agent_id: str, now_s: float) -> None:
        """A message of the agent has come. Ignored for a pool that the scheduler does not know."""
        if pool in self.wait_s:
            self.renewed_s[pool, agent_id] = now_s

    def pools_of(self, agent_id: str) -> list[str]:
        """The pools in which the agent has sent messages, and has not been lost since."""
        return [pool for pool in self.wait_s if (pool, agent_id) in self.renewed_s]

    def forget(self, pool: str, agent_id: str) -> None:
        self.renewed_s.pop((pool, agent_id), None)

    def tick(self, now_s: float, expected_pause_s: float) -> None:
        """Called at every tick, `expected_pause_s` after the last one. When much more time has passed, this process did
        not run (it was stopped, or swapped out) and could not receive: the leases are extended by that time."""
        if self._ticked_s is not None:
            missed_s = now_s - self._ticked_s - expected_pause_s
            if missed_s > expected_pause_s:
                self.extend(missed_s)
        self._ticked_s = now_s

    def extend(self, by_s: float) -> None:
        self.renewed_s = {key: at_s + by_s for key, at_s in self.renewed_s.items()}

    def doubtful(self, now_s: float) -> bool:
        """Whether an agent has sent nothing for a quarter of its lease: time to check whether the bus is away."""
        return any(now_s - at_s > self.wait_s[pool] / 4 for (pool, _), at_s in self.renewed_s.items())

    def renew_all(self, now_s: float) -> None:
        self.renewed_s = dict.fromkeys(self.renewed_s, now_s)

    def expired(self, now_s: float) -> list[tuple[str, str, float]]:
        """The agents whose leases have run out: (pool, agent id, seconds since the last message)."""
        return [
            (pool, agent_id, now_s - at_s)
            for (pool, agent_id), at_s in self.renewed_s.items()
            if now_s - at_s > self.wait_s[pool]
        ]
