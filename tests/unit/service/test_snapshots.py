"""Snapshots save folding and change nothing else: missing, foreign or forged ones are passed over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from resolute.eventlog import MemoryEventLog, Snapshot
from resolute.proto.message import Cause, Event
from resolute.proto.pool import AgentEnabled
from resolute.service import Aggregates, Snapshots, snapshots
from resolute.service.snapshots import schema_of

STREAM = "pool-default"


@dataclass
class Names:
    """The agents heard of, in order."""

    seen: list[str] = field(default_factory=list)


class Counting:
    """Folds, and counts how many events it took."""

    def __init__(self) -> None:
        self.folded = 0

    def evolve(self, state: Names, event: Event) -> Names:
        assert isinstance(event, AgentEnabled)
        self.folded += 1
        state.seen.append(event.agent_id)
        return state


def aggregates(log: MemoryEventLog, counting: Counting, secret: bytes = b"secret") -> Aggregates[Names]:
    kept: Snapshots[Names] = Snapshots(log, secret, "resolute.service", every=10)
    return Aggregates(log, Names, counting.evolve, snapshots=kept)


async def told(log: MemoryEventLog, count: int) -> None:
    names = aggregates(log, Counting())
    for n in range(count):
        await names.execute(STREAM, lambda state, n=n: [AgentEnabled(f"agent-{n}")], Cause(f"c{n}"))  # type: ignore[misc]


async def test_a_fold_begins_at_the_last_snapshot() -> None:
    log, counting = MemoryEventLog(), Counting()
    await told(log, 25)
    state = await aggregates(log, counting).state(STREAM)
    assert state.seen == [f"agent-{n}" for n in range(25)]
    assert counting.folded == 5


async def test_a_snapshot_that_another_sealed_is_never_opened() -> None:
    log, counting = MemoryEventLog(), Counting()
    await told(log, 25)
    state = await aggregates(log, counting, secret=b"another").state(STREAM)
    assert (len(state.seen), counting.folded) == (25, 25)


async def test_a_forged_snapshot_is_passed_over() -> None:
    log, counting = MemoryEventLog(), Counting()
    await told(log, 25)
    kept = await log.load_snapshot(STREAM, Snapshots(log, b"secret", "resolute.service")._schema)
    assert kept is not None
    await log.save_snapshot(replace(kept, version=21))  # the seal says 20
    state = await aggregates(log, counting).state(STREAM)
    assert (len(state.seen), counting.folded) == (25, 25)


async def test_a_snapshot_of_other_code_is_passed_over() -> None:
    log, counting = MemoryEventLog(), Counting()
    await told(log, 25)
    await log.save_snapshot(Snapshot(STREAM, 25, "resolute.service:of-yesterday", b"whatever"))
    state = await aggregates(log, counting).state(STREAM)
    assert (len(state.seen), counting.folded) == (25, 5)


async def test_without_a_secret_nothing_is_kept_that_anybody_could_have_sealed() -> None:
    log, counting = MemoryEventLog(), Counting()
    await told(log, 25)
    forged = Snapshots[Names](log, b"", "resolute.service", every=10)
    await log.save_snapshot(Snapshot(STREAM, 24, forged._schema, forged._seal(STREAM, 24, b"whatever") + b"whatever"))
    state = await aggregates(log, counting, secret=b"").state(STREAM)
    assert (len(state.seen), counting.folded) == (25, 25)
    await forged.keep("pool-other", state, 0, 25)
    assert await log.load_snapshot("pool-other", forged._schema) is None


def test_a_snapshot_names_all_code_that_its_state_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """States of experiments hold search spaces, which resolute.config reads."""
    before = schema_of.__wrapped__("resolute.search")
    sources = snapshots._sources

    def changed(folder: Any, prefix: str = "") -> list[tuple[str, bytes]]:
        edited = Path(str(folder)).name == "config"
        return [(name, text + b"#" if edited else text) for name, text in sources(folder, prefix)]

    monkeypatch.setattr(snapshots, "_sources", changed)
    assert schema_of.__wrapped__("resolute.search") != before
