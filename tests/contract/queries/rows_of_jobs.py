"""Allocations and experiments for tests of queries: only what a test names differs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from resolute.api.experiments.projection import Experiment
from resolute.api.shown_states import AllocationState
from resolute.api.tasks.tables import Allocation

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def allocation(allocation_id: str, job_id: str, pool: str = "main", **columns: Any) -> Allocation:
    """One that waits for one slot, of the task of the same name."""
    plain = Allocation(
        allocation_id=allocation_id,
        pool=pool,
        task_id=f"task-{allocation_id}",
        task_type="TRIAL",
        job_id=job_id,
        live_job_id=job_id,
        name=f"work of {job_id}",
        owner="ann",
        slots=1,
        priority=42,
        weight=1.0,
        max_slots=None,
        experiment_id=None,
        trial_id=None,
        state=AllocationState.QUEUED,
        requested_at=AT,
    )
    return replace(plain, **columns)


def experiment(id_: int, job_id: str, **columns: Any) -> Experiment:
    plain = Experiment(
        id=id_,
        job_id=job_id,
        name=f"experiment {id_}",
        description="",
        labels=(),
        owner_id=1,
        owner="ann",
        project_id=1,
        searcher_type="single",
        searcher_metric="loss",
        smaller_is_better=True,
        resource_pool="main",
        state="ACTIVE",
        started_at=AT,
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=None,
        log_retention_days=None,
    )
    return replace(plain, **columns)
