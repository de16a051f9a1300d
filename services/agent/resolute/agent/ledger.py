"""The ledger: what the agent keeps on disk about its tasks: which there are, how far their logs are stored, and how
those that ended ended.

There is one small file for each task. A write replaces the file as a whole. It contains no secret. When the last write
is lost, lines or reports are sent twice, which has no further effect.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import structlog

from resolute import codec
from resolute.agent.runtime import Exit
from resolute.proto.pool import StartTask
from resolute.proto.tasks import ProxiedPort

log_ = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Entry:
    """The record of one task: one share of an allocation on this agent."""

    resources_id: str
    allocation_id: str
    task_id: str
    run_id: int
    rank: int
    slot_ids: tuple[int, ...]
    pool: str = ""
    """The pool of the allocation. Empty in a record of an earlier release, which means the agent's own pool."""
    stop_reason: str = ""
    mark: int = 0
    """The position up to which the task's output is stored by the gateway (`Chunk.mark`)."""
    lines: int = 0
    """The number of lines up to `mark`."""
    last_words: str = ""
    """The agent's own last lines in the task's log, about its end; empty again when they are stored."""
    found: Exit | None = None
    """How the task ended; None while that is not known."""
    reported_at_s: float | None = None
    """When the scheduler had recorded the end, in seconds since the epoch."""
    ports: tuple[ProxiedPort, ...] = ()
    """The ports of the task that the gateway may ask for."""


def entry_for(order: StartTask, pool: str) -> Entry:
    """`pool`: the pool of the agent now. An agent that is started later with this ledger may be in another pool."""
    placement, spec = order.placement, order.spec
    return Entry(
        placement.resources_id, spec.allocation_id, spec.task_id, spec.run_id, order.rank, placement.slot_ids, pool
    )  # fmt: skip


class Ledger:
    """The ledger in `folder`, which belongs to one agent at a time."""

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
        """Write or replace a record. Raises OSError, and keeps the former record, when that fails."""
        path = self._path(entry.resources_id)
        new = path.with_suffix(".new")
        new.write_bytes(codec.to_bytes(entry))
        os.replace(new, path)

    def remove(self, resources_id: str) -> None:
        self._path(resources_id).unlink(missing_ok=True)

    def _path(self, resources_id: str) -> Path:
        return self._folder / f"{resources_id}.json"
