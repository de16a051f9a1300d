"""Records the histories of this release: `python -m tests.histories.record`, once before each release.

Each is the log of a simulated cluster, told from a seed by the real services and kept as `resolute log tail --json`
prints it, with where every stream had come to when it was recorded. Histories of past releases are never touched, nor
those `…-before-decisions-were-recorded`: no code of today writes a halving search, or an assignment of slots, in that
form (docs/decisions/0052-decisions-of-a-search-are-recorded.md).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import orjson

from resolute.eventlog import MemoryEventLog
from resolute.eventlog.formatting import for_programs
from resolute.proto.experiment import TrialMetadataChanged
from resolute.proto.identity import UserSetting, UserSettingsChanged, UserSettingsReset
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.pool import AgentJoined, PoolConfigured, PoolRemoved, PoolRestored, Slot
from resolute.proto.secrets import SecretsForgotten, WrappingKeyRotated
from tests.histories.fold import summary_of
from tests.unit.searcher.story import created

RELEASE = "0.1.0"
HERE = Path(__file__).parent
SEEDS = {
    "a-search-in-a-storm": 55,
    "a-search-that-was-canceled": 118,
    "a-search-that-failed": 49,
    "adaptive-brackets-by-time": 90,
    "slots-asked-back-for-others": 9,
}


BY_OPERATORS: dict[str, tuple[Event, ...]] = {
    "secrets-cluster": (
        SecretsForgotten("experiment-7", 1),
        WrappingKeyRotated("AAAAAAAAAAA", ("cluster-secret",), 12),
    ),
}
"""What no simulated cluster tells: facts of commands that somebody types on the host, by stream."""


BY_CONFIGURATION: dict[str, tuple[Event, ...]] = {
    "pool-gpu": (
        PoolConfigured("gpu", {"scheduler.type": "fair_share", "scheduler.fair_share_groups": "user"}),
        AgentJoined("a1", (Slot(0, "cuda"),), "10.0.0.1", "0.1.0"),
        PoolRemoved("gpu", ("default",)),
        PoolRestored("gpu"),
        PoolConfigured("gpu", {"scheduler.type": "priority", "agent_reconnect_wait": None}),
    ),
}
"""What schedulers record of the configuration that they were started with."""


def _by_people() -> dict[str, tuple[Event, ...]]:
    """What users and the code of trials keep: settings of the web app, and metadata."""
    mode = UserSetting("mode", "settings-theme", "dark")
    return {
        "settings-2": (
            UserSettingsChanged(2, (mode, UserSetting("columns", "", "[]")), carried_over=True),
            UserSettingsChanged(2, (UserSetting("mode", "settings-theme", "light"),)),
            UserSettingsReset(2),
            UserSettingsChanged(2, (mode,)),
        ),
        "experiment-1": (
            *created(activate=False),
            TrialMetadataChanged(1, {"dataset": "2026-01", "folds": [1, 2]}, carried_over=True),
            TrialMetadataChanged(1, {"dataset": "2026-02", "notes": {"by": "ada", "score": 0.5}}),
        ),
    }


def main() -> None:
    from tests.simulation.stories import tell

    for name, seed in SEEDS.items():
        asyncio.run(_record(name, tell(seed).events))
    asyncio.run(_record("typed-by-operators", asyncio.run(_typed(BY_OPERATORS))))
    asyncio.run(_record("settings-and-metadata", asyncio.run(_typed(_by_people()))))
    asyncio.run(_record("pools-by-configuration", asyncio.run(_typed(BY_CONFIGURATION))))


async def _typed(streams: Mapping[str, Sequence[Event]]) -> list[Recorded]:
    log = MemoryEventLog(now=lambda: datetime(2026, 11, 22, tzinfo=UTC))
    for stream, events in streams.items():
        for version, event in enumerate(events):
            cause = Cause(f"req-{stream}-{version}", "ada of the host", f"req-{stream}-{version}")
            await log.append(stream, [event], expected_version=version, cause=cause)
    return await log.read_all(0)


async def _record(name: str, story: list[Recorded]) -> None:
    """Appended anew, so that the hash chain is that of what the file holds."""
    now = [story[0].recorded_at]
    log = MemoryEventLog(now=lambda: now[0])
    for (stream, cause), group in groupby(story, key=lambda recorded: (recorded.stream, recorded.cause)):
        events = list(group)
        now[0] = events[0].recorded_at
        wanted = [recorded.event for recorded in events]
        await log.append(stream, wanted, expected_version=events[0].version - 1, cause=cause)
    lines = [for_programs(row) for row in log.rows]
    (HERE / f"{RELEASE}-{name}.jsonl").write_text("\n".join(lines) + "\n")
    summary = orjson.dumps(summary_of(await log.read_all(0, len(lines))), option=orjson.OPT_INDENT_2)
    (HERE / f"{RELEASE}-{name}.summary.json").write_bytes(summary + b"\n")
    print(f"{name}: {len(lines)} events")


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # as the simulation needs it, for a seed to tell one story
        command = [sys.executable, "-m", "tests.histories.record"]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})
    main()
