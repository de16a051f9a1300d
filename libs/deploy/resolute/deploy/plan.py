"""What a supervisor is to keep running: a list of processes, as plain data in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Child:
    """One process. It is started again when it ends by itself, with growing pauses, unless `restart` is off."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict, repr=False)
    """All of its environment."""
    cwd: str = "/"
    log: str = "/dev/null"
    user: str | None = None
    """The system user to run the process as, where the supervisor is root."""
    stop_signal: int = 15
    stop_s: float = 10.0
    """How long it may take to stop before it is killed."""
    restart: bool = True
    stale_pid_file: str | None = None
    """A file the process leaves behind when it is killed and would stumble over: removed unless its pid is alive."""


def dump(children: Sequence[Child]) -> str:
    return json.dumps([asdict(child) for child in children], indent=1)


def load(file: Path) -> list[Child]:
    """In the order of the plan, which is the order of starting; stopping goes the other way."""
    return [Child(**{**found, "argv": tuple(found["argv"])}) for found in json.loads(file.read_text())]


def backoff_s(failures: int) -> float:
    """The pause before the next start, after `failures` ends in quick succession: 0.1 s, doubling, up to 10 s."""
    return float(min(0.1 * 2 ** max(failures - 1, 0), 10.0))
