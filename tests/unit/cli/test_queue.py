"""The queue at the command line: changes, explanations, and what was used."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

WAITING: dict[str, Any] = {
    "jobId": "j-2",
    "schedulerType": "priority",
    "says": "it waits: first in the queue at priority 42; it needs 2 slots, 1 is free",
    "job": {
        "name": "mnist", "resourcePool": "gpu", "priority": 42, "weight": 1.0, "allocatedSlots": 0,
        "requestedSlots": 2, "summary": {"state": "STATE_QUEUED", "jobsAhead": 3},
    },
    "allocations": [
        {
            "allocationId": "7.1.2",
            "taskId": "7.1",
            "trialId": 41,
            "state": "STATE_QUEUED",
            "slots": 2,
            "waits": {
                "rule": "in_line", "reason": "3 jobs come first", "since": "2026-01-02T03:04:05Z", "by": "ada",
                "slotsNeeded": 2, "slotsFree": 1, "jobsAhead": 3, "help": "det job update j-2 --priority N",
                "ahead": [{"jobId": "j-1", "name": "big", "username": "bob"}],
                "first": {"jobId": "j-1", "name": "big", "rule": "busy", "reason": "others hold them"},
                "holders": [{"jobId": "j-0", "name": "huge", "experimentId": 3, "username": "eve", "slots": 7}],
            },
            "previous": {
                "allocationId": "7.1.1",
                "taskId": "7.1",
                "trialId": 41,
                "state": "STATE_TERMINATED",
                "slots": 2,
                "preempted": {
                    "rule": "priority", "reason": "it needs 2 slots", "time": "2026-01-02T03:04:05Z", "by": "eve",
                    "deadline": "2026-01-02T04:04:05Z", "for": {"jobId": "j-0", "name": "huge", "username": "eve"},
                },
            },
        }
    ],
}  # fmt: skip


@pytest.fixture
def queue(master: Any) -> Any:
    master.on("POST /api/v1/job-queues", {})
    return master


@pytest.mark.parametrize(
    ("option", "sent"),
    [
        ("-p 3", {"priority": 3}),
        ("--weight 0.5", {"weight": 0.5}),
        ("--resource-pool gpu", {"resourcePool": "gpu"}),
        ("--ahead-of j-2", {"aheadOf": "j-2"}),
        ("--behind-of j-2", {"behindOf": "j-2"}),
    ],
)
def test_a_job_is_changed(queue: Any, det: Callable[..., Any], option: str, sent: dict[str, Any]) -> None:
    assert det(f"job update j-1 {option}").out == "Updated job j-1.\n"
    assert queue.last("POST /api/v1/job-queues").body == {"updates": [{"jobId": "j-1", **sent}]}


def test_several_jobs_are_changed_in_one_go(queue: Any, det: Callable[..., Any]) -> None:
    det("job update-batch j-1.priority=1 j-2.weight=2.5 j-3.resource-pool=gpu")
    assert queue.last("POST /api/v1/job-queues").body == {
        "updates": [
            {"jobId": "j-1", "priority": 1},
            {"jobId": "j-2", "weight": 2.5},
            {"jobId": "j-3", "resourcePool": "gpu"},
        ]
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("update j-1", "nothing to change; give --priority, --weight"),
        ("update-batch j-1", "expected <job ID>.<field>=<value>"),
        ("update-batch j-1.colour=red", "no field 'colour'; there are priority, weight, resource_pool"),
        ("update-batch j-1.priority=first", "expected a number for priority; found 'first'"),
    ],
)
def test_changes_that_make_no_sense_are_told_before_anything_is_sent(
    queue: Any, det: Callable[..., Any], words: str, said: str
) -> None:
    outcome = det(f"job {words}")
    assert outcome.status == 1
    assert said in outcome.err
    assert not any(str(asked) == "POST /api/v1/job-queues" for asked in queue.asked)


def test_a_waiting_job_is_explained(master: Any, det: Callable[..., Any]) -> None:
    master.on("GET /api/v1/jobs/7/explain", WAITING)
    assert det("job explain 7").out.splitlines() == [
        "Job j-2 (mnist): it waits: first in the queue at priority 42; it needs 2 slots, 1 is free",
        "Pool gpu (priority), priority 42, weight 1, 0 of 2 slots held, 3 jobs ahead",
        "",
        "Trial 41, allocation 7.1.2: QUEUED, 2 slots",
        "  waits since 2026-01-02 03:04:05+0000: 3 jobs come first [in_line]",
        "  needs 2 slots; 1 is free",
        "  held: 7 slots by job j-0 (huge (3), eve)",
        "  ahead: j-1 (big, bob) and 2 more",
        "  in its line: job j-1 (big) waits: others hold them [busy]",
        "  what would help: det job update j-2 --priority N",
        "  before: Trial 41, allocation 7.1.1: TERMINATED, 2 slots",
        "  before: asked to give its slots back by eve for job j-0 (huge, eve): it needs 2 slots [priority]",
        "  before: asked 2026-01-02 03:04:05+0000, with time until 2026-01-02 04:04:05+0000",
    ]
    assert json.loads(det("job explain 7 --json").out) == WAITING


def test_allocations_that_wait_alike_are_explained_once(master: Any, det: Callable[..., Any]) -> None:
    first = {key: value for key, value in WAITING["allocations"][0].items() if key != "previous"}
    second = {**first, "allocationId": "7.2.1", "trialId": 42}
    master.on("GET /api/v1/jobs/7/explain", {**WAITING, "allocations": [first, second]})
    shown = det("job explain 7").out
    assert "Trial 41, allocation 7.1.2: QUEUED, 2 slots\nTrial 42, allocation 7.2.1: QUEUED, 2 slots\n  waits" in shown
    assert shown.count("3 jobs come first") == 1


def test_what_was_used_comes_as_csv_or_json(master: Any, det: Callable[..., Any]) -> None:
    master.on("GET /resources/allocation/raw", web.Response(text="slots,seconds\n1,2\n", content_type="text/csv"))
    master.on("GET /api/v1/resources/allocation/aggregated", {"resourceEntries": []})
    assert det("resources raw 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z").out == "slots,seconds\n1,2\n"
    assert json.loads(det("res agg 2026-01-01 2026-02-01 --monthly --json").out) == {"resourceEntries": []}
    asked = dict(master.last("GET /api/v1/resources/allocation/aggregated").query)
    assert asked == {
        "start_date": "2026-01-01",
        "end_date": "2026-02-01",
        "period": "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY",
    }
