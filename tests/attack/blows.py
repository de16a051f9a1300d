"""The blows of one attack, drawn from a seed: plain data, so that a seed is a complete report of what was done."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What is done to the cluster."""

    KILL = "killed with SIGKILL"
    FREEZE = "stopped with SIGSTOP and continued"
    CUT = "TCP connections to it reset, again and again for a while"
    WIPE = "NATS killed and its store deleted"
    KILL_TASK = "one training process killed with SIGKILL"
    POWER = "every process of the cluster killed at once, then started again"


SERVICES = ("api", "directory", "searcher", "tasks", "scheduler", "checkpoint", "relay")
KILLED = (*SERVICES, "agent-1", "agent-2", "nats", "postgres")
FROZEN = (*SERVICES, "agent-1", "agent-2", "nats")
CUT = ("api", "nats")
WEIGHTS = {Kind.KILL: 60, Kind.FREEZE: 14, Kind.CUT: 10, Kind.WIPE: 6, Kind.KILL_TASK: 6, Kind.POWER: 4}
"""How often a kind is drawn, of a hundred."""
FREEZE_MAX_S = 4.0
"""Well below the time after which an agent counts as lost: a frozen process is to be forgiven."""
PAUSE_MAX_S = 1.5


@dataclass(frozen=True, slots=True)
class Blow:
    """`after_s` is the pause before it; `hold_s` is how long a freeze or a cut lasts."""

    kind: Kind
    victim: str
    after_s: float
    hold_s: float = 0.0

    def __str__(self) -> str:
        held = f" for {self.hold_s:.1f} s" if self.hold_s else ""
        return f"{self.victim}: {self.kind.value}{held}"


def blows(seed: int, count: int) -> Iterator[Blow]:
    """The same `count` blows for the same seed; a longer attack begins with the blows of a shorter one."""
    chance = random.Random(f"attack {seed}")
    for _ in range(count):
        yield _drawn(chance)


def _drawn(chance: random.Random) -> Blow:
    kind = chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
    victims = {Kind.KILL: KILLED, Kind.FREEZE: FROZEN, Kind.CUT: CUT, Kind.WIPE: ("nats",)}
    victim = chance.choice(victims.get(kind, ("the cluster" if kind is Kind.POWER else "a task",)))
    hold_s = round(chance.uniform(0.3, FREEZE_MAX_S), 2) if kind in (Kind.FREEZE, Kind.CUT) else 0.0
    return Blow(kind, victim, after_s=round(chance.uniform(0.0, PAUSE_MAX_S), 2), hold_s=hold_s)
