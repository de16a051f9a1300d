"""Requests that the fuzzer, or an attack, once broke something with. Each is answered with what is wrong with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from resolute.api.openapi import error_form
from resolute.api.table import ROUTES
from resolute.eventlog import MemoryEventLog
from tests.fuzz import cases, hostile
from tests.fuzz.judge import Answer as Judged
from tests.fuzz.judge import complaints, has_form
from tests.integration.api import a_search
from tests.integration.api.running import Client, Running, running
from tests.integration.api.whole import results, whole

BULK = "/api/v1/projects/1/experiments/kill"
LOGS = "/api/v1/task/logs"


@pytest.fixture
async def cluster(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Running]:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as cluster:
        await a_search.tell(cluster, tmp_path)  # before the services run, which would write some of it themselves
    async with running(postgres_dsn, log, services=True) as cluster:
        yield cluster


@pytest.fixture
async def admin(cluster: Running) -> Client:
    return await cluster.nobody.login("admin")


BODIES: dict[str, tuple[str, str, Any, str]] = {
    "a number beyond 64 bits": ("POST", BULK, {"experimentIds": [2**64]}, "experimentIds[0]: expected a whole number"),
    "null in a list of ids": ("POST", BULK, {"experimentIds": [None]}, "experimentIds[0]: expected a whole number"),
    "an enum by a number there is none of": (
        "POST",
        BULK,
        {"filters": {"states": [99]}},
        "filters.states[0]: expected",
    ),
    "null in a list of users": (
        "PATCH",
        "/api/v1/users",
        {"userIds": [None], "activate": True},
        "userIds[0]: expected",
    ),
    "null in a list of settings": ("POST", "/api/v1/users/setting", {"settings": [None]}, "settings[0]: expected an"),
    "a key too long for an index": (
        "POST",
        "/api/v1/users/setting",
        {"settings": [{"key": "é" * 5_000, "value": ""}]},
        "settings[0].key: expected at most 255 characters; found 5000",
    ),
    "a NUL in a name": ("POST", "/api/v1/workspaces", {"name": "a\0b"}, "name: expected text without"),
    "an id beyond 32 bits": (
        "POST",
        "/api/v1/experiments/continue",
        {"id": 2**31},
        "id: expected a whole number from 0",
    ),
    "a deep document": (
        "POST",
        f"/api/v1/checkpoints/{a_search.BEST}/metadata",
        {"checkpoint": {"metadata": {"a": hostile.NESTED}}},
        "the body nests objects and lists more than 64 deep",
    ),
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_value_that_does_not_fit_is_refused_by_the_path_of_its_field(admin: Client, name: str) -> None:
    method, path, body, message = BODIES[name]
    answer = await admin.call(method, path, data=hostile.as_json(body))
    assert (answer.status, message in answer.error) == (400, True), answer.body


async def test_nan_in_a_body_lets_nothing_else_in(admin: Client) -> None:
    """Python's own parser, which is used for it, takes lone surrogates and whole numbers of any length."""
    for body in (b'{"name": "\\ud800", "x": NaN}', b'{"name": "a", "x": NaN, "y": ' + b"9" * 400 + b"}"):
        answer = await admin.call("POST", "/api/v1/workspaces", data=body)
        assert (answer.status, "no JSON" in answer.error) == (400, True), answer.body


QUERIES = {
    "/api/v1/experiments/1/checkpoints?sortByMetric=%00": "sortByMetric: expected text without the character NUL",
    "/api/v1/experiments?limit=99999999999999999999": "limit: expected a whole number from -2",
    "/api/v1/experiments?userIds=18446744073709551616": "userIds: expected a whole number from 1",
    "/api/v1/experiments?name=%00": "name: expected text without the character NUL",
    "/api/v1/trials/time-series?trialIds=-1": "trialIds: expected a whole number from 1",
    "/api/v1/experiments/99999999999": "experimentId: expected a whole number from 0",
    "/api/v1/tasks/%00": "taskId: expected text without the character NUL",
}


@pytest.mark.parametrize("target", QUERIES)
async def test_a_parameter_that_does_not_fit_is_refused_by_its_name(admin: Client, target: str) -> None:
    answer = await admin.call("GET", target)
    assert (answer.status, QUERIES[target] in answer.error) == (400, True), answer.body


@pytest.mark.parametrize("body", hostile.BODIES)
async def test_no_body_at_all_breaks_a_route(admin: Client, body: bytes) -> None:
    for case in _one_of_each(body):
        token = {"Authorization": f"Bearer {admin.token}"}
        async with admin.http.request(case.method, admin.base + case.target, data=body, headers=token) as response:
            judged = Judged(response.status, response.content_type, await response.read(), 0.0)
        assert complaints(case, "admin", judged) == [], (case.operation, judged)


def _one_of_each(body: bytes) -> list[cases.Case]:
    """A request of each route that takes a body, about what is not there."""
    return [
        cases.Case(route.operation, route.method, route.documented_path, _path(route.path), (), body)
        for route in ROUTES
        if route.method not in ("GET", "DELETE") and route.operation != "Logout"
    ]


def _path(path: str) -> tuple[tuple[str, str], ...]:
    return tuple((part.strip("{.}"), "77") for part in path.split("/") if part.startswith("{"))


# ---------------------------------------------------------------- the form of refusals


async def test_a_wrong_method_is_told_which_would_do(admin: Client) -> None:
    answer = await admin.call("PUT", "/api/v1/workspaces/1")
    assert (answer.status, answer.headers["Allow"]) == (405, "DELETE, GET, PATCH")
    assert answer.error == "/api/v1/workspaces/1 does not take PUT; use DELETE, GET, PATCH"


async def test_failures_have_one_form_for_each_kind_of_route(cluster: Running) -> None:
    for route in ROUTES:
        if "anyone" in {caller.value for caller in route.access.callers}:
            continue
        path = "/".join("77" if part.startswith("{") else part for part in route.documented_path.split("/"))
        answer = await cluster.nobody.call(route.method, path)
        assert answer.status == 401, route.operation
        assert has_form(answer.body, error_form(route)), (route.operation, answer.body)


# ---------------------------------------------------------------- actions on many


async def test_an_action_on_many_keeps_to_the_project_of_its_path(admin: Client) -> None:
    workspace = (await admin.post("/api/v1/workspaces", {"name": "w"}))["workspace"]["id"]
    project = (await admin.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "p"}))["project"]["id"]
    path = f"/api/v1/projects/{project}/experiments"
    results = (await admin.post(f"{path}/pause", {"experimentIds": [1]}))["results"]
    assert results == [{"id": 1, "error": f"experiment 1 not found in project {project}"}]
    assert (await admin.post(f"{path}/kill", {"filters": {"name": "digits"}}))["results"] == []


async def test_minus_one_means_all_projects(admin: Client) -> None:
    path = "/api/v1/projects/-1/experiments"
    results = (await admin.post(f"{path}/kill", {"experimentIds": [1, 9]}))["results"]
    assert results == [{"id": 1, "error": ""}, {"id": 9, "error": "experiment 9 not found"}]
    assert [one["id"] for one in (await admin.post(f"{path}/kill", {"filters": {"name": "digits"}}))["results"]] == [1]


# ---------------------------------------------------------------- what is shown of odd values


async def test_objects_are_shown_sorted_by_name(admin: Client) -> None:
    """The database keeps {"code": …, "action": …} in an order of its own, shorter names first."""
    metadata = {"zebra": 1, "action": "exit", "code": 7, "ab": {"y": 1, "x": 2}}
    path = f"/api/v1/checkpoints/{a_search.BEST}"
    await admin.post(f"{path}/metadata", {"checkpoint": {"metadata": metadata}})
    shown = (await admin.get(path))["checkpoint"]["metadata"]
    del shown["steps_completed"]
    assert list(shown) == ["ab", "action", "code", "zebra"]
    assert list(shown["ab"]) == ["x", "y"]


async def test_reports_without_steps_are_in_order_of_time_and_of_no_batch(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, task = await cluster.task(agent)
        for second in (9, 3):
            report: dict[str, Any] = {"reportTime": f"2026-11-21T12:00:0{second}Z", "trialRunId": 1}
            report["metrics"] = {"avgMetrics": {"used": second}}
            await task.post("/api/v1/trials/1/metrics", {"group": "gpu", "metrics": report})
        series = await cluster.user.get("/api/v1/trials/time-series", trialIds="1", group="gpu")
        [metrics] = series["trials"][0]["metrics"]
        assert [(point["batches"], point["values"]["used"]) for point in metrics["data"]] == [(0, 3), (0, 9)]
        [page] = await results(cluster.user, "/api/v1/trials/metrics/trial_metrics", trialIds=1, group="gpu")
        assert [report["totalBatches"] for report in page["metrics"]] == [0, 0]
