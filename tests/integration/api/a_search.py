"""A small search as the log tells it: two trials, one done, one running, with checkpoints, metrics and an agent."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from resolute.api.measures.metrics import MetricRow
from resolute.config import ClusterDefaults, load_yaml, parse_experiment
from resolute.proto.checkpoint import (
    CheckpointAnnounced,
    CheckpointCompleted,
    CheckpointDeletionRequested,
)
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentCreated,
    ExperimentEdited,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialValidated,
)
from resolute.proto.pool import (
    AgentJoined,
    AllocationExited,
    AllocationRequested,
    AllocationStarted,
    Placement,
    ResourcesExited,
    ResourcesStarted,
    Slot,
    SlotsAssigned,
)
from tests.integration.api.running import Running

CONFIG = """
name: digits
entrypoint: python3 train.py
searcher: {name: random, metric: loss, max_length: {batches: 100}, max_trials: 2}
hyperparameters: {lr: {type: double, minval: 0.1, maxval: 0.2}}
resources: {slots_per_trial: 1}
"""

BEST = "11111111-1111-4111-8111-111111111111"
DROPPED = "22222222-2222-4222-8222-222222222222"
BEGUN = "33333333-3333-4333-8333-333333333333"

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


async def tell(cluster: Running, storage: Path) -> None:
    section = {"type": "shared_fs", "host_path": str(storage)}
    config = parse_experiment(load_yaml(CONFIG), ClusterDefaults(checkpoint_storage=section, created_at_s=7)).merged
    await _create(cluster, config)
    await _trial(cluster, 1, "alloc-1", 0)
    await _trial(cluster, 2, "alloc-2", 1)
    await _first_trial_trains(cluster, section)
    await cluster.tell("checkpoints-1", CheckpointAnnounced(BEGUN, 1, 2, "task-2", "alloc-2", section))


async def _create(cluster: Running, config: dict[str, Any]) -> None:
    slots = (Slot(0, "cpu", "Epyc"), Slot(1, "cpu", "Epyc"))
    await cluster.tell("pool-default", AgentJoined("agent-a", slots, "host-a", "1.2.3"))
    created = ExperimentCreated(1, "job-1", "digits", config, CONFIG, 2, "determined", 1, 7)
    await cluster.tell("experiment-1", created, ExperimentActivated(), ExperimentEdited({"notes": "hopeful"}))


async def _trial(cluster: Running, trial: int, allocation: str, slot: int) -> None:
    task = f"task-{trial}"
    await cluster.tell(
        "experiment-1",
        TrialCreated(trial, f"request-{trial}", task, {"lr": 0.1 * trial}, seed=trial),
        TrialRunRequested(trial, 1, allocation, 1, None, 0),
    )
    asked = AllocationRequested(
        *(allocation, task, "TRIAL", "job-1", f"Trial {trial}", "determined", 1, 42, 1.0, None, 60, 1, trial)
    )
    share = f"resources-{trial}"
    await cluster.tell(
        "pool-default",
        asked,
        SlotsAssigned(allocation, (Placement(share, "agent-a", (slot,)),), "slots were free"),
        ResourcesStarted(allocation, share, "10.0.0.1"),
        AllocationStarted(allocation),
    )
    await cluster.tell("experiment-1", TrialRunStarted(trial, 1))


async def _first_trial_trains(cluster: Running, section: dict[str, Any]) -> None:
    for steps, loss, uuid in ((50, 0.5, DROPPED), (100, 0.25, BEST)):
        rows = [
            MetricRow(1, 1, "training", steps, {"loss": loss + 0.1}, None, AT),
            MetricRow(1, 1, "validation", steps, {"loss": loss, "accuracy": 1 - loss}, None, AT),
        ]
        await cluster.gateway.measured.add(rows)
        await cluster.tell("experiment-1", TrialValidated(1, 1, steps, loss))
        done = CheckpointCompleted(
            *(uuid, 1, 1, "task-1", "alloc-1", 1, steps, {"state/": 0, "state/weights": 5}, {}, section)
        )
        await cluster.tell("checkpoints-1", done)
    await cluster.tell("checkpoints-1", CheckpointDeletionRequested(DROPPED, "not among the best"))
    exited = AllocationExited("alloc-1", "exited", 0, "done", "task-1", 1, 1)
    await cluster.tell("pool-default", ResourcesExited("alloc-1", "resources-1", 0, "done"), exited)
    await cluster.tell("experiment-1", TrialRunEnded(1, 1, "completed", 0, ""), TrialEnded(1, "COMPLETED", ""))


def keep_files(storage: Path) -> None:
    """The files of the best checkpoint."""
    (storage / BEST / "state").mkdir(parents=True)
    (storage / BEST / "state" / "weights").write_bytes(b"12345")
