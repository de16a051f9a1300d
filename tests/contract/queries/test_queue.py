"""What can be asked about the job queue and its changes: Postgres and the twins in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, ExperimentConfig
from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.pools.projection import AGENTS, SLOTS, Agent, Slot
from resolute.api.queue.change_memory import MemoryChanges
from resolute.api.queue.change_queries import ChangeQueries, PostgresChanges
from resolute.api.queue.explain_memory import MemoryExplain
from resolute.api.queue.explain_queries import ExplainQueries, PostgresExplain
from resolute.api.queue.explain_rows import NONE_AHEAD, JobName, JobsAhead, ShareRow, SlotCount
from resolute.api.queue.memory import MemoryQueue
from resolute.api.queue.order import Keys, PoolOrders
from resolute.api.queue.projection import JOBS, Job
from resolute.api.queue.queries import PostgresQueue, Progress, QueueQueries, Standing, WaitedRow, WantedJobs
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Placement
from resolute.api.trials.tables import STANDINGS, TRIALS
from resolute.api.trials.tables import Standing as Trials
from resolute.api.workspaces.projection import PROJECTS, Project
from resolute.config import Slots
from resolute.proto.queue import JobSetting, WaitRule
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import AT, allocation, experiment

QUEUED, RUNNING = AllocationState.QUEUED, AllocationState.RUNNING
FIFO = PoolOrders((), (), ())
PRIORITY = PoolOrders(("main",), (), ())
BY_JOB = PoolOrders((), ("main",), ())
BY_USER = PoolOrders((), (), ("main",))
SINCE = AT - timedelta(hours=2)


def waits(rule: WaitRule, line: str = "1", reason: str = "others hold the slots") -> dict[str, Any]:
    text = AT.isoformat()
    return {"rule": rule.value, "line": line, "reason": reason, "since": SINCE.isoformat(), "at": text, "actor": "s"}


def later(hours: float) -> Any:
    return AT + timedelta(hours=hours)


IN_LINE = waits(WaitRule.IN_LINE)

ALLOCATIONS_OF_JOBS = (
    # Runs on two slots, and wants one more.
    allocation("a1", "runs", slots=2, state=RUNNING, experiment_id=1, trial_id=1, assigned_at=later(1), weight=4.0),
    allocation("a2", "runs", requested_at=later(2), experiment_id=1, priority=50, weight=4.0, waits=IN_LINE),
    allocation("b1", "first", experiment_id=2, owner="bob", waits=waits(WaitRule.BUSY)),
    allocation("c1", "urgent", experiment_id=3, priority=7, waits=IN_LINE),
    allocation("d1", "limited", priority=1, waits=waits(WaitRule.MAX_SLOTS), task_type="NOTEBOOK", name="notes"),
    allocation("e1", "zero", slots=0, priority=60, task_type="SHELL", owner="bob", waits=waits(WaitRule.BUSY, "zero")),
    allocation("f1", "never", slots=9, waits=waits(WaitRule.NEVER_FITS, "9")),
    allocation("g1", "new", requested_at=later(3)),
    allocation("h1", "runs", "aux", requested_at=later(1), experiment_id=1, waits=IN_LINE),
    allocation("i1", "ended", state=AllocationState.TERMINATED, ended_at=later(2), assigned_at=later(26), exit_code=3),
    allocation("i2", "ended", state=AllocationState.TERMINATED, ended_at=later(3), assigned_at=later(0.5)),
    allocation("r0", "runs", state=AllocationState.TERMINATED, ended_at=later(0), task_id="task-a1", why="gave way"),
    allocation("r1", "runs", state=AllocationState.TERMINATED, ended_at=later(-1), task_id="task-a1"),
)

PLACES = {"runs": 1, "first": 2, "urgent": 3, "limited": 4, "zero": 5, "never": 6, "new": 7, "ended": 8}

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    ALLOCATIONS: ALLOCATIONS_OF_JOBS,
    JOBS: (*(Job(name, "main", Decimal(place)) for name, place in PLACES.items()), Job("runs", "aux", Decimal(1))),
    EXPERIMENTS: (
        experiment(1, "runs", started_at=later(-1), search_progress=0.25),
        experiment(2, "first", project_id=2, owner="bob"),
        experiment(3, "urgent", project_id=2),
        experiment(4, "paused", state="PAUSED", reason="a person paused it", resource_pool="aux"),
    ),
    CONFIGS: (
        ExperimentConfig(1, {"resources": {"slots_per_trial": 2, "priority": 42, "weight": 4.0}}, ""),
        ExperimentConfig(2, {"resources": {"priority": 42, "is_single_node": True}}, ""),
        ExperimentConfig(3, {"searcher": {"max_trials": 8}, "resources": {"priority": 8}}, ""),
    ),
    STANDINGS: (Trials(1, 1, True, None, None), Trials(3, 2, True, None, None)),
    PROJECTS: (Project(1, 1, "one", "", 1, immutable=False), Project(2, 2, "two", "", 1, immutable=False)),
    USERS: (User(7, "ann", admin=False, active=True, display_name="", remote=False, modified_at=AT),),
    PLACEMENTS: (
        Placement("p1", "a1", 1, "agent-2", (0,), ShareState.RUNNING),
        Placement("p0", "a1", 0, "agent-1", (1,), ShareState.RUNNING),
        Placement("p2", "i1", 0, "agent-1", (0,), ShareState.EXITED),
    ),
    AGENTS: (
        Agent("agent-1", "main", "h", "1", enabled=True, draining=False, alive=True, joined_at=AT),
        Agent("agent-2", "main", "h", "1", enabled=True, draining=False, alive=True, joined_at=AT),
        Agent("agent-3", "main", "h", "1", enabled=False, draining=False, alive=True, joined_at=AT),
        Agent("agent-4", "main", "h", "1", enabled=True, draining=False, alive=False, joined_at=AT),
    ),
    SLOTS: tuple(
        Slot(f"agent-{agent}", "main", slot, "cpu", "", "", enabled=(agent, slot) != (2, 1), draining=False)
        for agent in (1, 2, 3, 4)
        for slot in (0, 1)
    ),
}


@dataclass(frozen=True)
class Asked:
    queue: QueueQueries
    changes: ChangeQueries
    explain: ExplainQueries


@pytest.fixture
async def asked(database: str | None) -> AsyncIterator[Asked]:
    if database is None:
        rows = in_memory({**ROWS, TRIALS: ()})
        yield Asked(MemoryQueue(rows), MemoryChanges(rows), MemoryExplain(rows))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        read = await in_postgres(pool, ROWS)
        yield Asked(PostgresQueue(read), PostgresChanges(read), PostgresExplain(read))


async def names(
    asked: Asked,
    orders: PoolOrders = FIFO,
    wanted: WantedJobs = WantedJobs(),  # noqa: B008
    *,
    scope: Scope = UNLIMITED,
    descending: bool = False,
    **window: int,
) -> list[str]:
    found = await asked.queue.jobs(scope, orders, wanted, descending=descending, window=Window(**window))
    return [row.job_id for row in found.rows]


# ---------------------------------------------------------------- the order


async def test_jobs_come_pool_by_pool_and_by_their_places(asked: Asked) -> None:
    in_main = ["runs", "zero", "first", "urgent", "limited", "never", "new"]
    found = await names(asked)
    assert found[:2] == ["runs", "runs"], "in the pool aux, and in main, where it is scheduled"
    assert sorted(found[1:]) == sorted(in_main)
    assert [name for name in found[1:] if name != "zero"] == ["runs", "first", "urgent", "limited", "never", "new"]
    assert await names(asked, descending=True) == found[::-1]
    assert await names(asked, offset=2, limit=2) == found[2:4]
    assert await names(asked, limit=-2) == []


async def test_jobs_go_by_priority_where_the_pool_does(asked: Asked) -> None:
    with_slots = [name for name in await names(asked, PRIORITY, WantedJobs(pool="main")) if name != "zero"]
    assert with_slots == ["runs", "limited", "urgent", "first", "never", "new"]


async def test_jobs_go_by_what_they_or_their_users_hold_where_the_pool_shares(asked: Asked) -> None:
    queued = WantedJobs(pool="main", scheduled=frozenset({False}))
    assert await names(asked, BY_JOB, queued) == ["first", "urgent", "limited", "never", "new", "zero"]
    by_user = ["first", "zero", "urgent", "limited", "never", "new"]
    assert await names(asked, BY_USER, queued) == by_user, "bob holds nothing, and ann two slots"


async def test_lists_hold_what_is_wanted_and_within_the_scope(asked: Asked) -> None:
    assert await names(asked, wanted=WantedJobs(pool="aux")) == ["runs"]
    assert await names(asked, wanted=WantedJobs(scheduled=frozenset({True}))) == ["runs"]
    assert await names(asked, wanted=WantedJobs(scheduled=frozenset())) == []
    assert await names(asked, wanted=WantedJobs(scheduled=frozenset({True, False}))) == await names(asked)
    assert await names(asked, scope=Scope(frozenset({2}))) == ["first", "urgent"]
    assert await names(asked, scope=Scope(frozenset())) == []


async def test_a_job_is_shown_with_all_that_is_known(asked: Asked) -> None:
    found = await asked.queue.jobs(UNLIMITED, FIFO, WantedJobs(pool="main"), descending=False, window=Window(limit=1))
    [runs] = found.rows
    assert (runs.name, runs.owner, runs.owner_id, runs.workspace_id) == ("experiment 1", "ann", 7, 1)
    assert (runs.experiment_id, runs.task_id, runs.kind) == (1, "task-a1", "TRIAL")
    assert (runs.priority, runs.weight) == (50, 4.0), "those of its latest request"
    assert (runs.requested, runs.allocated, runs.standing) == (3, 2, Standing(scheduled=True, ahead=0))
    assert runs.submitted_at == later(-1)
    assert runs.progress == Progress("ACTIVE", of_search=0.25, of_trials=None, trials=1, max_trials=None)
    urgent = await asked.queue.job(FIFO, "urgent")
    assert urgent is not None
    assert urgent.progress == Progress("ACTIVE", of_search=None, of_trials=None, trials=2, max_trials="8")
    notes = await asked.queue.job(FIFO, "limited")
    assert notes is not None
    assert (notes.name, notes.kind, notes.submitted_at) == ("notes", "NOTEBOOK", AT)
    assert (notes.experiment_id, notes.workspace_id, notes.progress) == (None, None, None)
    bobs = await asked.queue.job(FIFO, "first")
    assert bobs is not None
    assert bobs.owner_id is None, "there is no user of that name"


async def test_the_jobs_that_wait_before_a_job_are_counted_among_those_that_need_slots_as_it_does(asked: Asked) -> None:
    assert await asked.queue.standing(FIFO, "runs") == Standing(scheduled=True, ahead=0)
    assert await asked.queue.standing(FIFO, "urgent") == Standing(scheduled=False, ahead=1)
    assert await asked.queue.standing(PRIORITY, "urgent") == Standing(scheduled=False, ahead=1)
    assert await asked.queue.standing(PRIORITY, "first") == Standing(scheduled=False, ahead=2)
    assert await asked.queue.standing(FIFO, "zero") == Standing(scheduled=False, ahead=0)
    assert await asked.queue.standing(FIFO, "ended") is None
    assert await asked.queue.job(FIFO, "ended") is None


async def test_what_was_given_its_slots_had_waited_so_long_on_average(asked: Asked) -> None:
    assert list(await asked.queue.waited(AT)) == [
        WaitedRow("main", "2026-01-31", 2700.0),
        WaitedRow("main", "2026-02-01", 26 * 3600.0),
    ]
    assert list(await asked.queue.waited(later(20))) == [WaitedRow("main", "2026-02-01", 26 * 3600.0)]


async def test_a_job_may_be_named_by_the_number_of_its_experiment(asked: Asked) -> None:
    assert await asked.queue.job_named("3") == "urgent"
    assert await asked.queue.job_named("urgent") == "urgent"
    assert await asked.queue.job_named("99") == "99"
    assert await asked.queue.job_named("1" * 30) == "1" * 30


# ---------------------------------------------------------------- changes


async def test_a_job_that_may_be_changed_is_known_by_what_it_asks_for_or_by_its_experiment(asked: Asked) -> None:
    runs = await asked.changes.changeable("runs")
    assert runs is not None
    assert (runs.experiment_id, runs.state, runs.pool, runs.live) == (1, "ACTIVE", "aux", True)
    assert (runs.slots, runs.single_agent, runs.priority) == (Slots(2, 2), False, 42)
    first = await asked.changes.changeable("first")
    assert first is not None
    assert first.priority == 42
    assert (first.slots, first.single_agent, first.pool) == (Slots(1, 1), True, "main")
    paused = await asked.changes.changeable("paused")
    assert paused is not None
    assert (paused.experiment_id, paused.state, paused.pool, paused.live) == (4, "PAUSED", "aux", False)
    notes = await asked.changes.changeable("limited")
    assert notes is not None
    assert (notes.experiment_id, notes.state, notes.pool, notes.live) == (None, None, "main", True)
    assert await asked.changes.changeable("ended") is None
    assert await asked.changes.changeable("nothing") is None


async def test_the_queue_agrees_with_a_configuration_when_all_that_lives_goes_by_it(asked: Asked) -> None:
    assert not await asked.changes.is_agreed(1, JobSetting.PRIORITY), "its latest request has another"
    assert await asked.changes.is_agreed(1, JobSetting.WEIGHT)
    assert await asked.changes.is_agreed(2, JobSetting.PRIORITY)
    assert not await asked.changes.is_agreed(2, JobSetting.WEIGHT), "the configuration says nothing of it"
    assert not await asked.changes.is_agreed(3, JobSetting.PRIORITY)
    assert await asked.changes.is_agreed(4, JobSetting.PRIORITY), "it asks for nothing"
    assert await asked.changes.is_agreed(99, JobSetting.PRIORITY)


# ---------------------------------------------------------------- reasons


async def test_a_job_is_explained_by_what_lives_or_else_by_what_ended_last(asked: Asked) -> None:
    assert [row.allocation_id for row in await asked.explain.allocations("runs")] == ["a1", "h1", "a2"]
    assert [row.allocation_id for row in await asked.explain.allocations("ended")] == ["i2", "i1"]
    assert list(await asked.explain.allocations("nothing")) == []
    [new] = await asked.explain.allocations("new")
    assert (new.state, new.slots, new.requested_at, new.waits, new.ended_at) == (QUEUED, 1, later(3), None, None)
    [first] = await asked.explain.allocations("first")
    assert first.waits is not None
    assert (first.waits.rule, first.waits.line, first.waits.reason) == (WaitRule.BUSY, "1", "others hold the slots")
    assert (first.waits.since, first.waits.at, first.waits.actor) == (SINCE, AT, "s")
    experiment_row = await asked.explain.experiment("paused")
    assert experiment_row is not None
    assert (experiment_row.id, experiment_row.state, experiment_row.reason) == (4, "PAUSED", "a person paused it")
    assert await asked.explain.experiment("limited") is None


async def test_the_last_run_of_a_task_that_ended_is_found(asked: Asked) -> None:
    [before] = await asked.explain.previous(["task-a1", "task-b1"])
    assert (before.allocation_id, before.why) == ("r0", "gave way")


async def test_shares_come_in_their_order(asked: Asked) -> None:
    assert list(await asked.explain.shares(["i1", "a1"])) == [
        ShareRow("a1", "agent-1", (1,)),
        ShareRow("a1", "agent-2", (0,)),
        ShareRow("i1", "agent-1", (0,)),
    ]


async def test_jobs_are_named_within_the_scope(asked: Asked) -> None:
    assert await asked.explain.jobs_of(["a1", "d1", "x"]) == {"a1": "runs", "d1": "limited"}
    found = await asked.explain.names(UNLIMITED, ["first", "limited", "nothing"])
    assert sorted(found, key=lambda one: one.job_id) == [
        JobName("first", "experiment 2", "bob", 2),
        JobName("limited", "notes", "ann", None),
        JobName("nothing", "", "", None),
    ]
    within = await asked.explain.names(Scope(frozenset({1})), ["first", "limited", "runs"])
    assert [one.job_id for one in within] == ["runs"]


async def test_the_first_of_each_line_is_found_by_its_reason(asked: Asked) -> None:
    found = await asked.explain.with_reasons("main")
    assert [(row.allocation_id, row.waits.rule) for row in found] == [
        ("b1", WaitRule.BUSY),
        ("d1", WaitRule.MAX_SLOTS),
        ("e1", WaitRule.BUSY),
        ("f1", WaitRule.NEVER_FITS),
    ]
    assert list(await asked.explain.with_reasons("aux")) == []


async def test_slots_are_free_when_they_are_enabled_and_nothing_holds_them(asked: Asked) -> None:
    assert await asked.explain.slots("main") == SlotCount(slots=3, free=1)
    assert await asked.explain.slots("aux") == SlotCount(slots=0, free=0)


async def test_the_jobs_that_hold_slots_are_counted(asked: Asked) -> None:
    assert list(await asked.explain.holders("main", None, 5)) == [("runs", 2)]
    assert list(await asked.explain.holders("main", "first", 5)) == []
    assert list(await asked.explain.holders("aux", None, 5)) == []


@pytest.mark.parametrize(
    ("keys", "job_id", "first"),
    [
        (Keys(False, False, False), "urgent", ("runs", "first")),
        (Keys(True, False, False), "urgent", ()),
        (Keys(True, False, False), "first", ("urgent",)),
        (Keys(False, True, False), "urgent", ("first", "runs")),
        (Keys(False, False, True), "new", ("first", "urgent", "never")),
        (Keys(False, False, False), "nothing", ()),
    ],
)
async def test_the_jobs_ahead_are_those_that_wait_and_come_before(
    asked: Asked, keys: Keys, job_id: str, first: tuple[str, ...]
) -> None:
    found = await asked.explain.ahead("main", job_id, keys, needs_slots=True, never=[], most=5)
    assert found == (JobsAhead(len(first), first) if first else NONE_AHEAD)


async def test_jobs_whose_line_never_fits_are_not_ahead(asked: Asked) -> None:
    fifo = Keys(False, False, False)
    found = await asked.explain.ahead("main", "new", fifo, needs_slots=True, never=["9"], most=2)
    assert found == JobsAhead(3, ("runs", "first"))
    zero = await asked.explain.ahead("main", "ended", fifo, needs_slots=False, never=[], most=2)
    assert zero == NONE_AHEAD, "a job that asks for nothing has no place"
