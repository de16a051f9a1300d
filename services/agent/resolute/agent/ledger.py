"""The ledger: what the agent keeps on disk about its tasks: which there are, how far their logs are stored, whose end
is known.

One small file a task, written whole or not at all. It holds no secret. Losing the last write costs a repetition:
a line or a report sent twice counts once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import structlog

from resolute import codec
from resolute.agent.runtime import Exit
from resolute.proto.pool import StartTask

log_ = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Entry:
    """One share of an allocation on this agent."""

    resources_id: str
    allocation_id: str
    task_id: str
    run_id: int
    rank: int
    slot_ids: tuple[int, ...]
    pool: str = ""
    """That of the allocation; empty where an agent of an earlier release wrote this: the agent's own."""
    stop_reason: str = ""
    mark: int = 0
    """Up to where its output is stored."""
    lines: int = 0
    """How many lines that is."""
    last_words: str = ""
    """What its log is to say of its end, until that is stored."""
    found: Exit | None = None
    """How it ended, as soon as that is known."""
    reported_at_s: float | None = None
    """When the scheduler had recorded its end, in seconds since the epoch."""


def entry_for(order: StartTask, pool: str) -> Entry:
    """`pool`: that of the agent as it is given the order; a later agent over this ledger may be in another one."""
    placement, spec = order.placement, order.spec
    return Entry(
        placement.resources_id, spec.allocation_id, spec.task_id, spec.run_id, order.rank, placement.slot_ids, pool
    )  # fmt: skip


class Ledger:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder

    def load(self) -> list[Entry]:
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                found.append(codec.from_bytes(Entry, path.read_bytes()))
            except codec.Undecodable as error:
                log_.error("unreadable ledger entry, set aside", path=str(path), why=error.message)
                path.rename(path.with_suffix(".unreadable"))
        return found

    def write(self, entry: Entry) -> None:
        """Raises OSError when it cannot be kept; what was kept before stands."""
        path = self._path(entry.resources_id)
        new = path.with_suffix(".new")
        new.write_bytes(codec.to_bytes(entry))
        os.replace(new, path)

    def remove(self, resources_id: str) -> None:
        self._path(resources_id).unlink(missing_ok=True)

    def _path(self, resources_id: str) -> Path:
        return self._folder / f"{resources_id}.json"
