"""Leases: when each agent last sent a message, by a clock whose time is passed in by the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Leases:
    """Not in the log: a heartbeat is no decision, and a scheduler that restarts grants everybody a fresh lease."""

    wait_s: Mapping[str, float]
    """By pool: an agent silent for longer is lost. May grow."""
    heard_s: dict[tuple[str, str], float] = field(default_factory=dict)
    """By (pool, agent id)."""
    _looked_s: float | None = None

    def hear(self, pool: str, agent_id: str, now_s: float) -> None:
        if pool in self.wait_s:
            self.heard_s[pool, agent_id] = now_s

    def pools_of(self, agent_id: str) -> list[str]:
        """The pools in which the agent has sent messages, and has not been lost since."""
        return [pool for pool in self.wait_s if (pool, agent_id) in self.heard_s]

    def forget(self, pool: str, agent_id: str) -> None:
        self.heard_s.pop((pool, agent_id), None)

    def look(self, now_s: float, expected_pause_s: float) -> None:
        """Called at every tick. After a time in which this process itself did not run (stopped, swapped
        out), no agent counts as silent."""
        if self._looked_s is not None:
            missed_s = now_s - self._looked_s - expected_pause_s
            if missed_s > expected_pause_s:
                self.extend(missed_s)
        self._looked_s = now_s

    def extend(self, by_s: float) -> None:
        self.heard_s = {who: at_s + by_s for who, at_s in self.heard_s.items()}

    def doubtful(self, now_s: float) -> bool:
        """Whether some agent has been silent for long enough to ask whether it is the bus that is away."""
        return any(now_s - at_s > self.wait_s[pool] / 4 for (pool, _), at_s in self.heard_s.items())

    def renew(self, now_s: float) -> None:
        self.heard_s = dict.fromkeys(self.heard_s, now_s)

    def expired(self, now_s: float) -> list[tuple[str, str, float]]:
        """(pool, agent id, seconds of silence)."""
        return [
            (pool, agent_id, now_s - at_s)
            for (pool, agent_id), at_s in self.heard_s.items()
            if now_s - at_s > self.wait_s[pool]
        ]
