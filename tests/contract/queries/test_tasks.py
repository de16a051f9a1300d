"""What can be asked about tasks and allocations: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.interactive.projection import TASKS as INTERACTIVE
from resolute.api.interactive.projection import Task
from resolute.api.kernel.rows import Table
from resolute.api.measures.accelerators import AcceleratorStore
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.memory import MemoryTasks
from resolute.api.tasks.messages import Accelerators
from resolute.api.tasks.queries import AcceleratorRow, PlacementRow, PostgresTasks, TaskQueries, TrialTimes
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from resolute.api.trials.tables import TRIALS, Trial
from resolute.api.workspaces.projection import PROJECTS, Project
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import experiment

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
DEFINITION = "a" * 64


def minutes(count: int) -> datetime:
    return AT + timedelta(minutes=count)


def allocation(allocation_id: str, task_id: str, minute: int, task_type: str = "TRIAL", **columns: Any) -> Allocation:
    of_job: dict[str, Any] = {"job_id": "job", "live_job_id": "job", "owner": "ann", "weight": 1.0, "max_slots": None}
    known: dict[str, Any] = {
        "experiment_id": 1,
        "trial_id": 1,
        "state": AllocationState.QUEUED,
        "slots": 2,
        "priority": 42,
        **of_job,
    }
    return Allocation(
        allocation_id=allocation_id,
        pool="main",
        task_id=task_id,
        task_type=task_type,
        name="digits",
        requested_at=minutes(minute),
        **known | columns,
    )


def ended(minute: int) -> Mapping[str, Any]:
    return {"state": AllocationState.TERMINATED, "ended_at": minutes(minute), "exit_code": 0, "why": "it was done"}


def notebook(allocation_id: str, task_id: str, minute: int, **columns: Any) -> Allocation:
    return allocation(allocation_id, task_id, minute, "NOTEBOOK", **{"experiment_id": None, "trial_id": None} | columns)


def trial(id_: int, experiment_id: int, task_id: str, ended_at: datetime | None = None) -> Trial:
    return Trial(id_, experiment_id, "r", task_id, {}, 0, None, "ACTIVE", minutes(id_), ended_at=ended_at)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    INTERACTIVE: (Task("s", "COMMAND", "s.1", "seen", 5, "ann", 2, "main", {}, "context-of-s", AT),),
    PROJECTS: (
        Project(1, 1, "Uncategorized", "", 1, immutable=True),
        Project(2, 2, "digits", "", 1, immutable=False),
    ),
    EXPERIMENTS: (experiment(1, 1, "ACTIVE", AT), experiment(2, 2, "ACTIVE", AT, definition=DEFINITION)),
    TRIALS: (trial(1, 1, "1.a"), trial(2, 2, "2.b", minutes(30)), trial(3, 2, "2.c")),
    ALLOCATIONS: (
        allocation("1.a.1", "1.a", 2, **ended(5)),
        allocation("1.a.2", "1.a", 5, state=AllocationState.RUNNING, started_at=minutes(6), why="a slot was free"),
        allocation("2.b.1", "2.b", 3, experiment_id=2, trial_id=2, preemption_deadline_at=minutes(9)),
        notebook("n.1", "n", 1),
        notebook("n.2", "n", 1),
        notebook("m.1", "m", 0, **ended(4)),
        notebook("l.1", "l", 7),
    ),
    PLACEMENTS: (
        Placement("z", "1.a.2", 0, "agent-a", (0, 1), ShareState.RUNNING, "10.0.0.1"),
        Placement("y", "1.a.2", 1, "agent-b", (), ShareState.ASSIGNED),
        Placement("x", "1.a.1", 0, "agent-b", (3,), ShareState.EXITED, "10.0.0.2", 0),
    ),
}


REPORTED = (
    AcceleratorRow("1.a.2", "c-2", "1.a", "agent-b", "cuda", ("GPU-3", "GPU-1"), "main"),
    AcceleratorRow("1.a.2", "c-1", "1.a", "agent-a", "cuda", (), "main"),
    AcceleratorRow("gone.1", "c-3", "gone", "agent-a", "cpu", ("0",), ""),
)


def report(row: AcceleratorRow) -> Accelerators:
    return Accelerators(
        allocation_id=row.allocation_id,
        container_id=row.container_id,
        task_id=row.task_id,
        node_name=row.node_name,
        accelerator_type=row.accelerator_type,
        accelerator_uuids=row.uuids,
    )


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[TaskQueries]:
    if database is None:
        yield MemoryTasks(in_memory(ROWS), REPORTED)
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        for row in REPORTED:
            await AcceleratorStore(pool).note(row.allocation_id, report(row))
        yield PostgresTasks(await in_postgres(pool, ROWS))


async def test_an_allocation_is_shown_with_all_that_is_known(queries: TaskQueries) -> None:
    running = await queries.allocation("1.a.2")
    assert running is not None
    assert (running.task_id, running.task_type, running.pool, running.name) == ("1.a", "TRIAL", "main", "digits")
    assert (running.slots, running.priority, running.state) == (2, 42, AllocationState.RUNNING)
    assert (running.requested_at, running.started_at, running.why) == (minutes(5), minutes(6), "a slot was free")
    assert (running.started, running.preempting, running.ended, running.exit_code) == (True, False, False, None)
    preempted, over = await queries.allocation("2.b.1"), await queries.allocation("1.a.1")
    assert preempted is not None
    assert (preempted.started, preempted.preempting, preempted.ended) == (False, True, False)
    assert over is not None
    assert (over.state, over.ended, over.ended_at, over.exit_code) == (
        AllocationState.TERMINATED,
        True,
        minutes(5),
        0,
    )
    assert await queries.allocation("1.a") is None


async def test_allocations_that_run_or_wait_are_listed_from_the_oldest(queries: TaskQueries) -> None:
    assert [row.allocation_id for row in await queries.live(UNLIMITED)] == ["n.1", "n.2", "2.b.1", "1.a.2", "l.1"]


async def test_tasks_that_run_or_wait_are_counted_once_by_their_type(queries: TaskQueries) -> None:
    assert dict(await queries.live_tasks(UNLIMITED)) == {"NOTEBOOK": 2, "TRIAL": 2}


async def test_what_lies_outside_of_the_scope_is_neither_listed_nor_counted(queries: TaskQueries) -> None:
    for workspace_id, shown in ((1, ["1.a.2"]), (2, ["2.b.1"]), (3, list[str]())):
        scope = Scope(frozenset({workspace_id}))
        assert [row.allocation_id for row in await queries.live(scope)] == shown
        assert dict(await queries.live_tasks(scope)) == ({"TRIAL": 1} if shown else {})


async def test_the_parts_of_allocations_come_in_the_order_of_their_ranks(queries: TaskQueries) -> None:
    found = list(await queries.placements({"1.a.2", "1.a.1", "no.such.1"}))
    assert [one.resources_id for one in found] == ["x", "z", "y"]
    assert found[1] == PlacementRow("z", "1.a.2", "agent-a", (0, 1), ShareState.RUNNING, "10.0.0.1")
    assert list(await queries.placements([])) == []


async def test_the_devices_of_a_task_are_those_that_its_containers_reported(queries: TaskQueries) -> None:
    assert list(await queries.accelerators("1.a")) == [REPORTED[1], REPORTED[0]]
    assert list(await queries.accelerators("gone")) == [REPORTED[2]]
    assert list(await queries.accelerators("2.b")) == []


async def test_a_task_has_its_allocations_from_the_oldest_and_its_trial(queries: TaskQueries) -> None:
    assert [row.allocation_id for row in await queries.of_task("1.a")] == ["1.a.1", "1.a.2"]
    assert await queries.trial("1.a") == TrialTimes(minutes(1), None)
    assert await queries.trial("2.b") == TrialTimes(minutes(2), minutes(30))
    assert (list(await queries.of_task("x")), await queries.trial("n")) == ([], None)


@pytest.mark.parametrize(
    ("task_id", "known", "over"),
    [
        ("1.a", True, False),
        ("2.b", True, True),  # its trial has ended, and an allocation is still on its way out
        ("2.c", True, False),  # a trial that nothing was requested for yet
        ("n", True, False),
        ("m", True, True),
        ("no.such", False, False),
    ],
)
async def test_a_task_is_known_by_its_trial_or_its_allocations_and_ends_with_them(
    queries: TaskQueries, task_id: str, known: bool, over: bool
) -> None:
    assert (await queries.is_known(task_id), await queries.has_ended(task_id)) == (known, over)


async def test_a_trials_code_is_that_of_its_experiment(queries: TaskQueries) -> None:
    assert await queries.context_directory("2.b") == DEFINITION
    assert await queries.context_directory("1.a") is None
    assert await queries.context_directory("n") is None
    assert await queries.context_directory("s") == "context-of-s", "a command's own"
