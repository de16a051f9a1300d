"""What the gateway's rows of allocations and placements come to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from resolute.api.tasks.projection import PROJECTION
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from resolute.proto import pool as events
from tests.unit.api.folding import Folding, at, columns

SINCE = datetime(2026, 1, 31, 11, 0, 0, 250_000, tzinfo=UTC)

TWO_AGENTS = (events.Placement("r-1", "agent-1", (0, 1)), events.Placement("r-2", "agent-2", (5,)))


def requested(allocation_id: str = "a-1", job_id: str = "job-1") -> events.AllocationRequested:
    return events.AllocationRequested(
        allocation_id, "task-1", "TRIAL", job_id, "a trial", "ada", 8, 42, 1.5, 16, 3600, experiment_id=7, trial_id=9
    )


def waits(rule: str = "busy", reason: str = "others hold the slots") -> events.AllocationWaits:
    holders = (events.Holder("job-2", 4),)
    return events.AllocationWaits("a-1", rule, reason, SINCE, 8, 4, 1, ("job-3",), holders, "8")


def assigned(allocation_id: str = "a-1") -> events.SlotsAssigned:
    return events.SlotsAssigned(allocation_id, TWO_AGENTS, "it is the first in line", "priority")


def exited(allocation_id: str = "a-1") -> events.AllocationExited:
    return events.AllocationExited(allocation_id, "exited", 3, "it failed", "task-1", 7, 9)


def story() -> Folding:
    return Folding(PROJECTION, "pool-gpus-a100")


def with_an_allocation() -> Folding:
    fold = story()
    fold.given(requested())
    return fold


def with_a_placed_one() -> Folding:
    fold = with_an_allocation()
    fold.given(assigned())
    return fold


def said(fold: Folding, *names: str, allocation_id: str = "a-1") -> tuple[object, ...]:
    return columns(fold.row(ALLOCATIONS, allocation_id), *names)


# ------------------------------------------------------------ while it waits


def test_an_allocation_that_is_asked_for_is_queued_in_its_pool() -> None:
    assert with_an_allocation().all(ALLOCATIONS) == [
        Allocation(
            allocation_id="a-1",
            pool="gpus-a100",
            task_id="task-1",
            task_type="TRIAL",
            job_id="job-1",
            live_job_id="job-1",
            name="a trial",
            owner="ada",
            slots=8,
            priority=42,
            weight=1.5,
            max_slots=16,
            experiment_id=7,
            trial_id=9,
            state="QUEUED",
            requested_at=at(1),
        )
    ]


def test_why_an_allocation_waits_is_shown_as_plain_json_with_its_time_and_actor() -> None:
    fold = with_an_allocation()
    fold.given(waits(), actor="scheduler")
    assert said(fold, "state", "why", "waits") == (
        "QUEUED",
        "others hold the slots",
        {
            "at": "2026-01-31T12:00:02+00:00",
            "actor": "scheduler",
            "rule": "busy",
            "reason": "others hold the slots",
            "since": "2026-01-31T11:00:00.250000+00:00",
            "slots_needed": 8,
            "slots_free": 4,
            "jobs_ahead": 1,
            "ahead": ["job-3"],
            "holders": [{"job_id": "job-2", "slots": 4}],
            "line": "8",
        },
    )


def test_an_allocation_that_can_never_fit_waits_since_that_was_recorded() -> None:
    fold = with_an_allocation()
    fold.given(events.AllocationHeldBack("a-1", "the pool has 4 slots", "8"))
    when = "2026-01-31T12:00:02+00:00"
    assert said(fold, "why", "waits") == (
        "the pool has 4 slots",
        {
            "at": when,
            "actor": "someone",
            "rule": "never_fits",
            "reason": "the pool has 4 slots",
            "since": when,
            "line": "8",
        },
    )


def test_slots_are_assigned_and_it_waits_no_longer() -> None:
    fold = with_an_allocation()
    fold.given(waits(), assigned())
    assert said(fold, "state", "why", "waits", "slots", "assigned_at") == (
        *("ASSIGNED", "it is the first in line", None, 3),
        at(3),
    )
    assert said(fold, "placed") == (
        {
            "at": "2026-01-31T12:00:03+00:00",
            "actor": "someone",
            "rule": "priority",
            "reason": "it is the first in line",
        },
    )
    assert fold.all(PLACEMENTS) == [
        Placement("r-1", "a-1", 0, "agent-1", (0, 1), "ASSIGNED"),
        Placement("r-2", "a-1", 1, "agent-2", (5,), "ASSIGNED"),
    ]


# ------------------------------------------------------------ while it runs


def test_its_parts_start_one_after_another_and_then_it_runs() -> None:
    fold = with_a_placed_one()
    fold.given(events.ResourcesStarted("a-1", "r-1", "10.0.0.1"))
    assert [columns(part, "state", "address") for part in fold.all(PLACEMENTS)] == [
        ("RUNNING", "10.0.0.1"),
        ("ASSIGNED", ""),
    ]
    assert said(fold, "state", "started_at") == ("ASSIGNED", None)
    fold.given(events.ResourcesStarted("a-1", "r-2", "10.0.0.2"), events.AllocationStarted("a-1"))
    assert said(fold, "state", "started_at") == ("RUNNING", at(5))


def test_a_preemption_is_shown_without_what_the_scheduler_alone_reads() -> None:
    fold = with_a_placed_one()
    asked = events.PreemptionRequested(
        "a-1", "job-3 comes first", SINCE, "priority", "a-7", ("agent-1",), room_slots=2, still_owed=True
    )
    fold.given(asked)
    assert said(fold, "state", "why", "preemption_deadline_at", "preempted") == (
        "ASSIGNED",
        "job-3 comes first",
        SINCE,
        {
            "at": "2026-01-31T12:00:03+00:00",
            "actor": "someone",
            "reason": "job-3 comes first",
            "deadline_at": "2026-01-31T11:00:00.250000+00:00",
            "rule": "priority",
            "for_allocation": "a-7",
            "room_on": ["agent-1"],
        },
    )


def test_an_allocation_that_is_killed_is_terminating_until_it_has_ended() -> None:
    fold = with_a_placed_one()
    fold.given(events.AllocationKillRequested("a-1", "ada asked"), actor="ada")
    killed = {"at": "2026-01-31T12:00:03+00:00", "actor": "ada", "reason": "ada asked", "overdue": False}
    assert said(fold, "state", "why", "killed", "ended_at") == ("TERMINATING", "ada asked", killed, None)


def test_a_part_exits_with_its_code_and_keeps_them_when_the_allocation_ends() -> None:
    fold = with_a_placed_one()
    fold.given(events.ResourcesExited("a-1", "r-1", 137, "out of memory"), exited())
    assert [columns(part, "state", "exit_code", "reason") for part in fold.all(PLACEMENTS)] == [
        ("EXITED", 137, "out of memory"),
        ("EXITED", None, ""),
    ]


def test_an_allocation_ends_with_its_outcome() -> None:
    fold = with_a_placed_one()
    fold.given(exited())
    assert said(fold, "state", "why", "outcome", "exit_code", "ended_at", "live_job_id") == (
        *("TERMINATED", "it failed", "exited", 3),
        at(3),
        "",
    )


def test_the_parts_of_other_allocations_go_on() -> None:
    fold = with_a_placed_one()
    fold.given(requested("a-2"))
    fold.given(events.SlotsAssigned("a-2", (events.Placement("r-3", "agent-1", (2,)),), "room"), exited())
    assert fold.row(PLACEMENTS, "r-3").state == "ASSIGNED"


# ------------------------------------------------------------ its job


def test_new_settings_of_a_job_count_for_its_allocations_that_have_not_ended() -> None:
    fold = story()
    fold.given(requested("a-1"), requested("a-2"), requested("a-3", "job-2"), exited("a-1"))
    fold.given(events.JobChanged("job-1", {"priority": 7, "weight": 2, "max_slots": None, "colour": "red"}))
    rows = [columns(row, "priority", "weight", "max_slots") for row in fold.all(ALLOCATIONS)]
    assert rows == [(42, 1.5, 16), (7, 2.0, None), (42, 1.5, 16)]
    assert type(fold.row(ALLOCATIONS, "a-2").weight) is float


def test_a_job_that_is_moved_has_the_priority_of_its_neighbour_in_every_pool() -> None:
    fold = story()
    fold.given(requested("a-1"))
    fold.given(requested("a-2"), stream="pool-default")
    fold.given(events.JobMoved("job-1", "job-2", "ahead", "1.5", 3))
    assert [row.priority for row in fold.all(ALLOCATIONS)] == [3, 3]


@pytest.mark.parametrize("changes", [{}, {"colour": "red"}])
def test_settings_that_this_release_does_not_know_change_nothing(changes: dict[str, object]) -> None:
    fold = with_an_allocation()
    before = fold.all(ALLOCATIONS)
    fold.given(events.JobChanged("job-1", changes))
    assert fold.all(ALLOCATIONS) == before


def test_what_concerns_an_allocation_that_is_not_known_changes_nothing() -> None:
    fold = story()
    fold.given(waits(), events.AllocationHeldBack("a-1", "why"), events.AllocationStarted("a-1"))
    fold.given(events.PreemptionRequested("a-1", "why", SINCE), events.AllocationKillRequested("a-1", "why"), exited())
    fold.given(events.ResourcesStarted("a-1", "r-1", "10.0.0.1"), events.ResourcesExited("a-1", "r-1", 0, ""))
    fold.given(events.JobChanged("job-1", {"priority": 7}), events.JobMoved("job-1", "job-2", "ahead", "1.5", 3))
    assert fold.count() == {"allocations": 0, "placements": 0}
