"""Sharing, as people see and steer it: several pools, the queue, what cannot fit, what was used."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from resolute.proto.message import Recorded
from resolute.proto.pool import AllocationExited, SlotsAssigned
from tests.integration.api.whole import Whole, whole

POOLS = """[{"pool_name": "gpu", "description": "big ones"},
 {"pool_name": "fair", "scheduler": {"type": "fair_share", "fitting_policy": "worst"}},
 {"pool_name": "aux", "max_aux_containers_per_agent": 3, "scheduler": {"type": "priority", "default_priority": 7}}]"""

CONFIG = """
name: {name}
entrypoint: python3 train.py
searcher: {{name: single, metric: loss, max_length: {{batches: 100}}}}
resources: {{{resources}}}
max_restarts: 0
labels: [{name}, all]
"""


@pytest.fixture
async def cluster(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Whole]:
    """Three pools; gpu has an agent of two slots, fair one of one slot, aux none."""
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", POOLS)
    pools = {"pools": POOLS, "default_pool": "gpu", "default_aux_pool": "aux"}
    async with whole(postgres_dsn, nats_url, tmp_path, **pools) as cluster:
        await cluster.agent(slots=2, pool="gpu")
        await cluster.agent(slots=1, pool="fair")

        async def are_shown() -> bool:
            return len((await cluster.user.get("/api/v1/agents"))["agents"]) == 2

        await cluster.until(are_shown)
        yield cluster


async def submitted(cluster: Whole, name: str, resources: str = "slots_per_trial: 2") -> str:
    """The id of a new experiment's job, once it asks for its slots."""
    experiment_id = await cluster.submit(config=CONFIG.format(name=name, resources=resources))
    job_id: str = (await cluster.user.get(f"/api/v1/experiments/{experiment_id}"))["experiment"]["jobId"]

    async def asks() -> bool:
        return any(job["jobId"] == job_id for job in await jobs(cluster))

    await cluster.until(asks)
    return job_id


async def jobs(cluster: Whole, **query: Any) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = (await cluster.user.get("/api/v1/job-queues", **query))["jobs"]
    return answer


async def names(cluster: Whole, **query: Any) -> list[str]:
    return [job["name"] for job in await jobs(cluster, **query)]


async def refused(cluster: Whole, *updates: dict[str, Any], status: int = 400) -> str:
    answer = await cluster.user.call("POST", "/api/v1/job-queues", {"updates": list(updates)})
    assert answer.status == status, answer.body
    return answer.error


async def test_pools_are_shown_as_they_are_set_and_used(cluster: Whole) -> None:
    await submitted(cluster, "a")
    await cluster.until(lambda: cluster.told(SlotsAssigned))
    aux, fair, gpu = (await cluster.user.get("/api/v1/resource-pools"))["resourcePools"]
    assert (gpu["name"], gpu["description"], gpu["schedulerType"]) == ("gpu", "big ones", "SCHEDULER_TYPE_PRIORITY")
    assert (gpu["numAgents"], gpu["slotsAvailable"], gpu["slotsUsed"], gpu["slotsPerAgent"]) == (1, 2, 2, 2)
    assert (gpu["defaultComputePool"], gpu["defaultAuxPool"]) == (True, False)
    assert gpu["stats"] == {"queuedCount": 0, "scheduledCount": 1}
    assert gpu["details"]["priorityScheduler"]["defaultPriority"] == 42
    assert (fair["schedulerType"], fair["schedulerFittingPolicy"]) == (
        "SCHEDULER_TYPE_FAIR_SHARE",
        "FITTING_POLICY_WORST",
    )
    assert fair["details"]["priorityScheduler"] is None
    assert (aux["defaultAuxPool"], aux["auxContainerCapacityPerAgent"], aux["numAgents"]) == (True, 3, 0)
    assert aux["details"]["priorityScheduler"]["defaultPriority"] == 7


async def test_a_submission_that_names_no_pool_goes_where_its_slots_say(cluster: Whole) -> None:
    async def checked(resources: str) -> dict[str, Any]:
        body = {
            "config": CONFIG.format(name="a", resources=resources),
            "validateOnly": True,
            "modelDefinition": [{"path": "train.py", "type": 48, "content": "", "mode": 420}],
        }
        answer: dict[str, Any] = await cluster.user.post("/api/v1/experiments", body)
        return answer

    compute, aux = await checked("slots_per_trial: 1"), await checked("slots_per_trial: 0")
    assert compute["config"]["resources"] | {} == {**compute["config"]["resources"], "resource_pool": "gpu"}
    assert (compute["config"]["resources"]["priority"], compute["warnings"]) == (42, [])
    assert (aux["config"]["resources"]["resource_pool"], aux["config"]["resources"]["priority"]) == ("aux", 7)
    waits = await checked("slots_per_trial: 4, resource_pool: aux")
    assert waits["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"], "no agent has joined: nobody can tell"


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ("resource_pool: tpu", "resources.resource_pool: no pool 'tpu'; there are gpu, fair, aux"),
        ("slots_per_trial: 3", "resources.slots_per_trial: 3 slots can never run in pool 'gpu'"),
        ("slots_per_trial: 2, resource_pool: fair", "resources.slots_per_trial: 2 slots can never run in pool 'fair'"),
        ("slots_per_trial: 2, max_slots: 1", "resources.max_slots"),
        ("weight: 0", "resources.weight"),
        ("priority: 100", "resources.priority"),
    ],
)
async def test_what_can_never_run_is_refused_with_what_would_do(cluster: Whole, resources: str, said: str) -> None:
    body = {
        "config": CONFIG.format(name="a", resources=resources),
        "modelDefinition": [{"path": "train.py", "type": 48, "content": "", "mode": 420}],
    }
    answer = await cluster.user.call("POST", "/api/v1/experiments", body)
    assert answer.status == 400
    assert said in answer.error
    assert (await cluster.user.get("/api/v1/experiments"))["experiments"] == []


async def test_the_queue_stands_in_the_order_it_is_served(cluster: Whole) -> None:
    for name, resources in (("a", ""), ("b", ""), ("c", ", priority: 3"), ("d", "")):
        await submitted(cluster, name, f"slots_per_trial: 2{resources}")
    assert await names(cluster, resourcePool="gpu") == ["a", "c", "b", "d"]
    ahead = [(job["summary"]["state"], job["summary"]["jobsAhead"]) for job in await jobs(cluster)]
    assert ahead == [("STATE_SCHEDULED", 0), ("STATE_QUEUED", 0), ("STATE_QUEUED", 1), ("STATE_QUEUED", 2)]
    assert await names(cluster, states="STATE_QUEUED", orderBy="ORDER_BY_DESC") == ["d", "b", "c"]
    page = await cluster.user.get("/api/v1/job-queues-v2", limit=2, offset=1)
    assert [job["full"]["name"] for job in page["jobs"]] == ["c", "b"]
    assert (page["pagination"]["total"], page["pagination"]["endIndex"]) == (4, 3)
    experiment = await cluster.user.get("/api/v1/experiments/4")
    assert experiment["jobSummary"] == {"state": "STATE_QUEUED", "jobsAhead": 2}
    [gpu] = (await cluster.user.get("/api/v1/job-queues/stats", resourcePools="gpu"))["results"]
    assert gpu["stats"] == {"queuedCount": 3, "scheduledCount": 1}
    [today] = gpu["aggregates"]
    assert 0 <= today["seconds"] < 60, "one was given its slots, and it hardly waited"


async def test_people_change_the_queue(cluster: Whole) -> None:
    a, b, c, d = [await submitted(cluster, name) for name in "abcd"]
    await cluster.user.post("/api/v1/job-queues", {"updates": [{"jobId": d, "aheadOf": b}]})
    assert await names(cluster) == ["a", "d", "b", "c"]
    await cluster.user.post(
        "/api/v1/job-queues", {"updates": [{"jobId": d, "behindOf": c}, {"jobId": c, "priority": 9}]}
    )
    assert await names(cluster) == ["a", "c", "b", "d"]
    config = (await cluster.user.get("/api/v1/experiments/3"))["experiment"]["config"]
    assert config["resources"]["priority"] == 9, "the configuration tells what the queue goes by"
    await cluster.user.post("/api/v1/job-queues", {"updates": [{"jobId": b, "aheadOf": c}]})
    assert await names(cluster) == ["a", "b", "c", "d"]
    config = (await cluster.user.get("/api/v1/experiments/2"))["experiment"]["config"]
    assert config["resources"]["priority"] == 9, "who is moved takes the priority of its new neighbour"
    assert a


async def test_a_job_moves_to_another_pool(cluster: Whole) -> None:
    await submitted(cluster, "a")
    b = await submitted(cluster, "b", "slots_per_trial: 1")
    await cluster.user.post("/api/v1/job-queues", {"updates": [{"jobId": b, "resourcePool": "fair"}]})

    async def moved() -> bool:
        return [job["summary"]["state"] for job in await jobs(cluster, resourcePool="fair")] == ["STATE_SCHEDULED"]

    await cluster.until(moved)
    experiment = (await cluster.user.get("/api/v1/experiments/2"))["experiment"]
    assert (experiment["resourcePool"], experiment["config"]["resources"]["resource_pool"]) == ("fair", "fair")
    number = str(experiment["id"])
    await cluster.user.post("/api/v1/job-queues", {"updates": [{"jobId": number, "weight": 2.5}]})
    assert (await jobs(cluster, resourcePool="fair"))[0]["weight"] == 2.5, "a number is as good as its job"


async def test_what_makes_no_sense_is_refused_and_nothing_is_changed(cluster: Whole) -> None:
    a, b = await submitted(cluster, "a"), await submitted(cluster, "b")
    before = await jobs(cluster)
    fine = {"jobId": b, "priority": 5}
    assert "updates[1].jobId: job 'nobody' not found" in await refused(
        cluster, fine, {"jobId": "nobody", "priority": 1}, status=404
    )
    assert "updates[0].aheadOf: a job cannot be moved next to itself" in await refused(
        cluster, {"jobId": b, "aheadOf": b}
    )
    for priority in (0, 100, -1):
        said = await refused(cluster, fine, {"jobId": b, "priority": priority})
        assert f"updates[1].priority: expected a whole number from 1 (first) to 99 (last); found {priority!r}" in said
    assert "updates[1].priority: " in await refused(cluster, fine, {"jobId": b, "priority": "high"})
    for weight in (0, -2):
        assert "updates[0].weight: expected a number above 0" in await refused(cluster, {"jobId": b, "weight": weight})
    assert "at most 1,000,000" in await refused(cluster, {"jobId": b, "weight": 1e7})
    assert "does not go by weights" in await refused(cluster, {"jobId": b, "weight": 2})
    assert "no pool 'tpu'; there are gpu, fair, aux" in await refused(cluster, {"jobId": b, "resourcePool": "tpu"})
    assert "2 slots can never run in pool 'fair'" in await refused(cluster, {"jobId": b, "resourcePool": "fair"})
    assert "expected one of aheadOf" in await refused(cluster, {"jobId": b})
    assert "found priority, weight" in await refused(cluster, {"jobId": b, "priority": 1, "weight": 1})
    assert "updates: expected a list" in await refused(cluster)
    c = await submitted(cluster, "c", "slots_per_trial: 1, resource_pool: fair")
    assert "shares its slots by weight" in await refused(cluster, {"jobId": c, "priority": 1})
    assert "is in pool 'fair'" in await refused(cluster, {"jobId": b, "aheadOf": c})
    assert await jobs(cluster, resourcePool="gpu") == before
    assert a


async def test_a_waiting_job_explains_itself(cluster: Whole) -> None:
    a = await submitted(cluster, "a")
    b, c = await submitted(cluster, "b"), await submitted(cluster, "c")
    held = await cluster.user.get(f"/api/v1/jobs/{a}/explain")
    [allocation] = held["allocations"]
    assert allocation["placed"]["agents"] == [{"agentId": "agent-0", "slotIds": [0, 1]}]
    assert allocation["placed"]["rule"] == "priority"
    waits = (await cluster.user.get("/api/v1/jobs/2/explain"))["allocations"][0]["waits"]
    assert (waits["rule"], waits["slotsNeeded"], waits["slotsFree"]) == ("busy", 2, 0)
    assert [(holder["jobId"], holder["slots"], holder["name"]) for holder in waits["holders"]] == [(a, 2, "a")]
    later = await cluster.user.get(f"/api/v1/jobs/{c}/explain")
    assert later["says"].startswith("it waits: ")
    waits = later["allocations"][0]["waits"]
    assert (waits["rule"], [one["jobId"] for one in waits["ahead"]]) == ("in_line", [b])
    assert f"det job update {c} --priority" in waits["help"]
    await cluster.user.post("/api/v1/experiments/3/pause")

    async def asks_nothing() -> bool:
        return "asks for nothing" in (await cluster.user.get(f"/api/v1/jobs/{c}/explain"))["says"]

    await cluster.until(asks_nothing)
    said = (await cluster.user.get(f"/api/v1/jobs/{c}/explain"))["says"]
    assert said == "it asks for nothing now; experiment 3 is PAUSED: paused by determined"
    assert (await cluster.user.call("GET", "/api/v1/jobs/nobody/explain")).status == 404


async def test_what_was_used_is_what_the_log_has_of_slots_held(cluster: Whole) -> None:
    for name in "ab":
        await submitted(cluster, name)
        order = await cluster.agents[0].given()
        await cluster.agents[0].report(order, "started")
        await asyncio.sleep(0.05)  # so that there is something to count
        await cluster.agents[0].report(order, "exited", 0)
    events = await cluster.log.read_all(0, 10_000)
    await cluster.user.get("/api/v1/tasks")
    seconds = _held_s(events)

    async def shown() -> bool:  # until its end is shown, an allocation counts up to now
        return [entry["seconds"] for entry in await _raw(cluster)] == pytest.approx(seconds)

    await cluster.until(shown)
    raw = await _raw(cluster)
    assert [(entry["kind"], entry["slots"], entry["username"]) for entry in raw] == [("training", 2, "determined")] * 2
    today = events[0].recorded_at.date()
    query = {"startDate": f"{today - timedelta(days=1)}", "endDate": f"{today + timedelta(days=1)}"}
    daily = {**query, "period": "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"}
    entries = (await cluster.user.get("/api/v1/resources/allocation/aggregated", **daily))["resourceEntries"]
    total = sum(entry["seconds"] for entry in entries)
    assert total == pytest.approx(2 * sum(seconds)), "slot-seconds"
    assert sum(entry["byUsername"].get("determined", 0) for entry in entries) == pytest.approx(total)
    assert sum(entry["byResourcePool"].get("gpu", 0) for entry in entries) == pytest.approx(total)
    assert sum(entry["byExperimentLabel"].get("all", 0) for entry in entries) == pytest.approx(total)
    assert sum(entry["byExperimentLabel"].get("a", 0) for entry in entries) == pytest.approx(2 * seconds[0])
    monthly = {**query, "period": "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"}
    months = (await cluster.user.get("/api/v1/resources/allocation/aggregated", **monthly))["resourceEntries"]
    assert sum(entry["seconds"] for entry in months) == pytest.approx(total)
    table = await _csv(cluster, "/resources/allocation/allocations-csv", **_WINDOW)
    assert [float(row["slot_hours"]) for row in table] == pytest.approx([2 * s / 3600 for s in seconds])
    assert (await cluster.user.call("GET", "/api/v1/resources/allocation/raw?timestampAfter=noon")).status == 400


_WINDOW = {"timestamp_after": "2000-01-01T00:00:00Z", "timestamp_before": "2100-01-01T00:00:00Z"}


async def _raw(cluster: Whole) -> list[dict[str, Any]]:
    answer = await cluster.user.get("/api/v1/resources/allocation/raw", **_WINDOW)
    entries: list[dict[str, Any]] = answer["resourceEntries"]
    return entries


async def _csv(cluster: Whole, path: str, **query: str) -> list[dict[str, str]]:
    answer = await cluster.user.call("GET", path, params=query)
    assert answer.status == 200
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


def _held_s(events: list[Recorded]) -> list[float]:
    """By the log alone: for how long each allocation held its slots, in the order they were given."""
    since: dict[str, datetime] = {}
    held: dict[str, float] = {}
    for recorded in events:
        match recorded.event:
            case SlotsAssigned(allocation_id=allocation_id):
                since[allocation_id] = recorded.recorded_at
            case AllocationExited(allocation_id=allocation_id) if allocation_id in since:
                held[allocation_id] = (recorded.recorded_at - since[allocation_id]).total_seconds()
    return [held[allocation_id] for allocation_id in since]
