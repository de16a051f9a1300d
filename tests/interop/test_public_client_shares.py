"""The public client, unmodified, looks at the queue, changes it, and asks what was used."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.interop.conftest import ENDED, PublicClient
from tests.interop.test_public_client import LASTING


def queue_of(public: PublicClient) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads(public.det("job", "list", "--json"))["jobs"]
    return jobs


def test_it_sees_the_queue_and_changes_it(public: PublicClient) -> None:
    running, second, third = (public.submit(*LASTING) for _ in range(3))
    public.until(third, lambda _: len(queue_of(public)) == 3)
    jobs = {job["entityId"]: job for job in queue_of(public)}
    assert [job["entityId"] for job in queue_of(public)] == [str(running), str(second), str(third)]
    table = list(csv.DictReader(io.StringIO(public.det("job", "list", "--csv"))))
    assert [(row["#"], row["Priority"], row["State"]) for row in table] == [
        ("0", "42", "STATE_SCHEDULED"),
        ("0", "42", "STATE_QUEUED"),
        ("1", "42", "STATE_QUEUED"),
    ]
    public.det("job", "update", jobs[str(third)]["jobId"], "--priority", "10")
    assert [job["entityId"] for job in queue_of(public)] == [str(running), str(third), str(second)]
    assert public.experiment(third)["config"]["resources"]["priority"] == 10
    public.det("job", "update-batch", f"{jobs[str(second)]['jobId']}.priority=5")
    assert [job["entityId"] for job in queue_of(public)] == [str(running), str(second), str(third)]
    refused = public.run("job", "update", jobs[str(third)]["jobId"], "--priority", "100")
    assert refused.returncode == 1
    assert "expected a whole number from 1 (first) to 99 (last)" in refused.stdout + refused.stderr
    for experiment_id in (third, second, running):
        public.det("e", "kill", str(experiment_id))
    for experiment_id in (third, second, running):
        public.until(experiment_id, lambda state: state in ENDED)


def test_it_asks_what_was_used(public: PublicClient, finished: int) -> None:
    now = datetime.now(UTC)
    window = [f"{now + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}" for days in (-1, 1)]
    days = [f"{now + timedelta(days=days):%Y-%m-%d}" for days in (-1, 1)]
    raw = json.loads(public.det("resources", "raw", *window, "--json"))["resourceEntries"]
    assert finished in [entry["experimentId"] for entry in raw]
    rows = list(csv.DictReader(io.StringIO(public.det("resources", "raw", *window))))
    assert [row["experiment_id"] for row in rows] == [str(entry["experimentId"] or "") for entry in raw]
    allocations = list(csv.DictReader(io.StringIO(public.det("resources", "allocations", *window))))
    assert len(allocations) == len(rows)
    entries = json.loads(public.det("resources", "aggregated", *days, "--json"))["resourceEntries"]
    used = math.fsum(entry["seconds"] * entry["slots"] for entry in raw)
    # To the microsecond: the two were added up in different orders.
    assert math.fsum(entry["seconds"] for entry in entries) >= used - 1e-6 > 0
    aggregated = list(csv.DictReader(io.StringIO(public.det("resources", "aggregated", *days))))
    assert {row["aggregation_type"] for row in aggregated} >= {"total", "username", "resource_pool"}
